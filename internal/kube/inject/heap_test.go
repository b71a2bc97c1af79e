package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The sum of heap, log and reserve is compared with the limit. The opt-in raises the limit by the size of the tmpfs,
// raises the request too if it equals the limit, and pins the heap. If the limit must not be raised, a warning says why.
func TestTheLogAgainstTheHeap(t *testing.T) {
	limits := func(memory string) object { return object{"limits": object{"memory": memory}} }
	for name, c := range map[string]struct {
		annotations object
		command     []string
		resources   object
		whole       object // the pod-level resources
		limit       string // after the injection; so is request
		request     string
		pin         bool
		warns       string // empty: no warning about memory
	}{
		"85 % of 512Mi":    {command: []string{"java", "-XX:MaxRAMPercentage=85"}, resources: limits("512Mi"), limit: "512Mi", warns: "heap 436 MiB (-XX:MaxRAMPercentage=85), 64 MiB on the log's tmpfs, and 68 MiB for the rest of the JVM: set ullage.dev/raise-memory-limit"},
		"-Xmx1000m of 1Gi": {command: []string{"java", "-Xmx1000m"}, resources: limits("1Gi"), limit: "1Gi", warns: "heap 1000 MiB (-Xmx1000m)"},
		"80 % of 1Gi, a large buffer": {annotations: object{"ullage.dev/buffer": "256Mi"}, command: []string{"java", "-XX:MaxRAMPercentage=80"}, resources: limits("1Gi"), limit: "1Gi",
			warns: "heap 820 MiB (-XX:MaxRAMPercentage=80), 256 MiB on the log's tmpfs"},
		"a buffer over a quarter": {annotations: object{"ullage.dev/buffer": "260Mi"}, command: []string{"java", "-Xmx300m"}, resources: limits("1Gi"), limit: "1Gi", warns: "ullage.dev/buffer is 260Mi and counts as memory"},
		"75 % of 1Gi":             {command: []string{"java", "-XX:MaxRAMPercentage=75"}, resources: limits("1Gi"), limit: "1Gi"},
		"no limit":                {command: []string{"java", "-Xmx1000m"}},
		"raised and pinned":       {annotations: object{"ullage.dev/raise-memory-limit": "true"}, command: []string{"java", "-XX:MaxRAMPercentage=85"}, resources: limits("512Mi"), limit: "576Mi", pin: true},
		"raised, the heap is set": {annotations: object{"ullage.dev/raise-memory-limit": "true"}, command: []string{"java", "-Xmx435m"}, resources: limits("512Mi"), limit: "576Mi"},
		"raised, and not enough": {annotations: object{"ullage.dev/raise-memory-limit": "true"}, command: []string{"java", "-XX:MaxRAMPercentage=90"}, resources: limits("512Mi"), limit: "576Mi", pin: true,
			warns: "may take more than its raised memory limit of 576 MiB, and be killed: heap 461 MiB (-XX:MaxRAMPercentage=90), 64 MiB on the log's tmpfs, and 77 MiB for the rest of the JVM: write -XX:MaxRAMPercentage=85 instead of -XX:MaxRAMPercentage=90"},
		"90 % of 512Mi":           {command: []string{"java", "-XX:MaxRAMPercentage=90"}, resources: limits("512Mi"), limit: "512Mi", warns: "68 MiB for the rest of the JVM: write -XX:MaxRAMPercentage=74"},
		"raised with the request": {annotations: object{"ullage.dev/raise-memory-limit": "true"}, resources: object{"limits": object{"memory": "512Mi", "cpu": "1"}, "requests": object{"memory": "512Mi", "cpu": "1"}}, limit: "576Mi", request: "576Mi", pin: true},
		"a smaller request stays": {annotations: object{"ullage.dev/raise-memory-limit": "true"}, resources: object{"limits": object{"memory": "512Mi"}, "requests": object{"memory": "256Mi"}}, limit: "576Mi", request: "256Mi", pin: true},
		"with the ring of events": {annotations: object{"ullage.dev/raise-memory-limit": "true", "ullage.dev/events": "2Mi"}, resources: limits("512Mi"), limit: "578Mi", pin: true},
		"a pod with pod-level resources": {annotations: object{"ullage.dev/raise-memory-limit": "true"}, resources: limits("512Mi"), whole: object{"limits": object{"memory": "1Gi"}}, limit: "512Mi",
			warns: "is not raised: the pod has pod-level resources"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := object{"securityContext": object{"runAsUser": 1, "runAsGroup": 1}, "resources": c.whole,
				"containers": []any{object{"name": "app", "command": c.command, "resources": c.resources}}}
			pod, err := json.Marshal(object{"metadata": object{"annotations": c.annotations}, "spec": spec})
			if err != nil {
				t.Fatal(err)
			}
			res := mutate(t, pod, testConfig())
			checkInvariants(t, pod, res, testConfig())
			if !res.Injected {
				t.Fatalf("the pod is not injected: %q", res.Warnings)
			}
			text, err := json.Marshal(applyJSON(t, pod, res.Patch))
			if err != nil {
				t.Fatal(err)
			}
			var after corev1.Pod
			if err := json.Unmarshal(text, &after); err != nil {
				t.Fatal(err)
			}
			app := after.Spec.Containers[0]
			memory := func(list corev1.ResourceList) string {
				if q, ok := list["memory"]; ok {
					return q.String()
				}
				return ""
			}
			if limit, request := memory(app.Resources.Limits), memory(app.Resources.Requests); limit != c.limit || request != c.request {
				t.Errorf("limit %q and request %q, want %q and %q", limit, request, c.limit, c.request)
			}
			if pinned := strings.Contains(app.Env[0].Value, " -XX:MaxRAM=536870912"); pinned != c.pin {
				t.Errorf("pinned %v, want %v: %s", pinned, c.pin, app.Env[0].Value)
			}
			said := strings.Join(res.Warnings, "\n")
			if !strings.Contains(said, c.warns) || c.warns == "" && strings.Contains(said, "memory") {
				t.Errorf("warnings\n%s\nwant %q", said, c.warns)
			}
		})
	}
}
