#!/usr/bin/env bash
# Installs what the tests need and this machine lacks. Says nothing, and takes
# no time, when all is there. Go itself is taken for granted. With the argument
# evidence, it leaves out what make evidence does without: a browser above all.
set -euo pipefail

purpose=${1:-tests}

missing=()

has() { command -v "$1" >/dev/null 2>&1; }

# A JDK: the tests compile Java and attach with jcmd. Its release file knows
# the version without the wait for a JVM to start.
jdk_version() {
    local home
    home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release" 2>/dev/null
}
if ! { has java && has javac && has jcmd && [ "$(jdk_version)" -ge 17 ] 2>/dev/null; }; then
    missing+=(openjdk-17-jdk-headless)
fi

# The standard tools must be able to read what we write.
has zstd || missing+=(zstd)
has gzip || missing+=(gzip)

# Servers that sinks are tested with, and logging libraries, come from Maven.
has mvn || missing+=(maven)
# Namespaces and mounts, to make disks that stall and fill.
{ has unshare && has nsenter && has mount; } || missing+=(util-linux)
has mkfs.ext4 || missing+=(e2fsprogs)
# What sidecars do to the destination is recorded, to enumerate what a power cut leaves of it. Writes
# of a log are timed.
has strace || missing+=(strace)

if [ "$purpose" != evidence ]; then
    # Servers that sinks are tested with have another clock.
    has faketime || missing+=(faketime)
    # DuckDB, which reads a bucket, goes into a virtual environment.
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)

    # The race detector needs cgo: a C compiler and the headers of the C library.
    if ! { has gcc && echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; }; then
        missing+=(gcc libc6-dev)
    fi

    # A file system whose server can be stopped.
    has bindfs || missing+=(bindfs)

    # Shells, whose completion is tested; bash is everywhere.
    has zsh || missing+=(zsh)
    has fish || missing+=(fish)

    # Another processor, emulated.
    has qemu-aarch64-static || missing+=(qemu-user-static)

    # A browser, to look at the pages that ullage writes.
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
