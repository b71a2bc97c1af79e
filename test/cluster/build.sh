#!/usr/bin/env bash
# build.sh builds Kubernetes, etcd, kubectl and helm from Go modules into the cache. The argument "kind" adds kind and
# kubeadm. With the argument "tools" it builds only kind, kubectl and helm, also on macOS. The first build takes
# minutes; with the same sources, later runs take no time.
set -euo pipefail
. "$(dirname "$0")/common.sh"

export CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS="${GOFLAGS:-} -mod=readonly -buildvcs=false"

# /version, kubectl version and helm's .Capabilities.KubeVersion report this. Without it they report v0.0.0-master,
# and a chart's kubeVersion check fails.
minor=${kubernetes_version#v1.}
ldflags="-s -w -X helm.sh/helm/v3/internal/version.version=$helm_version"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    ldflags+=" -X $package.gitVersion=$kubernetes_version -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
    ldflags+=" -X $package.gitTreeState=clean -X $package.buildDate=1970-01-01T00:00:00Z"
done

# Debug information would be stripped at the end. Building without it saves time and half of the build cache.
flags=(-trimpath -gcflags=all=-dwarf=false -ldflags "$ldflags")

# Each part has a stamp of its sources. The release of Go is not included, because an upgrade does not justify the
# minutes.
digest() { cat "$@" <(echo "${flags[@]}") | sha256; }
stamp() {
    case $1 in
    kubernetes) digest "$here"/kubernetes/*.go "$here"/kubernetes/go.* ;;
    pause) digest "$here"/pause/*.go "$repo"/deploy/image/*.go ;;
    kind | tools) digest "$here"/kubernetes/go.* ;;
    esac
}
parts=(kubernetes pause "$@")
[ "$*" != tools ] || parts=(tools)

# stale PART: must it be built?
stale() { [ "$(cat "$bin/$1.stamp" 2>/dev/null)" != "$(stamp "$1")" ]; }
todo=()
for part in "${parts[@]}"; do
    if stale "$part"; then todo+=("$part"); fi
done
[ ${#todo[@]} -gt 0 ] || exit 0

has go || fail "go is missing: install Go $(sed -n 's/^go //p' "$repo/go.mod") or later, https://go.dev/dl"
mkdir -p "$bin"
remove_abandoned "$bin/build"
work=$(mktemp -d "$bin/build.XXXXXX")
builder=
trap '[ -z "$builder" ] || kill "$builder" 2>/dev/null || true; rm -rf "$work"' EXIT

# go_build DIR PACKAGE... builds into $work, at the lowest priority, because the machine is usually in use.
go_build() {
    local dir=$1 start=$(clock) next=30
    shift
    (cd "$dir" && exec nice -n 19 go build -v "${flags[@]}" -o "$work/" "$@") >"$work/log" 2>&1 &
    builder=$!
    while kill -0 "$builder" 2>/dev/null; do
        sleep 0.5
        if [ "$SECONDS" -ge "$next" ]; then
            say "  after $((SECONDS / 60)) min $((SECONDS % 60)) s: $(grep -c / "$work/log" || true) packages"
            next=$((SECONDS + 30))
        fi
    done
    wait "$builder" || {
        grep -v '^go: downloading' "$work/log" | tail -n 20 >&2
        fail "the build failed, see above; it needs a Go module proxy (GOPROXY=$(go env GOPROXY)) and 5 GB of disk"
    }
    builder=
    say "built $* in $(seconds_since "$start")"
}

build_kubernetes() {
    say "building Kubernetes $kubernetes_version and helm $helm_version: five to nine minutes on two cores, once"
    go_build "$here/kubernetes" . helm.sh/helm/v3/cmd/helm
    mv -f "$work/kubernetes" "$bin/hyperkube"
    mv -f "$work/helm" "$bin/helm"
    local name
    for name in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl cluster-dns cluster-sweep; do
        ln -sf hyperkube "$bin/$name"
    done
}

# build_pause builds the image of the first container of each pod.
build_pause() {
    go_build "$repo" ./test/cluster/pause
    go run -C "$repo" ./deploy/image --out "$bin/pause.tar" --tag "$pause_image" --user 65535:65535 --entrypoint /pause "$work/pause=/pause" >/dev/null
}

build_kind() {
    say "building kind $kind_version and kubeadm"
    go_build "$here/kubernetes" sigs.k8s.io/kind k8s.io/kubernetes/cmd/kubeadm
    mv -f "$work/kind" "$work/kubeadm" "$bin/"
}

build_tools() {
    say "building kind $kind_version, kubectl $kubernetes_version and helm $helm_version: minutes, once"
    go_build "$here/kubernetes" sigs.k8s.io/kind k8s.io/kubernetes/cmd/kubectl helm.sh/helm/v3/cmd/helm
    mv -f "$work/kind" "$work/kubectl" "$work/helm" "$bin/"
}

for part in "${todo[@]}"; do
    rm -f "$bin/$part.stamp"
    "build_$part"
    stamp "$part" >"$bin/$part.stamp"
done
