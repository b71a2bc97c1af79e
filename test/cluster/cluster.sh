#!/usr/bin/env bash
# The cluster for the tests: see README.md in this directory.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$here/local.sh"
. "$here/local_down.sh"
. "$here/kind.sh"

usage="usage: cluster.sh COMMAND
  up [--try]    start a cluster, or use the one that is up; --try is for test/try
  down          remove the cluster that 'up' started
  status        report whether it works
  load FILE...  load image archives into it
  arch          print the architecture of its nodes, as Go calls it
  node-image    print the node image that kind publishes for the pinned version
  kubeconfig    print the path of its kubeconfig
  env           print settings for a shell: eval \"\$(cluster.sh env)\"
CLUSTER=local, kind or existing selects the cluster. If it is empty, the first of
these is used: the one that 'up' started last, the one in KUBECONFIG, kind, local."

# kube is kubectl on the chosen cluster. A hanging server is a failure.
kube() { kubectl --kubeconfig="$(kubeconfig)" --request-timeout=10s "$@"; }

kubeconfig() {
    case $cluster in
    local) echo "$state/kubeconfig" ;;
    kind) echo "$kind_kubeconfig" ;;
    existing) echo "${KUBECONFIG:-$HOME/.kube/config}" ;;
    esac
}

# pick prints which cluster to use. 'up' records the cluster that it started, so that all later commands use the same
# one.
pick() {
    if [ -n "${CLUSTER:-}" ]; then
        echo "$CLUSTER"
    elif [ -f "$cache/cluster" ]; then
        cat "$cache/cluster"
    elif [ -n "${KUBECONFIG:-}" ] && has kubectl && kubectl --request-timeout=5s get --raw=/readyz >/dev/null 2>&1; then
        echo existing
    elif [ "$command" = up ] && kind_feasible; then
        echo kind
    else
        echo local
    fi
}

# lock makes commands that change something wait for each other.
lock() {
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    has flock || return 0 # macOS has no flock, but there only one person uses a cluster
    flock -w 1800 9 || fail "another cluster.sh has been at work for half an hour: $cache/lock"
}

# note_try records in $cache/try that make try has started the cluster: only then does make try-down remove it. Only
# the holder of the lock knows this. If another command asks for the cluster, it must stay, and try does not start a
# cluster that is up.
note_try() {
    if [ "$1" != --try ]; then
        rm -f "$cache/try"
    elif ! ("${cluster}_status") >/dev/null 2>&1; then
        echo starting >"$cache/try"
    fi
}

existing_up() { kube get --raw=/readyz >/dev/null || fail "the cluster of $(kubeconfig) does not answer"; }
existing_down() { say "it was there before, and stays"; }
existing_status() { kube get nodes; }
existing_load() {
    local context archive
    context=$(kube config current-context)
    for archive in "$@"; do
        case $context in
        kind-*) kind load image-archive --name "${context#kind-}" "$archive" ;;
        k3d-*) k3d image import --cluster "${context#k3d-}" "$archive" ;;
        docker-desktop | rancher-desktop | orbstack | colima*) docker load --input "$archive" ;; # the nodes have this daemon's images
        *)
            # A profile of minikube may have any name, but its nodes have a label of minikube.
            [ -n "$(kube get nodes -l minikube.k8s.io/name -o name)" ] ||
                fail "how images get into the cluster of the context $context is not known: push them to a registry that it pulls from"
            minikube --profile "$context" image load "$archive"
            ;;
        esac || fail "$archive can't be loaded into $context, see above"
    done
}

[ $# -gt 0 ] || { say "$usage"; exit 2; }
command=$1
shift
PATH=$bin:$PATH
cluster=$(pick)
case $cluster in
local | kind | existing) ;;
*) fail "CLUSTER=$cluster is not local, kind or existing" ;;
esac

case $command in
up)
    lock
    say "cluster: $cluster"
    started=$(cat "$cache/cluster" 2>/dev/null || echo "$cluster")
    [ "$started" = "$cluster" ] || fail "the cluster that was started last is $started: CLUSTER=$started cluster.sh down"
    echo "$cluster" >"$cache/cluster" # written before anything is started, so that 'down' finds it
    note_try "${1:-}"
    "${cluster}_up"
    echo "export KUBECONFIG=$(kubeconfig)"
    ;;
down)
    lock
    "${cluster}_down"
    not_started
    ;;
status) "${cluster}_status" ;;
load)
    [ $# -gt 0 ] || fail "load: which archives?"
    lock
    "${cluster}_load" "$@"
    ;;
arch) kube get nodes -o 'jsonpath={.items[0].status.nodeInfo.architecture}' ;;
node-image)
    image=$(published_image)
    [ -n "$image" ] || fail "kind $kind_version names no node image"
    echo "$image"
    ;;
kubeconfig) kubeconfig ;;
env) printf 'export KUBECONFIG=%q\nexport PATH=%q:$PATH\n' "$(kubeconfig)" "$bin" ;;
*)
    say "$usage"
    exit 2
    ;;
esac
