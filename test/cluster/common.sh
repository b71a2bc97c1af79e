# Settings and functions of the scripts in this directory, which source this file.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
export PATH=$PATH:/usr/local/go/bin:/usr/sbin:/sbin

# version MODULE prints the version of a module in go.mod, the only place that pins it.
version() {
    awk -v module="$1" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$here/kubernetes/go.mod"
}
kubernetes_version=$(version k8s.io/kubernetes)
helm_version=$(version helm.sh/helm/v3)
kind_version=$(version sigs.k8s.io/kind)

cache=${ULLAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ullage}
bin=$cache/kubernetes-$kubernetes_version # worth keeping between CI runs
images=$cache/images                      # archives of the test images
pause_image=localhost/pause:e2e

say() { printf '%s\n' "$*" >&2; }

# fail MESSAGE... ends the script; each argument is a line.
fail() {
    printf 'cluster: %s\n' "$@" >&2
    exit 1
}

# not_started records that no cluster is started: the next command may choose another, and try-down removes none.
not_started() { rm -f "$cache/cluster" "$cache/try"; }

has() { command -v "$1" >/dev/null 2>&1; }

# clock prints the time in seconds, as precisely as this bash can: before version 5, in whole seconds.
clock() { echo "${EPOCHREALTIME:-$SECONDS}"; }

# seconds_since START prints the seconds since a result of clock, with one decimal.
seconds_since() { awk -v a="$1" -v b="$(clock)" 'BEGIN { printf "%.1f s", b - a }'; }

# sha256 prints the checksum of its input: macOS has no sha256sum.
sha256() { if has sha256sum; then sha256sum; else shasum -a 256; fi | cut -c-64; }

# remove_abandoned PREFIX removes directories PREFIX.* that are at least two hours old: their creators were killed
# before they could remove them.
remove_abandoned() { find "${1%/*}" -maxdepth 1 -type d -name "${1##*/}.*" -mmin +120 -exec rm -rf {} +; }

# limited SECONDS COMMAND... ends a command that takes longer. On macOS, which has no timeout, it does not.
limited() {
    if has timeout; then timeout "$@"; else "${@:2}"; fi
}

# wait_for SECONDS COMMAND... runs a command until it succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# need COMMAND=PACKAGE... installs the packages of missing commands (or absolute paths). If it cannot, it prints what to
# install.
need() {
    local pair missing=()
    for pair in "$@"; do
        has "${pair%%=*}" || [[ " ${missing[*]} " == *" ${pair#*=} "* ]] || missing+=("${pair#*=}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! has apt-get || [ "$(id -u)" -ne 0 ]; then
        fail "these Debian packages (or what other distributions call them) are missing: ${missing[*]}" \
            "install them, or run this as root on a machine with apt-get"
    fi
    say "installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "installing ${missing[*]} failed, see above"
    fi
    rm -f "$log"
}
