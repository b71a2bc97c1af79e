#!/usr/bin/env bash
# bench.sh prints the cost of an event to its thread, on each installed JDK 17 or later. With FORKS=3, the
# default, each JDK takes two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=$(java/libraries.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
classpath=bin/java/ullage-log.jar:$(echo "$libraries"/{jmh,jopt-simple,commons-math3}-*.jar | tr ' ' :)

mkdir "$work/classes"
javac --release 17 -encoding UTF-8 -cp "$classpath" -d "$work/classes" \
    -processor org.openjdk.jmh.generators.BenchmarkProcessor java/bench/dev/ullage/log/*.java
java/jdks.sh | while read -r jdk; do
    "$jdk/bin/java" -Dforks="${FORKS:-3}" -cp "$work/classes:$classpath" dev.ullage.log.Bench </dev/null 2> >(grep -v "^WARNING:.*Unsafe\|^WARNING:.*jmh" >&2)
done
