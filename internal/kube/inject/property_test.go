package inject_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// TestRandomPods builds pods from everything that matters to the injector and checks the invariants for each.
func TestRandomPods(t *testing.T) {
	injected := 0
	const rounds = 600
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		pod, err := json.Marshal(randomPod(r))
		if err != nil {
			t.Fatal(err)
		}
		cfg := testConfig()
		if r.IntN(4) == 0 {
			cfg.OnError = wish.Deny
		}
		res := mutate(t, pod, cfg)
		checkInvariants(t, pod, res, cfg)
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, pod)
		}
		if res.Injected {
			injected++
		}
	}
	if injected < rounds/4 {
		t.Errorf("only %d of %d pods were injected, want at least %d", injected, rounds, rounds/4)
	}
}

type object = map[string]any

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// maybe sets a member with a probability of 1/n.
func maybe(r *rand.Rand, n int, o object, key string, value any) {
	if r.IntN(n) == 0 {
		o[key] = value
	}
}

func randomPod(r *rand.Rand) object {
	spec := object{"newField": object{"a": 1}}
	var containers []any
	for i := range 1 + r.IntN(3) {
		containers = append(containers, randomContainer(r, fmt.Sprintf("c%d", i)))
	}
	spec["containers"] = containers
	maybe(r, 3, spec, "initContainers", pick[any](r, nil, []any{}, []any{randomContainer(r, "init")}))
	var volumes []any
	for _, name := range []string{"v0", "v1"} {
		volumes = append(volumes, pick(r, object{"name": name, "emptyDir": object{}}, object{"name": name, "configMap": object{"name": "x"}}))
	}
	maybe(r, 2, spec, "volumes", pick[any](r, nil, []any{}, volumes, append(volumes, object{"name": pick(r, "ullage-tmp", "ullage-x")})))
	maybe(r, 2, spec, "securityContext", randomSecurity(r))
	maybe(r, 6, spec, "hostNetwork", true)
	maybe(r, 6, spec, "shareProcessNamespace", pick(r, true, false))
	maybe(r, 20, spec, "os", object{"name": "windows"})
	pod := object{"spec": spec, "status": object{}}
	maybe(r, 2, pod, "metadata", pick[any](r, nil, object{}, object{"annotations": nil}, object{"annotations": randomAnnotations(r), "labels": object{"a": "b"}}))
	return pod
}

func randomAnnotations(r *rand.Rand) object {
	a := object{"example.com/a~b": "c"}
	of := map[string][]string{
		"attach":             {"off", "shared-tmp", "process-namespace", "auto", "x"},
		"container":          {"c0", "c0,c1", "c1", ""},
		"dest":               {"emptyDir", "pvc:a", "ephemeral:1Gi", "ephemeral:1Gi:b", "x"},
		"buffer":             {"1Mi", "64Mi", "7Ti", "9223372036854775807"},
		"listen":             {"off", ":9000", "127.0.0.1:9001", "[::]:65535"},
		"raise-memory-limit": {"true", "false", "x"}, "env": {"HTTPS_PROXY=http://p:1 A=b", "x"}, "container-patch": {`{"lifecycle":null}`, "x"},
		"retain-bytes": {"0", "7000000Ti"},
		"xlog":         {"gc", "all=trace"}, "options-variable": {"off", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "a b"}, "injected": {"x"}, "warnings": {"x"},
	}
	for _, name := range slices.Sorted(maps.Keys(of)) { // the same seed gives the same pod
		maybe(r, 6, a, ask.Prefix+name, pick(r, of[name]...))
	}
	maybe(r, 8, a, "prometheus.io/scrape", "false")
	maybe(r, 8, a, "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", pick(r, "v0", "v0,ullage-tmp"))
	return a
}

func randomSecurity(r *rand.Rand) object {
	s := object{}
	maybe(r, 2, s, "runAsUser", pick(r, 0, 1000))
	maybe(r, 2, s, "runAsGroup", pick(r, 0, 1000))
	return s
}

func randomContainer(r *rand.Rand, name string) object {
	c := object{"name": name, "image": "app", "newField": []any{nil, 1.5}}
	maybe(r, 30, c, "name", "ullage")
	maybe(r, 3, c, "securityContext", randomSecurity(r))
	maybe(r, 3, c, "env", pick[any](r, nil, []any{}, []any{object{"name": wish.LauncherVariable, "value": "-Xmx1g"}},
		[]any{object{"name": wish.ToolVariable}, object{"name": "A", "value": "b"}}, []any{object{"name": wish.LauncherVariable, "valueFrom": object{}}}))
	maybe(r, 8, c, "envFrom", []any{object{"prefix": pick(r, "", "DB_", "JDK_")}})
	maybe(r, 3, c, "volumeMounts", pick[any](r, nil, []any{}, []any{object{"name": pick(r, "v0", "v1", "v2"),
		"mountPath": pick(r, "/tmp", "/tmp/", "/var", "/var/log/jvm", "/data"), "readOnly": pick(r, true, false), "subPath": pick(r, "", "x", "./x")}}))
	maybe(r, 4, c, "ports", []any{object{"containerPort": pick(r, 9919, 9920, 65535)}})
	maybe(r, 2, c, "resources", object{"limits": pick(r, object{"cpu": 1, "memory": "1Gi"}, object{"memory": "1Gi"}, object{"cpu": "1", "ephemeral-storage": "1Gi"})})
	return c
}
