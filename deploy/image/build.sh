#!/usr/bin/env bash
# Builds the images of the project and prints how large they are, or builds one
# program:
#   build.sh tar [NAME...]     bin/ullage.tar and bin/ullage-injector.tar, without
#                              a daemon
#   build.sh docker [NAME...]  the same images in docker, podman or buildah, from
#                              the Dockerfile
#   build.sh program NAME OS/ARCH...
#                              bin/OS-ARCH/NAME, for Windows with .exe
# From the environment:
#   OUT                output directory (default: bin)
#   VERSION            tag of the images (default: git describe)
#   REVISION           commit (default: the commit of the checkout, with -dirty if
#                      files differ from it)
#   SOURCE_DATE_EPOCH  time of the files (default: of the commit)
#   ARCH               architectures of the archives, separated by commas
#                      (default: the machine's)
#   IMAGE_PREFIX       prefix of the images' names, such as registry.example/team/
#                      (default: localhost/, from which no node ever pulls)
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${VERSION:-$(git describe --always --dirty 2>/dev/null || echo dev)}
revision=${REVISION:-$(git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null || true)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
arch=${ARCH:-$(go env GOARCH)}
out=${OUT:-bin}
tag=${version//+/-} # a version may contain a plus, but a tag may not

# Both kinds of builds stamp the binaries with the same values. They are passed in, because a build context has no .git.
stamps="-X main.version=$version
    -X github.com/ullage/ullage/internal/base/build.revision=$revision
    -X github.com/ullage/ullage/internal/base/build.committed=$SOURCE_DATE_EPOCH"

about() {
    case $1 in
    ullage) echo "Sidecar that writes a JVM's log to the disk, so that the JVM never waits for it" ;;
    ullage-injector) echo "Admission webhook that adds ullage to pods" ;;
    esac
}

# program NAME OS/ARCH... builds a program for these platforms.
program() {
    local name=$1 platform dir
    shift
    for platform in "$@"; do
        dir=$out/${platform%/*}-${platform#*/}
        mkdir -p "$dir"
        CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} \
            go build -trimpath -buildvcs=false -ldflags "-s -w $stamps" -o "$dir/" "./cmd/$name"
    done
}

tar_image() {
    local name=$1 a
    for a in ${arch//,/ }; do program "$name" "linux/$a"; done
    local more=()
    if [ "$name" = ullage ]; then # 'ullage adopt' in an ephemeral container runs as any user and has no volume
        mkdir -p "$out/empty"
        chmod 1777 "$out/empty"
        more=("$out/empty=/tmp")
    fi
    go run ./deploy/image --out "$out/$name.tar" --tag "${IMAGE_PREFIX:-localhost/}$name:$tag" --arch "$arch" \
        --user 65532:65532 --entrypoint "/usr/local/bin/$name" \
        --label "org.opencontainers.image.title=$name" \
        --label "org.opencontainers.image.description=$(about "$name")" \
        --label org.opencontainers.image.source=https://github.com/ullage/ullage \
        --label org.opencontainers.image.licenses=Apache-2.0 \
        --label "org.opencontainers.image.version=$version" \
        --label "org.opencontainers.image.revision=$revision" \
        "$out/linux-{arch}/$name=/usr/local/bin/$name" LICENSE=/LICENSE ${more[@]+"${more[@]}"}
}

# builder prints the first of docker, podman and buildah that works here.
builder() {
    local program
    for program in docker podman buildah; do
        if "$program" info >/dev/null 2>&1; then
            echo "$program"
            return
        fi
    done
    echo "neither docker nor podman nor buildah works here; 'make image-tar' needs none of them" >&2
    return 1
}

docker_image() {
    local name=$1 program
    program=$(builder)
    DOCKER_BUILDKIT=1 "$program" build --target "$name" --tag "${IMAGE_PREFIX:-localhost/}$name:$tag" \
        ${GO_IMAGE:+--build-arg "GO_IMAGE=$GO_IMAGE"} \
        --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" .
    "$program" images "${IMAGE_PREFIX:-localhost/}$name:$tag"
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
tar | docker)
    [ $# -gt 0 ] || set -- ullage ullage-injector
    for name in "$@"; do "${command}_image" "$name"; done
    ;;
program) program "$@" ;;
*)
    echo "usage: build.sh tar|docker [NAME...] | program NAME OS/ARCH..." >&2
    exit 2
    ;;
esac
