#!/usr/bin/env bash
# smoke.sh checks that the cluster supports what the tests need: a native sidecar, a tmpfs with a limit, the downward
# API, services and their names, volumes and Java. The cluster must be up; smoke.sh leaves nothing in it.
set -euo pipefail
. "$(dirname "$0")/common.sh"
eval "$("$here/cluster.sh" env)"

namespace=smoke-$$
trap 'kubectl delete namespace "$namespace" --wait=false >/dev/null 2>&1 || true' EXIT
kube() { kubectl -n "$namespace" "$@"; }
checked=$(clock)
ok() {
    say "ok  $* ($(seconds_since "$checked"))"
    checked=$(clock)
}

# The paths contain no spaces, unless the path of the cache does.
# shellcheck disable=SC2046
"$here/cluster.sh" load $("$here/images.sh")
checked=$(clock)
kubectl create namespace "$namespace" >/dev/null
# The namespace refuses pods until it has its service account.
wait_for 30 kube get serviceaccount default || fail "the namespace gets no service account: is the controller manager alive?"

kube apply -f - >/dev/null <<'EOF'
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, annotations: {live: before}}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  initContainers:
  - name: sidecar
    image: localhost/tools:e2e
    imagePullPolicy: Never
    restartPolicy: Always
    command: [sh, -c, "echo from the sidecar > /shared/index.html; exec sleep 1000000"]
    startupProbe: {exec: {command: [test, -f, /shared/index.html]}, periodSeconds: 1}
    volumeMounts: [{name: shared, mountPath: /shared}, {name: info, mountPath: /info}]
  containers:
  - name: app
    image: localhost/tools:e2e
    imagePullPolicy: Never
    command: [httpd, -f, -p, "8080", -h, /shared]
    readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
    volumeMounts: [{name: shared, mountPath: /shared}]
  volumes:
  - {name: shared, emptyDir: {medium: Memory, sizeLimit: 16Mi}}
  - {name: info, downwardAPI: {items: [{path: annotations, fieldRef: {fieldPath: metadata.annotations}}]}}
EOF
kube wait --for=condition=Ready pod/web --timeout=120s >/dev/null || fail "a pod does not start: $(kube describe pod web | tail -n 5)"
ok "a pod with a native sidecar is ready"

in_web() { kube exec web -c sidecar -- "$@"; }
in_web sh -c 'grep -q "^tmpfs /shared tmpfs" /proc/mounts && ! dd if=/dev/zero of=/shared/big bs=1M count=20 2>/dev/null && rm /shared/big' ||
    fail "a memory emptyDir is not a tmpfs with a limit"
ok "a memory emptyDir is a tmpfs, and full when it is full"

kube annotate pod web --overwrite live=after >/dev/null
# A kubelet may miss the change until its next sync of the pod, after 60 to 90 s.
wait_for 100 in_web grep -q '^live="after"' /info/annotations || fail "an annotation does not reach the downward API"
ok "an annotation reaches the downward API"

wait_for 20 in_web timeout 3 wget -q -O /dev/null "http://web.$namespace.svc.cluster.local/" || fail "a service's name does not lead a pod to it"
wait_for 20 in_web sh -c 'nc -w 3 kubernetes.default.svc.cluster.local 443 </dev/null' || fail "pods don't reach the API server"
ok "services are reached by name"

for version in 17 25; do
    kube run "java$version" --image="localhost/jdk:$version" --image-pull-policy=Never --restart=Never --command -- java Churn 500 10 >/dev/null
done
for version in 17 25; do
    kube wait --for=jsonpath='{.status.phase}'=Succeeded "pod/java$version" --timeout=120s >/dev/null || fail "Java $version does not run: $(kube logs "java$version")"
done
ok "Java 17 and 25 run"
