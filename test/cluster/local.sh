# CLUSTER=local runs two nodes of real Kubernetes on this machine, as root, without systemd, Docker or a registry.
# cluster.sh sources this file.
# shellcheck shell=bash
#
# Everything is in one directory, which is a mount of its own, and on one bridge. The nodes have the bridge's address:
# it exists without any network, and no other machine reaches it.
#
# The second node is another containerd and another kubelet on the same machine. It is tainted: only tests about two
# nodes put pods there.

state=$cache/local
socket=$state/containerd.sock
second=$state/second # the directory of the second node, as $state is the directory of the first
second_cgroup=ullage-second
bridge=ullage0
node_ip=10.244.0.1 # also the gateway of the pods
pod_cidr=10.244.0.0/24
service_cidr=10.96.0.0/16
service_ip=10.96.0.1 # of the API server
etcd=http://127.0.0.1:12379

# start NAME COMMAND... starts a daemon without our descriptors: the lock of the script (9), and those of our caller,
# which may hold a lock too.
start() {
    local name=$1 fd
    shift
    (
        for fd in /proc/"$BASHPID"/fd/*; do
            [ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
        done
        exec setsid "$@"
    ) >"$state/log/$name.log" 2>&1 </dev/null &
    echo $! >"$state/pids/$name"
}

# running NAME: is the process alive, and did we start it? All our command lines contain $state. The command line of a
# zombie is empty, but kill -0 succeeds for it.
running() {
    local pid
    pid=$(cat "$state/pids/$1" 2>/dev/null) && [ -n "$pid" ] && grep -qaF "$state" "/proc/$pid/cmdline" 2>/dev/null
}

gone() { ! running "$1"; }

stop() { # stop SIGNAL NAME...
    local signal=$1 name
    shift
    for name in "$@"; do
        if running "$name"; then kill "-$signal" "$(cat "$state/pids/$name")" || true; fi
    done
    for name in "$@"; do
        wait_for 10 gone "$name" || say "$name does not stop"
        rm -f "$state/pids/$name"
    done
}

# up_failed WHAT prints what a reader needs first: the last messages of each daemon that ended.
up_failed() {
    local file name
    for file in "$state"/pids/*; do
        name=${file##*/}
        if ! running "$name"; then
            say "$name has ended; the end of $state/log/$name.log:"
            tail -n 8 "$state/log/$name.log" >&2
        fi
    done
    fail "$1; logs are in $state/log, 'cluster.sh down' cleans up"
}

local_need() {
    [ "$(uname)" = Linux ] || fail "neither Docker nor podman answers, and CLUSTER=local needs Linux: start one of them"
    [ "$(id -u)" -eq 0 ] || fail "CLUSTER=local needs root, because it mounts and makes containers; CLUSTER=kind needs Docker or podman only: start one of them"
    local longest=$second/containerd.sock.ttrpc
    [ ${#longest} -le 107 ] || fail "the path $longest is too long for a socket: set ULLAGE_CACHE to a shorter directory"
    need containerd=containerd ctr=containerd runc=runc /usr/lib/cni/bridge=containernetworking-plugins \
        iptables=iptables ip=iproute2 conntrack=conntrack openssl=openssl flock=util-linux modprobe=kmod pgrep=procps
}

# daemons are all daemons that local_start starts.
daemons=(containerd containerd2 etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubelet2 kube-proxy cluster-dns)

# local_alive: if one of its daemons has ended, a cluster may answer but do nothing.
local_alive() {
    local name
    [ -f "$state/ready" ] || return 1
    for name in "${daemons[@]}"; do running "$name" || return 1; done
    kube get --raw=/readyz >/dev/null 2>&1
}

local_up() {
    local_need
    if local_alive; then
        say "it is up already"
        return
    fi
    local_refuse_node
    "$here/build.sh"
    local_down # removes what a crash or a restart of the machine has left
    local begin=$(clock)
    mkdir -p "$state"
    # A shared mount, because mounts must propagate from a kubelet's directory, which / may not allow. Everything
    # mounted below it then also needs only one umount -R.
    mount --bind "$state" "$state"
    mount --make-rshared "$state"
    mkdir -p "$state"/{pids,log,pki,cni,kubelet,etcd} "$second/kubelet"
    # A kubelet creates these for any directory of its own.
    [ -e /var/lib/kubelet ] || touch "$state/made-var-lib-kubelet"
    [ -e /var/log/containers ] || touch "$state/made-var-log-containers"
    local_network
    local_pki
    local_config
    local_node_config "$state" 10250 /
    # A kubelet treats unknown pods in its cgroup as orphans.
    mkdir -p $(local_cgroups "$second_cgroup")
    local_node_config "$second" 10260 "/$second_cgroup"
    local_start
    touch "$state/ready"
    say "the nodes are ready after $(seconds_since "$begin")"
}

local_network() {
    local_refuse_bridge
    boot >"$state/made-network"
    ip link add "$bridge" type bridge || fail "creating a bridge fails, see above: modprobe bridge"
    ip addr add "$node_ip/24" dev "$bridge"
    ip link set "$bridge" up
    # The host must reach services too, even without a default route.
    ip route add "$service_cidr" dev "$bridge"
    # Without br_netfilter, if a service's pod is on the same bridge, its answer bypasses the translation of addresses.
    modprobe br_netfilter 2>/dev/null || true
    sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 ||
        fail "the kernel lacks br_netfilter, which services need: modprobe br_netfilter"
    local limit
    for limit in max_user_instances=8192 max_user_watches=524288; do
        [ "$(sysctl -n "fs.inotify.${limit%=*}")" -ge "${limit#*=}" ] || sysctl -qw "fs.inotify.$limit"
    done
    # If Docker has run, the policy of FORWARD is still DROP.
    iptables -I FORWARD -i "$bridge" -j ACCEPT
    iptables -I FORWARD -o "$bridge" -j ACCEPT
}

# local_pki creates an authority, the API server's certificate and an administrator's. All components act as this
# administrator.
local_pki() (
    cd "$state/pki"
    sign() { # sign NAME SUBJECT EXTENSIONS
        openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
        openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile <(printf '%s\n' "$3") -out "$1.crt" 2>/dev/null
    }
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=ullage-test -days 3650 2>/dev/null
    sign server /CN=kube-apiserver "extendedKeyUsage=serverAuth
subjectAltName=IP:$node_ip,IP:$service_ip,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    sign admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out accounts.key 2>/dev/null
    openssl pkey -in accounts.key -pubout -out accounts.pub
)

local_config() {
    cat >"$state/kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: "https://$node_ip:6443", certificate-authority: "$state/pki/ca.crt"}}]
users: [{name: admin, user: {client-certificate: "$state/pki/admin.crt", client-key: "$state/pki/admin.key"}}]
contexts: [{name: local, context: {cluster: local, user: admin}}]
current-context: local
EOF
    # This uses isGateway and a route, because isDefaultGateway in addition to a route fails with "file exists".
    cat >"$state/cni/10-bridge.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "ullage", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$state/ipam", "ranges": [[{"subnet": "$pod_cidr", "gateway": "$node_ip"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
}

# local_cgroups NAME prints the cgroup of that name in each hierarchy.
local_cgroups() {
    local root
    if [ -e /sys/fs/cgroup/cgroup.procs ]; then
        echo "/sys/fs/cgroup/$1"
        return
    fi
    for root in /sys/fs/cgroup/*/cgroup.procs; do echo "${root%/*}/$1"; done
}

# local_node_config DIR PORT CGROUP writes the configuration of a containerd and a kubelet. Both nodes have the same
# address, so their kubelets have different ports.
local_node_config() {
    # restrict_oom_score_adj: root in a container may lack CAP_SYS_RESOURCE and then cannot lower a score below its
    # own.
    cat >"$1/containerd.toml" <<EOF
version = 2
root = "$1/containerd"
state = "$1/containerd-state"
[grpc]
  address = "$1/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
EOF
    # Images come only from archives, so the kubelet must not delete any, and the tests do not depend on free disk
    # space.
    cat >"$1/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_ip
port: $2
healthzPort: 0
containerRuntimeEndpoint: unix://$1/containerd.sock
cgroupRoot: $3
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$state/pki/ca.crt"}}
authorization: {mode: Webhook}
clusterDNS: [$node_ip]
clusterDomain: cluster.local
volumePluginDir: "$state/volumeplugins"
podLogsDir: "$1/podlogs"
imageGCHighThresholdPercent: 100
nodeStatusMaxImages: -1
evictionHard: {memory.available: 100Mi, nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
EOF
}

local_start() {
    local pki=$state/pki client=(--kubeconfig="$state/kubeconfig")
    local leader=("${client[@]}" --leader-elect=false --bind-address="$node_ip")
    start containerd containerd --config "$state/containerd.toml"
    start containerd2 containerd --config "$second/containerd.toml"
    start etcd "$bin/etcd" --data-dir="$state/etcd" --unsafe-no-fsync --log-level=warn \
        --listen-client-urls="$etcd" --advertise-client-urls="$etcd" \
        --listen-peer-urls=http://127.0.0.1:12380 --initial-advertise-peer-urls=http://127.0.0.1:12380 --initial-cluster=default=http://127.0.0.1:12380
    start kube-apiserver "$bin/kube-apiserver" --etcd-servers="$etcd" --bind-address="$node_ip" --advertise-address="$node_ip" --secure-port=6443 \
        --service-cluster-ip-range="$service_cidr" --authorization-mode=Node,RBAC --allow-privileged=true \
        --tls-cert-file="$pki/server.crt" --tls-private-key-file="$pki/server.key" --client-ca-file="$pki/ca.crt" \
        --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key" --kubelet-preferred-address-types=InternalIP \
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/accounts.pub" --service-account-signing-key-file="$pki/accounts.key"
    local address
    for address in "$socket" "$second/containerd.sock"; do
        wait_for 60 ctr -a "$address" version || up_failed "containerd does not answer at $address"
        local_import "$address" "$bin/pause.tar"
    done
    wait_for 120 kube get --raw=/readyz || up_failed "the API server does not answer"
    start kube-controller-manager "$bin/kube-controller-manager" "${leader[@]}" --root-ca-file="$pki/ca.crt" \
        --service-account-private-key-file="$pki/accounts.key" --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key"
    start kube-scheduler "$bin/kube-scheduler" "${leader[@]}"
    start kubelet "$bin/kubelet" "${client[@]}" --config="$state/kubelet.yaml" --root-dir="$state/kubelet" --cert-dir="$state/kubelet-pki" \
        --hostname-override=local --node-ip="$node_ip"
    start kubelet2 "$bin/kubelet" "${client[@]}" --config="$second/kubelet.yaml" --root-dir="$second/kubelet" --cert-dir="$second/kubelet-pki" \
        --hostname-override=local-2 --node-ip="$node_ip" --register-with-taints=ullage.dev/second=true:NoSchedule
    start kube-proxy "$bin/kube-proxy" "${client[@]}" --hostname-override=local --proxy-mode=iptables --cluster-cidr="$pod_cidr" \
        --conntrack-max-per-core=0 --bind-address="$node_ip" --metrics-bind-address="$node_ip" --healthz-bind-address="$node_ip"
    start cluster-dns "$bin/cluster-dns" "${client[@]}" --listen="$node_ip:53"
    wait_for 180 kube wait --for=condition=Ready node/local node/local-2 --timeout=1s || up_failed "the nodes do not get ready"
    wait_for 60 kube get serviceaccount default || up_failed "the controllers do not work"
    local name
    for name in cluster-dns kube-proxy kube-scheduler; do
        running "$name" || up_failed "$name does not run"
    done
}

# local_import SOCKET ARCHIVE
local_import() { ctr -a "$1" -n k8s.io images import "$2" >/dev/null; }

local_load() {
    running containerd || fail "the cluster is down: cluster.sh up"
    local archive
    for archive in "$@"; do
        local begin=$(clock) stamp=$state/loaded/$(sha256 <<<"$archive") is=$(stat -c '%i %s %y' "$archive")
        if [ "$(cat "$stamp" 2>/dev/null)" = "$is" ]; then continue; fi
        mkdir -p "${stamp%/*}"
        local_import "$socket" "$archive" || fail "$archive can't be imported, see above"
        case ${archive##*/} in
        # The images of a pod with a sidecar, and of the tests' own pod on a node.
        tools.tar | jdk25.tar | ullage.tar) local_import "$second/containerd.sock" "$archive" || fail "$archive can't be imported by the second node, see above" ;;
        esac
        echo "$is" >"$stamp"
        say "loaded $archive in $(seconds_since "$begin")"
    done
}

local_status() {
    local_alive || fail "the local cluster is down: cluster.sh up"
    kube get nodes
}
