#!/usr/bin/env bash
# versions.sh runs the front ends in bin/java with other versions of their libraries than the versions used to compile
# them: into a ring, without a ring, and with renewed settings. CLASSES contains the compiled tests. Maven copies the
# libraries once.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ullage/java/versions
sums=$PWD/java/libraries/versions.sha256sums
mkdir -p "$cache"
complete() { (cd "$cache" && sha256sum --check --status -) <"$sums" 2>/dev/null; }
if ! complete; then
    sed -n 's/^#library //p' "$sums" | while read -r artifact; do
        echo "copying $artifact" >&2
        mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy -Dartifact="$artifact" -DoutputDirectory="$cache" </dev/null >&2
    done
    complete || { echo "the libraries in $cache are not those of $sums" >&2; exit 1; }
fi

work=$(mktemp -d /dev/shm/ullage-versions.XXXXXX)
trap 'rm -rf "$work"' EXIT
cat >"$work/logback.xml" <<'XML'
<configuration debug="true">
  <appender name="FALLBACK" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>fallback: %m%n</pattern></encoder></appender>
  <appender name="ULLAGE" class="dev.ullage.log.logback.UllageAppender"><appender-ref ref="FALLBACK"/></appender>
  <root level="INFO"><appender-ref ref="ULLAGE"/></root>
</configuration>
XML
cat >"$work/log4j2.xml" <<'XML'
<Configuration status="info">
  <Appenders>
    <Ullage name="U"><AppenderRef ref="FALLBACK"/></Ullage>
    <Console name="FALLBACK"><PatternLayout pattern="fallback: %m%n"/></Console>
  </Appenders>
  <Loggers><Root level="info"><AppenderRef ref="U"/></Root></Loggers>
</Configuration>
XML
sed '/AppenderRef ref="FALLBACK"/s/>.*/\/>/' "$work/log4j2.xml" >"$work/log4j2-console.xml"
sed 's/<appender-ref ref="FALLBACK"\/>//' "$work/logback.xml" >"$work/logback-console.xml"

# run LIBRARY CONFIGURATION JARS [OPTION...] prints the output of the program.
run() {
    local library=$1 configuration=$2 jars=$3
    shift 3
    env -u ULLAGE_EVENTS java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx128m -Dconfiguration="$work/$configuration.xml" "$@" \
        -cp "$CLASSES:bin/java/ullage-log.jar:bin/java/ullage-${library/log4j/log4j2}.jar:$jars" dev.ullage.log.Versions "$library" 10 2>&1 || echo "exit status $?"
}

# want TEXT COUNT OUTPUT checks how often the output contains a text. The count "some" means at least once, because a
# library may repeat its status.
want() {
    local n
    n=$(grep -c -F -- "$1" <<<"$3" || true)
    if [ "$n" != "$2" ] && { [ "$2" != some ] || [ "$n" = 0 ]; }; then
        { echo "$name: \"$1\" is there $n times instead of $2:" && tail -n 40 <<<"$3"; } >&2
        exit 1
    fi
}

# each NAME LIBRARY JARS tests one version.
each() {
    local name=$1 library=$2 jars=$3 out configuration=${2/log4j/log4j2}
    echo "$name"
    mkdir "$work/ring"
    # The settings are renewed ten times in one JVM, which collects no garbage, without a sidecar: of ten rings, the
    # last two have no room.
    out=$(run "$library" "$configuration" "$jars" -Dullage.events="$work/ring,size=256Ki")
    rm -r "$work/ring"
    want "com.example.Db {user=anna} <AUDIT> pool of 8 exhausted | " 52 "$out" # a ring stays to be read: 1 + 2 + ... + 8 + 8 + 8
    want "com.example.Db failed | java.lang.IllegalStateException: outer" 52 "$out"
    want "rings returned: 8" 1 "$out"
    want "fallback: pool of 8 exhausted" 2 "$out"
    want "fallback: failed" 2 "$out"
    want "has 8 rings already" some "$out"
    out=$(run "$library" "$configuration" "$jars")
    want "fallback: pool of 8 exhausted" 10 "$out"
    want "there is no ring: events go to FALLBACK: ULLAGE_EVENTS is not set" some "$out"
    out=$(run "$library" "$configuration-console" "$jars" -Dullage.events="$work/missing")
    want "com.example.Db - pool of 8 exhausted" 10 "$out"
    want "there is no ring for events: " 1 "$out" # on stderr, once
}

newest=$(java/libraries.sh)
for v in 1.2.13:1.7.36 1.3.15:2.0.17 1.4.14:2.0.17 1.5.21:2.0.17 1.6.6:2.0.17; do
    case $v in 1.5*) at=$newest ;; *) at=$cache ;; esac
    case $v in *:2*) slf4j=$newest/slf4j-api-${v#*:}.jar ;; *) slf4j=$cache/slf4j-api-${v#*:}.jar ;; esac
    each "Logback ${v%:*} with SLF4J ${v#*:}" logback "$at/logback-classic-${v%:*}.jar:$at/logback-core-${v%:*}.jar:$slf4j"
done
for v in 2.17.2 2.20.0 2.25.2 2.26.1; do
    case $v in 2.25*) at=$newest ;; *) at=$cache ;; esac
    each "Log4j $v" log4j "$at/log4j-core-$v.jar:$at/log4j-api-$v.jar"
done
