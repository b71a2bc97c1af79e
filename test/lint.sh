#!/usr/bin/env bash
# Fails on a function of more than 80 lines: one that does not fit a screen is
# not read, and two that do are tested apart. gofmt has run before, so that a
# function begins with "func" and ends with "}" in the first column.
set -euo pipefail

limit=80
find cmd internal test -name '*.go' -print0 | xargs -0 awk -v limit="$limit" '
    FNR == 1 { start = 0 }
    /^func / { start = /}$/ ? 0 : FNR; name = $0 }
    /^}/ && start {
        if (FNR - start + 1 > limit) {
            sub(/ *{$/, "", name)
            printf "%s:%d: %d lines, more than %d: %s\n", FILENAME, start, FNR - start + 1, limit, name
            failed = 1
        }
        start = 0
    }
    END { exit failed }'
