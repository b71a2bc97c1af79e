#!/usr/bin/env bash
# Fails on a function or a type that is too large to take in: see test/lint.
set -euo pipefail
cd "$(dirname "$0")/.."

go run ./test/lint cmd internal test deploy
