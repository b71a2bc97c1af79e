#!/usr/bin/env bash
# test.sh [JUNIT_OPTION...] tests the jars in bin/java on each installed JDK 17 or later. UPDATE=1 rewrites the golden
# file in internal/ship/ring/testdata.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=$(java/libraries.sh)
work=$(mktemp -d /dev/shm/ullage-java.XXXXXX)
trap 'rm -rf "$work"' EXIT
classpath=$(echo bin/java/*.jar "$libraries"/{junit,logback,slf4j,log4j}-*.jar | tr ' ' :)

size=$(stat -c %s bin/java/ullage-log.jar)
[ "$size" -le 40960 ] || { echo "ullage-log.jar has $size bytes: more than 40 KiB" >&2; exit 1; }

javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -encoding UTF-8 -Xlint:all,-processing,-classfile -Werror \
    -proc:none -cp "$classpath" -d "$work/classes" java/test/dev/ullage/log/*.java

if [ $# = 0 ]; then
    echo "=== other versions of the libraries"
    CLASSES=$work/classes java/versions.sh
fi

java/jdks.sh | while read -r jdk; do
    echo "=== java on $jdk"
    mkdir "$work/ring"
    "$jdk/bin/java" -XX:+UseSerialGC -Xmx256m -Djava.io.tmpdir="$work" -Dupdate="${UPDATE:+true}" \
        -Dullage.events="$work/ring,size=16Mi" -cp "$work/classes:$classpath" \
        org.junit.platform.console.ConsoleLauncher execute --scan-classpath "$work/classes" \
        --disable-banner --details=summary --fail-if-no-tests "$@" </dev/null
    rm -rf "$work/ring"
done
