#!/usr/bin/env bash
# jdks.sh prints the homes of the installed JDKs 17 and later, each once, however many links lead to it.
set -euo pipefail

default=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
for jdk in "$default" /usr/lib/jvm/*; do
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$jdk/release" 2>/dev/null || true)
    if [ -x "$jdk/bin/java" ] && [ "${version:-0}" -ge 17 ]; then
        readlink -f "$jdk"
    fi
done | sort -u
