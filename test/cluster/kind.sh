# CLUSTER=kind: a node in a container. cluster.sh sources this file.
# shellcheck shell=bash
#
# It uses the node image that kind publishes or, if that cannot be pulled, an image built here (kind-node.sh). It uses
# a running Docker, otherwise a running podman. Without either, it starts its own Docker, without systemd.

kind_name=ullage
kind_kubeconfig=$cache/kind.kubeconfig
kind_record=$cache/kind.node # the id of the node container that kind_up created, or "creating"
docker_dir=$cache/docker
docker_socket=$docker_dir/docker.sock
node_image=ullage-kind-node:$kubernetes_version

engine=docker

docker_answers() { has docker && limited 10 docker info >/dev/null 2>&1; }
podman_answers() { has podman && limited 10 podman info >/dev/null 2>&1; }
engine_answers() { "${engine}_answers"; }

# use_engine makes all later calls of kind use the daemon that answers.
use_engine() {
    if [ -S "$docker_socket" ]; then export DOCKER_HOST=unix://$docker_socket; fi
    if ! docker_answers && podman_answers; then
        engine=podman
        export KIND_EXPERIMENTAL_PROVIDER=podman
    fi
}

# published_image prints the node image that was tested with this release of kind.
published_image() {
    local dir
    # This uses awk, because the sed of BSD and macOS did not know \t for decades.
    dir=$(cd "$here/kubernetes" && go mod download -json "sigs.k8s.io/kind@$kind_version" | awk -F'"' '$2 == "Dir" { print $4 }')
    awk -F'"' '/^const Image = / { print $2 }' "$dir/pkg/apis/config/defaults/image.go"
}

# pulled IMAGE: is the image there, or can it be pulled?
pulled() { "$engine" image inspect "$1" >/dev/null 2>&1 || limited 300 "$engine" pull -q "$1" >/dev/null 2>&1; }

# kind_feasible: does kind work without a daemon of our own and without building an image?
kind_feasible() {
    use_engine
    engine_answers && has go && pulled "$(published_image)"
}

kind_alive() { has kind && engine_answers && kind get clusters 2>/dev/null | grep -qx "$kind_name" && kube get --raw=/readyz >/dev/null 2>&1; }

kind_up() {
    use_engine
    if kind_alive; then
        say "it is up already"
        return
    fi
    # Commands in PATH suffice. Otherwise they are built here, on any system with Go.
    { has kind && has kubectl && has helm; } || "$here/build.sh" tools
    engine_answers || start_docker
    kind_remove
    local image config="{kind: Cluster, apiVersion: kind.x-k8s.io/v1alpha4}" begin
    image=$(published_image)
    if ! pulled "$image"; then
        say "$image can't be pulled: taking a node image made here"
        [ "$engine" = docker ] && [ "$(uname)" = Linux ] || fail "only Docker on Linux makes a node image: is there a network?"
        "$here/build.sh" kind
        "$here/kind-node.sh" "$node_image"
        image=$node_image
        config="{kind: Cluster, apiVersion: kind.x-k8s.io/v1alpha4, networking: {disableDefaultCNI: true}}"
    fi
    begin=$(clock)
    # The id is not known yet. kind_remove has checked that the name is free.
    echo creating >"$kind_record"
    if ! kind create cluster --name "$kind_name" --kubeconfig "$kind_kubeconfig" --image "$image" --wait 180s --config - <<<"$config" >&2; then
        kind_identify
        fail "kind makes no cluster, see above; 'cluster.sh down' cleans up"
    fi
    kind_identify
    if [ "$image" = "$node_image" ]; then kind_dns; fi
    say "the node is ready after $(seconds_since "$begin")"
}

kind_node() { "$engine" container inspect --format '{{.Id}}' "$kind_name-control-plane" 2>/dev/null; }

# kind_identify writes the id of the node that kind has created into the record, if there is one.
kind_identify() {
    local id
    if id=$(kind_node); then echo "$id" >"$kind_record"; else rm -f "$kind_record"; fi
}

# kind_remove deletes the cluster that kind_up created. kind identifies a cluster only by its name, which any user may
# have taken: the record shows whose cluster it is.
kind_remove() {
    local clusters record
    clusters=$(kind get clusters 2>/dev/null) || fail "kind get clusters fails: does Docker or podman work?"
    if grep -qx "$kind_name" <<<"$clusters"; then
        record=$(cat "$kind_record" 2>/dev/null || true)
        if [ -z "$record" ] || { [ "$record" != creating ] && [ "$record" != "$(kind_node)" ]; }; then
            not_started # this cluster is not ours
            fail "the kind cluster $kind_name was not created with the cache $cache, and stays" \
                "if nobody needs it: kind delete cluster --name $kind_name; else choose another cluster: CLUSTER=local or CLUSTER=existing"
        fi
        kind delete cluster --name "$kind_name" --kubeconfig "$kind_kubeconfig" >&2 || fail "kind cannot delete the cluster $kind_name, see above"
    fi
    rm -f "$kind_record"
}

# kind_dns replaces CoreDNS by our own server, because its image cannot be pulled.
kind_dns() {
    kube -n kube-system patch deployment coredns --type=json --patch "[
        {op: replace, path: /spec/replicas, value: 1},
        {op: replace, path: /spec/template/spec/containers/0/image, value: 'registry.k8s.io/kube-apiserver:$kubernetes_version'},
        {op: add, path: /spec/template/spec/containers/0/command, value: [cluster-dns, '--listen=:53']},
        {op: remove, path: /spec/template/spec/containers/0/args},
        {op: remove, path: /spec/template/spec/containers/0/livenessProbe},
        {op: remove, path: /spec/template/spec/containers/0/readinessProbe}]" >/dev/null
}

# start_docker starts Debian's daemon below the cache. If root lacks CAP_SYS_RESOURCE, as in many containers, runc
# cannot grant it to the privileged container of a node: a wrapper removes it from the request.
start_docker() {
    [ "$(id -u)" -eq 0 ] || fail "no Docker answers: start one, set DOCKER_HOST, or run this as root"
    need dockerd=docker.io docker=docker.io iptables=iptables jq=jq
    mkdir -p "$docker_dir"
    local config="{}"
    if ! (($((16#$(awk '/^CapBnd/ { print $2 }' /proc/self/status))) >> 24 & 1)); then
        config="{\"runtimes\": {\"limited\": {\"path\": \"$here/runc-limited\"}}, \"default-runtime\": \"limited\"}"
    fi
    echo "$config" >"$docker_dir/daemon.json"
    # Docker sets the policy to DROP and never restores it.
    iptables -S FORWARD | sed -n 's/^-P FORWARD //p' >"$docker_dir/forward-policy"
    export DOCKER_HOST=unix://$docker_socket
    setsid dockerd --config-file "$docker_dir/daemon.json" --data-root "$docker_dir/data" --exec-root "$docker_dir/exec" \
        --pidfile "$docker_dir/pid" --host "$DOCKER_HOST" >"$docker_dir/log" 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    wait_for 60 docker_answers || {
        tail -n 8 "$docker_dir/log" >&2
        fail "dockerd does not start, see above"
    }
}

docker_gone() { ! grep -qaF "$docker_dir" "/proc/$1/cmdline" 2>/dev/null; }

kind_down() {
    use_engine
    if has kind && engine_answers; then kind_remove; fi
    rm -f "$kind_kubeconfig"
    [ ! -f "$docker_dir/daemon.json" ] || stop_docker
}

# stop_docker removes all processes, interfaces and rules of the daemon. The images stay in the cache.
stop_docker() {
    local pid
    docker network rm kind >/dev/null 2>&1 || true
    pid=$(cat "$docker_dir/pid" 2>/dev/null || true)
    if [ -n "$pid" ] && ! docker_gone "$pid"; then
        kill "$pid"
        wait_for 30 docker_gone "$pid" || fail "our dockerd (process $pid) does not stop"
    fi
    ip link del docker0 2>/dev/null || true
    iptables-save | grep -viE 'docker' | iptables-restore
    iptables -P FORWARD "$(cat "$docker_dir/forward-policy")"
    find /sys/fs/cgroup -depth -type d -path '*/docker*' -exec rmdir {} + 2>/dev/null || true
    rm -f "$docker_socket" "$docker_dir/pid" "$docker_dir/daemon.json"
}

kind_load() {
    use_engine
    kind_alive || fail "the cluster is down: cluster.sh up"
    local archive begin
    for archive in "$@"; do
        begin=$(clock)
        kind load image-archive --name "$kind_name" "$archive" || fail "$archive can't be loaded, see above"
        say "loaded $archive in $(seconds_since "$begin")"
    done
}

kind_status() {
    use_engine
    kind_alive || fail "the kind cluster is down: cluster.sh up"
    kube get nodes
}
