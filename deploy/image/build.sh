#!/usr/bin/env bash
# Builds the images of the project, and says how large they are:
#   build.sh tar     bin/ullage.tar and bin/ullage-injector.tar, without a daemon
#   build.sh docker  the same into docker, podman or buildah, by the Dockerfile
# From the environment:
#   VERSION            tag of the images (default: git describe)
#   REVISION           commit (default: that of the checkout, with -dirty where
#                      files differ from it)
#   SOURCE_DATE_EPOCH  time of the files (default: of the commit)
#   ARCH               architectures of the archives, with commas between
#                      (default: the machine's)
#   IMAGE_PREFIX       what comes before the names, such as registry.example/team/
#                      (default: localhost/, which no node ever pulls from)
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${VERSION:-$(git describe --always --dirty 2>/dev/null || echo dev)}
revision=${REVISION:-$(git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null || true)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
arch=${ARCH:-$(go env GOARCH)}
tag=${version//+/-} # a version may have a plus, a tag may not

# The binaries have the same in them: a build context has no .git.
stamps="-X main.version=$version
    -X github.com/ullage/ullage/internal/build.revision=$revision
    -X github.com/ullage/ullage/internal/build.committed=$SOURCE_DATE_EPOCH"

about() {
    case $1 in
    ullage) echo "Sidecar that keeps a JVM's log away from its pauses" ;;
    ullage-injector) echo "Admission webhook that adds ullage to pods" ;;
    esac
}

tar_image() {
    local name=$1 a
    for a in ${arch//,/ }; do
        CGO_ENABLED=0 GOOS=linux GOARCH=$a go build -trimpath -buildvcs=false -ldflags "-s -w $stamps" -o "bin/linux-$a/$name" "./cmd/$name"
    done
    go run ./deploy/image --out "bin/$name.tar" --tag "${IMAGE_PREFIX:-localhost/}$name:$tag" --arch "$arch" \
        --user 65532:65532 --entrypoint "/usr/local/bin/$name" \
        --label "org.opencontainers.image.title=$name" \
        --label "org.opencontainers.image.description=$(about "$name")" \
        --label org.opencontainers.image.source=https://github.com/ullage/ullage \
        --label org.opencontainers.image.licenses=Apache-2.0 \
        --label "org.opencontainers.image.version=$version" \
        --label "org.opencontainers.image.revision=$revision" \
        "bin/linux-{arch}/$name=/usr/local/bin/$name" LICENSE=/LICENSE
}

# builder prints the first of the programs that works here.
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

case ${1:-} in
tar | docker) ;;
*)
    echo "usage: build.sh tar|docker" >&2
    exit 2
    ;;
esac
for name in ullage ullage-injector; do
    if [ -d "cmd/$name" ]; then
        "$1_image" "$name"
    else
        echo "cmd/$name does not exist: no image" >&2
    fi
done
