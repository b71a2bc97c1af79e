# The end of CLUSTER=local, whose beginning is local.sh. To be sourced by cluster.sh.
# shellcheck shell=bash

# local_down leaves nothing behind: no process, mount, interface, rule or file.
# It works from any state, also after a crash or a restart of the machine.
local_down() {
    [ -d "$state" ] || return 0
    mkdir -p "$state"/{pids,log}
    stop KILL kubelet kubelet2 kube-controller-manager kube-scheduler kube-proxy cluster-dns kube-apiserver etcd
    local_sweep "$state" containerd
    local_sweep "$second" containerd2
    stop TERM containerd containerd2
    local pid
    for pid in $(pgrep -f "containerd-shim.*$state/"); do kill -KILL "$pid" 2>/dev/null || true; done
    local_unlink
    if [ -f "$state/made-var-lib-kubelet" ]; then rm -rf --one-file-system /var/lib/kubelet; fi
    local_unmount
    rm -rf --one-file-system "$state"
    find /var/log/containers -xtype l -lname "$state/*" -delete 2>/dev/null || true
    rmdir /var/log/containers 2>/dev/null || true
    find /sys/fs/cgroup -depth -type d \( -path '*/kubepods*' -o -path "*/$second_cgroup" \) -exec rmdir {} + 2>/dev/null || true
}

# local_sweep DIR NAME has the container runtime of a node itself remove the pods.
# Where that has died it is started again for it.
local_sweep() {
    [ -d "$1/containerd" ] || return 0
    if ! running "$2"; then
        start "$2" containerd --config "$1/containerd.toml"
    fi
    if ! { wait_for 20 ctr -a "$1/containerd.sock" version && "$bin/cluster-sweep" --socket "$1/containerd.sock" --timeout 30s; }; then
        say "some pods could not be removed in order, their remains are removed by force"
    fi
}

local_unlink() {
    local direction
    "$bin/kube-proxy" --cleanup >/dev/null 2>&1 || true
    for direction in -i -o; do
        while iptables -D FORWARD "$direction" "$bridge" -j ACCEPT 2>/dev/null; do :; done
    done
    kubelet_chains iptables
    kubelet_chains ip6tables
    ip link del "$bridge" 2>/dev/null || true
}

# kubelet_chains COMMAND removes what a kubelet leaves, which kube-proxy does not.
kubelet_chains() {
    local table chain
    "$1" -w -D INPUT -j KUBE-FIREWALL 2>/dev/null || true
    "$1" -w -D OUTPUT -j KUBE-FIREWALL 2>/dev/null || true
    for table in filter nat mangle; do
        for chain in KUBE-FIREWALL KUBE-KUBELET-CANARY KUBE-IPTABLES-HINT; do
            if "$1" -w -t "$table" -F "$chain" 2>/dev/null; then "$1" -w -t "$table" -X "$chain" || true; fi
        done
    done
}

local_unmount() {
    mountpoint -q "$state" || return 0
    umount -R "$state" 2>/dev/null || umount -Rl "$state" || true
    ! mountpoint -q "$state" || fail "$state can't be unmounted; see who uses it: fuser -vm $state"
}
