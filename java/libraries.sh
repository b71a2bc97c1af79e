#!/usr/bin/env bash
# libraries.sh prints the directory with the libraries of libraries/pom.xml. Maven copies them once; the script
# compares the checksums each time.
set -euo pipefail
cd "$(dirname "$0")/libraries"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ullage/java
mkdir -p "$cache"
complete() { (cd "$cache" && sha256sum --check --status -) <sha256sums 2>/dev/null; }
if ! complete; then
    mvn -q -B -f pom.xml dependency:copy-dependencies -DexcludeTransitive=true -DoutputDirectory="$cache" >&2
    complete || { echo "the libraries in $cache are not those of java/libraries/sha256sums" >&2; exit 1; }
fi
echo "$cache"
