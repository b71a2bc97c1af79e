#!/usr/bin/env bash
# kind-node.sh IMAGE makes a node image for kind, for use if the published one can't
# be pulled: Debian, the files of kind's own base image, and our binaries. Unlike
# the published image, it has Debian's containerd and runc, a bridge for pods
# instead of kindnet, no CoreDNS and no volume provisioner. kind-node.sh needs root
# and the Docker of DOCKER_HOST. If the image exists and is up to date, it does
# nothing.
set -euo pipefail
. "$(dirname "$0")/common.sh"

node_image=$1
suite=bookworm
packages=(systemd systemd-sysv dbus containerd runc containernetworking-plugins conntrack iptables nftables iproute2
    ethtool socat util-linux mount kmod procps jq ca-certificates curl)

# The image's label is a digest of its inputs. If they have changed, the image is made again.
made_of=$(cat "$0" "$bin/kubernetes.stamp" "$bin/kind.stamp" "$bin/pause.stamp" | sha256)
[ "$(docker image inspect --format '{{.Config.Labels.made_of}}' "$node_image" 2>/dev/null)" != "$made_of" ] || exit 0

[ "$(id -u)" -eq 0 ] || fail "making a node image needs root"
need debootstrap=debootstrap containerd=containerd ctr=containerd jq=jq
mkdir -p "$cache"
work=$(mktemp -d "$cache/.node.XXXXXX")
root=$work/root
importer=
cleanup() {
    [ -z "$importer" ] || kill "$importer" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
step=$(clock)
done_with() {
    say "  $1: $(seconds_since "$step")"
    step=$(clock)
}

debian() {
    debootstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" "$suite" "$root" >"$work/log" 2>&1 || {
        tail -n 5 "$work/log" >&2
        fail "debootstrap failed, see above; it needs a Debian mirror"
    }
    rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/usr/share/{doc,man,locale}/*
}

# kind_base does what the Dockerfile of kind's base image does.
kind_base() {
    local files
    files=$(cd "$here/kubernetes" && go mod download -json "sigs.k8s.io/kind@$kind_version" | jq -r .Dir)/images/base/files
    cp -r --no-preserve=mode "$files"/. "$root/"
    chmod 755 "$root"/usr/local/bin/* "$root"/kind/bin "$root"/kind/bin/*
    chroot "$root" bash -eu >"$work/log" 2>&1 <<'EOF' || fail "the node's services can't be set up: $(tail -n 3 "$work/log")"
find /lib/systemd/system/sysinit.target.wants/ -name systemd-tmpfiles-setup.service -delete
cd /lib/systemd/system
rm -f multi-user.target.wants/* /etc/systemd/system/*.wants/* local-fs.target.wants/* basic.target.wants/* sockets.target.wants/*{udev,initctl}*
echo ReadKMsg=no >>/etc/systemd/journald.conf
ln -sf /lib/systemd/systemd /sbin/init
systemctl enable kubelet.service containerd.service undo-mount-hacks.service
systemctl mask systemd-binfmt.service
mkdir -p /etc/kubernetes/manifests /opt/cni/bin /etc/cni/net.d
ln -sf /usr/bin/containerd /usr/local/bin/containerd
cp /usr/lib/cni/{bridge,host-local,loopback,portmap} /opt/cni/bin/
ctr oci spec | jq '.hooks.createContainer[.hooks.createContainer | length] |= . + {"path": "/kind/bin/mount-product-files.sh"} | del(.process.rlimits)' >/etc/containerd/cri-base.json
# Root may lack CAP_SYS_RESOURCE and then can't lower a score below its own.
sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml
EOF
    cat >"$root/etc/cni/net.d/10-bridge.conflist" <<'EOF'
{"cniVersion": "0.4.0", "name": "ullage", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
    install "$bin/hyperkube" "$bin/kubeadm" "$root/usr/bin/"
    ln -s hyperkube "$root/usr/bin/kubelet"
    ln -s hyperkube "$root/usr/bin/kubectl"
    echo "$kubernetes_version" >"$root/kind/version"
}

# archive OUT IMAGE SOURCE=DESTINATION...
archive() {
    local out=$1 name=$2
    shift 2
    go run -C "$repo" ./deploy/image --gzip=false --out "$out" --tag "$name" "$@" >/dev/null
}

# control_plane_images makes one image with the control plane, and one for kube-proxy,
# which also contains iptables.
control_plane_images() {
    local name tree=$work/hyperkube proxy=$work/proxy
    mkdir -p "$tree/usr/local/bin" "$proxy/usr/sbin"
    ln "$bin/hyperkube" "$tree/usr/local/bin/hyperkube" 2>/dev/null || cp "$bin/hyperkube" "$tree/usr/local/bin/hyperkube"
    for name in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy cluster-dns; do
        ln -s hyperkube "$tree/usr/local/bin/$name"
    done
    cp -P "$root"/usr/sbin/xtables-nft-multi "$root"/usr/sbin/conntrack "$proxy/usr/sbin/"
    for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
        ln -s xtables-nft-multi "$proxy/usr/sbin/$name"
    done
    (cd "$root" && cp -L --parents usr/lib/*/xtables/*.so "$proxy/")
    chroot "$root" bash -c 'ldd /usr/sbin/xtables-nft-multi /usr/sbin/conntrack /usr/lib/*/xtables/*.so' | awk '$2 == "=>" { print $3 } $1 ~ "^/lib.*/ld-" { print $1 }' | sort -u |
        while read -r name; do install -D "$root$name" "$proxy$name"; done
    archive "$work/control-plane.tar" "registry.k8s.io/kube-apiserver:$kubernetes_version" "$tree=/"
    archive "$work/proxy.tar" "registry.k8s.io/kube-proxy:$kubernetes_version" "$tree=/" "$proxy=/"
}

# import_images puts the images into the node's store, under every name by which
# kubeadm and containerd ask for them.
import_images() {
    local ctr=(ctr -a "$work/socket" -n k8s.io images) name
    mkdir -p "$root/var/lib/containerd"
    cat >"$work/containerd.toml" <<EOF
version = 2
root = "$root/var/lib/containerd"
state = "$work/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$work/socket"
EOF
    containerd --config "$work/containerd.toml" >"$work/log" 2>&1 &
    importer=$!
    wait_for 30 ctr -a "$work/socket" version || fail "containerd does not start: $(tail -n 3 "$work/log")"
    for name in "$work/control-plane.tar" "$work/proxy.tar" "$bin/pause.tar"; do
        "${ctr[@]}" import --no-unpack "$name" >/dev/null
    done
    for name in kube-controller-manager kube-scheduler; do
        "${ctr[@]}" tag "registry.k8s.io/kube-apiserver:$kubernetes_version" "registry.k8s.io/$name:$kubernetes_version" >/dev/null
    done
    name=$("$bin/kubeadm" config images list --kubernetes-version "$kubernetes_version" 2>/dev/null | grep /etcd:)
    "${ctr[@]}" tag "registry.k8s.io/kube-apiserver:$kubernetes_version" "$name" >/dev/null
    for name in 3.10 3.10.1; do
        "${ctr[@]}" tag "$pause_image" "registry.k8s.io/pause:$name" >/dev/null
    done
    kill "$importer"
    wait "$importer" || true
    importer=
}

say "making the node image $node_image, once:"
debian
done_with "Debian"
kind_base
control_plane_images
import_images
done_with "Kubernetes"
tar -C "$root" --numeric-owner -c . | docker import --change 'ENV container=docker' \
    --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' --change "LABEL made_of=$made_of" - "$node_image" >/dev/null
done_with "image"
# Remove the image that had the name before.
docker image prune --force --filter label=made_of >/dev/null
