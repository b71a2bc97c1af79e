#!/usr/bin/env bash
# Installs what the tests need and this machine lacks. If nothing is missing, it prints nothing and takes no time. It
# assumes that Go is installed. With the argument evidence, it leaves out what make evidence does not need, mainly a
# browser.
set -euo pipefail

purpose=${1:-tests}

missing=()

has() { command -v "$1" >/dev/null 2>&1; }

# A JDK: the tests compile Java and attach with jcmd. Its release file shows the version without starting a JVM.
jdk_version() {
    local home
    home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release" 2>/dev/null
}
if ! { has java && has javac && has jcmd && [ "$(jdk_version)" -ge 17 ] 2>/dev/null; }; then
    missing+=(openjdk-17-jdk-headless)
fi

# Standard tools must be able to read what ullage writes.
has zstd || missing+=(zstd)
has gzip || missing+=(gzip)
# The documented commands that a test runs use it.
has jq || missing+=(jq)

# Servers for tests of the sinks, and logging libraries, come from Maven.
has mvn || missing+=(maven)
# Namespaces and mounts make disks that stall and fill up.
{ has unshare && has nsenter && has mount; } || missing+=(util-linux)
has mkfs.ext4 || missing+=(e2fsprogs)
# The test of power cuts records the sidecars' system calls, and the evidence times writes of a log.
has strace || missing+=(strace)

if [ "$purpose" != evidence ]; then
    # Some servers for tests of the sinks run with another clock.
    has faketime || missing+=(faketime)
    # DuckDB, which reads a bucket, is installed into a virtual environment.
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)

    # The race detector needs cgo: a C compiler and the headers of the C library.
    if ! { has gcc && echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; }; then
        missing+=(gcc libc6-dev)
    fi

    # A file system whose server can be stopped.
    has bindfs || missing+=(bindfs)

    # Shells whose completion is tested; bash is everywhere.
    has zsh || missing+=(zsh)
    has fish || missing+=(fish)

    # Another processor, emulated.
    has qemu-aarch64-static || missing+=(qemu-user-static)

    # A browser, to test the pages that ullage writes.
    has chromium || has google-chrome || missing+=(chromium)
fi

[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo -n)
fi
if ! has apt-get || { [ ${#as_root[@]} -gt 0 ] && ! sudo -n true 2>/dev/null; }; then
    echo "The tests need these packages, and only root can install them: ${missing[*]} (any JDK 17 or later will do)." >&2
    exit 1
fi

echo "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "installing ${missing[*]} failed" >&2
    exit 1
fi
