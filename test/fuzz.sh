#!/usr/bin/env bash
# Fuzzes every target of the given packages, one after another.
# usage: test/fuzz.sh FUZZTIME PACKAGE...
set -euo pipefail

fuzztime=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# By default Go takes up to a minute to make one input smaller that only reaches new code: longer than the whole run.
fuzz() {
    echo "$1 $2 for $fuzztime"
    go test -run '^$' -fuzz "^$2\$" -fuzztime "$fuzztime" -fuzzminimizetime 100x "$1" >"$log" 2>&1
}

# Before 1.27, Go may end a run that found nothing with "context deadline
# exceeded" (go.dev/issue/75804). Such a run is repeated; a failing input never is.
spurious() {
    grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"
}

# "go test -list" prints the names of a package's targets, then "ok PACKAGE TIME".
list=$(go test -list '^Fuzz' "$@") || { echo "$list" >&2; exit 1; }
targets=$(awk '/^Fuzz/ { names[++n] = $1 }
    $1 == "ok" { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }' <<<"$list")
while read -r package target; do
    [ -n "$target" ] || continue
    fuzz "$package" "$target" || { spurious && fuzz "$package" "$target"; } || { cat "$log" >&2; exit 1; }
done <<<"$targets"
