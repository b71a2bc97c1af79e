#!/usr/bin/env bash
# Ends make test: lists what make test did not do, one line each with the reason and the command.
# usage: test/left.sh SKIPPED TARGET...
#
# SKIPPED has the lines of test/here. The reason of a target is its text in the Makefile.
set -euo pipefail

skipped=$1
shift

printf '\n=== passed; not done here:\n'
sort -u "$skipped" 2>/dev/null || true
for target in "$@"; do
    awk -F ':.*## ' -v target="$target" '$0 ~ "^" target ":.*## " { printf "%s: %s: make %s\n", target, $2, target }' Makefile
done
echo 'make ci does all of it.'
