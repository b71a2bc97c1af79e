#!/usr/bin/env bash
# Fuzzes every target of the given packages, one after another.
# usage: test/fuzz.sh FUZZTIME PACKAGE...
set -euo pipefail

fuzztime=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=$(go env GOCACHE)/fuzz

# A package is linked once for all its targets, because that takes longer than the run of a target.
build() { # PACKAGE
    go test -c -fuzz . -ldflags '-s -w' -o "$work/fuzz.test" "$1"
    directory=$(go list -f '{{.Dir}}' "$1")
}

# By default Go takes up to a minute to shrink one input that merely reaches new code: longer than the whole run.
fuzz() { # PACKAGE TARGET
    echo "$1 $2 for $fuzztime"
    (cd "$directory" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$fuzztime" \
        -test.fuzzminimizetime 100x -test.fuzzcachedir "$cache/$1") >"$work/log" 2>&1
}

# Before 1.27, Go may end a run that found nothing with "context deadline exceeded" (go.dev/issue/75804). Such a run
# is repeated; a run with a failing input never is.
spurious() {
    grep -q 'context deadline exceeded' "$work/log" && ! grep -q 'Failing input written' "$work/log"
}

# "go test -list" prints the names of a package's targets, then "ok PACKAGE TIME".
list=$(go test -list '^Fuzz' "$@") || { echo "$list" >&2; exit 1; }
targets=$(awk '/^Fuzz/ { names[++n] = $1 }
    $1 == "ok" { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }' <<<"$list")
built=
while read -r package target; do
    [ -n "$target" ] || continue
    [ "$package" = "$built" ] || build "$package"
    built=$package
    fuzz "$package" "$target" || { spurious && fuzz "$package" "$target"; } || { cat "$work/log" >&2; exit 1; }
done <<<"$targets"
