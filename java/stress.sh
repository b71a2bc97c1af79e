#!/usr/bin/env bash
# stress.sh [JCSTRESS_OPTION...] runs two writers of a ring under jcstress, with each compiler. It takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=$(java/libraries.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
classpath=bin/java/ullage-log.jar:$(echo "$libraries"/{jcstress-core,jopt-simple}-*.jar | tr ' ' :)

mkdir "$work/classes"
javac --release 17 -encoding UTF-8 -cp "$classpath" -d "$work/classes" \
    -processor org.openjdk.jcstress.infra.processors.JCStressTestProcessor java/stress/dev/ullage/log/*.java
classpath=$(readlink -f bin)/java/ullage-log.jar:${classpath#*:}
cd "$work"
java -cp "$work/classes:$classpath" org.openjdk.jcstress.Main -m "${MODE:-quick}" "$@"
