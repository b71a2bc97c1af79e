#!/usr/bin/env bash
# build.sh [MODULE...] builds the jars of the modules (default: all) in bin/java, with only javac and jar. Builds with
# the same JDK are identical byte for byte. Only logback and log4j2 need libraries; these come from the network unless
# they are cached.
set -euo pipefail
cd "$(dirname "$0")"

modules=("$@")
[ ${#modules[@]} -gt 0 ] || modules=(log logback log4j2)
version=${VERSION:-$(git describe --always --dirty 2>/dev/null || echo dev)}
out=$PWD/../bin/java
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# compile MODULE [OPTION...]
compile() {
    local module=$1
    shift
    mapfile -t sources < <(find "$module/src/main/java" -name '*.java' | sort)
    javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -encoding UTF-8 -Xlint:all -Werror -d "$work/$module" "$@" "${sources[@]}"
}

# pack MODULE [AUTOMATIC_MODULE_NAME]
pack() {
    local module=$1 classes=$work/$1
    [ ! -d "$module/src/main/resources" ] || cp -r "$module/src/main/resources/." "$classes"
    mkdir -p "$classes/META-INF"
    cp ../LICENSE "$classes/META-INF/LICENSE"
    {
        echo "Created-By: ullage"
        echo "Implementation-Title: ullage-$module"
        echo "Implementation-Version: $version"
        [ -z "${2-}" ] || echo "Automatic-Module-Name: $2"
    } >"$work/manifest"
    # The jar has a fixed date and sorted files, so that it does not depend on the machine.
    (cd "$classes" && find * -type f | LC_ALL=C sort >"$work/files" &&
        jar --create --file "$out/ullage-$module.jar" --date 2026-01-01T00:00:00Z --manifest "$work/manifest" @"$work/files")
}

for module in "${modules[@]}"; do
    case $module in
    log)
        compile log -proc:none
        pack log
        ;;
    logback)
        libraries=$(./libraries.sh)
        compile logback -proc:none -cp "$out/ullage-log.jar:$(echo "$libraries"/{logback,slf4j}-*.jar | tr ' ' :)"
        pack logback dev.ullage.log.logback
        ;;
    log4j2)
        # Log4j finds plugins through a file that its annotation processor writes.
        libraries=$(./libraries.sh)
        compile log4j2 -Xlint:-processing,-classfile -cp "$out/ullage-log.jar:$(echo "$libraries"/log4j-*.jar | tr ' ' :)" \
            -processor org.apache.logging.log4j.core.config.plugins.processor.PluginProcessor
        pack log4j2 dev.ullage.log.log4j2
        ;;
    *)
        echo "no module $module" >&2
        exit 2
        ;;
    esac
done
