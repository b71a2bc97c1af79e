#!/usr/bin/env bash
# Fails on a function, a type or a package that is too much to take in, and on phrases that a native reader stops at: see test/lint.
set -euo pipefail
cd "$(dirname "$0")/.."

go run ./test/lint cmd internal test deploy
