# The end of CLUSTER=local, which begins in local.sh. cluster.sh sources this file.
# shellcheck shell=bash

# node_files are files that kubeadm writes on each node.
node_files=(/etc/kubernetes/kubelet.conf /var/lib/kubelet/config.yaml)

# other_node prints a file or a process that shows that this machine is a node of another Kubernetes. A kubelet in
# another network, as in kind, has its own rules.
other_node() {
    local file pid command
    for file in "${node_files[@]}"; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
    for pid in $(pgrep -x 'kube(let|lite)'; pgrep -x kube-proxy; pgrep -x 'k3s.*'; pgrep -x 'rke2.*'); do
        [ "$(readlink "/proc/$pid/ns/net")" = "$(readlink /proc/self/ns/net)" ] || continue
        command=$(tr '\0' ' ' <"/proc/$pid/cmdline") || continue
        case $command in
        '' | *"$state"*) ;; # it has ended, or is ours
        *)
            echo "process $pid, ${command:0:80}"
            return
            ;;
        esac
    done
    return 1
}

local_refuse_bridge() {
    ! ip link show "$bridge" >/dev/null 2>&1 ||
        fail "the bridge $bridge is there already, of a cluster with another cache: ULLAGE_CACHE=that/cache cluster.sh down"
}

# local_refuse_node: two clusters on one machine would share /var/lib/kubelet and the rules KUBE-*.
local_refuse_node() {
    local trace
    trace=$(other_node) || return 0
    if [ ! -d "$state" ]; then
        not_started
        local_refuse_bridge # reports whose kubelets these are
    fi
    fail "this machine is a node of another Kubernetes already: $trace" \
        "use that cluster with CLUSTER=existing, a node in a container with CLUSTER=kind, or another machine"
}

# boot prints the identity of this start of the machine.
boot() { cat /proc/sys/kernel/random/boot_id; }

# local_down removes all processes, mounts, interfaces, rules and files that local_up created. It works in any state,
# even after a crash or a restart of the machine.
local_down() {
    [ -d "$state" ] || return 0
    mkdir -p "$state"/{pids,log}
    stop KILL kubelet kubelet2 kube-controller-manager kube-scheduler kube-proxy cluster-dns kube-apiserver etcd
    local_sweep "$state" containerd
    local_sweep "$second" containerd2
    stop TERM containerd containerd2
    local pid trace made_logs=
    for pid in $(pgrep -f "containerd-shim.*$state/"); do kill -KILL "$pid" 2>/dev/null || true; done
    local_unlink
    if trace=$(other_node); then
        say "this machine is a node of another Kubernetes by now ($trace): /var/lib/kubelet, the rules KUBE-* and the cgroups kubepods stay"
    else
        made_logs=$(ls "$state/made-var-log-containers" 2>/dev/null || true)
        local_clean_shared
    fi
    local_unmount
    rm -rf --one-file-system "$state"
    # Our links now point to files that are gone.
    find /var/log/containers -xtype l -lname "$state/*" -delete 2>/dev/null || true
    [ -z "$made_logs" ] || rmdir /var/log/containers 2>/dev/null || true
}

# local_clean_shared removes what has the same name in all Kubernetes clusters.
local_clean_shared() {
    if [ -f "$state/made-var-lib-kubelet" ]; then rm -rf --one-file-system /var/lib/kubelet; fi
    network_is_ours || return 0
    "$bin/kube-proxy" --cleanup >/dev/null 2>&1 || true
    kubelet_chains iptables
    kubelet_chains ip6tables
    remove_cgroups kubepods
}

# remove_cgroups NAME removes the empty cgroups of that name and the cgroups below them.
remove_cgroups() { find /sys/fs/cgroup -depth -type d -path "*/$1*" -exec rmdir {} + 2>/dev/null || true; }

# local_sweep DIR NAME asks the container runtime of a node to remove the pods. If the runtime has ended, it is
# started again for this.
local_sweep() {
    [ -d "$1/containerd" ] || return 0
    if ! running "$2"; then
        start "$2" containerd --config "$1/containerd.toml"
    fi
    if ! { wait_for 20 ctr -a "$1/containerd.sock" version && "$bin/cluster-sweep" --socket "$1/containerd.sock" --timeout 30s; }; then
        say "some pods could not be removed cleanly: what is left of them is removed by force"
    fi
}

# network_is_ours: has local_network begun, without a restart of the machine since? A restart removes all interfaces
# and rules, so later ones are not ours.
network_is_ours() { [ "$(cat "$state/made-network" 2>/dev/null)" = "$(boot)" ]; }

local_unlink() {
    local direction
    network_is_ours || return 0
    for direction in -i -o; do
        while iptables -D FORWARD "$direction" "$bridge" -j ACCEPT 2>/dev/null; do :; done
    done
    ip link del "$bridge" 2>/dev/null || true
    remove_cgroups "$second_cgroup"
}

# kubelet_chains COMMAND removes the chains of a kubelet, which kube-proxy does not remove.
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
