package inject_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// injectedPod returns an injected pod after change was applied to each of its init containers.
func injectedPod(t *testing.T, change func(sidecar map[string]any)) []byte {
	t.Helper()
	pod := podWith(t, nil)
	tree := applyJSON(t, pod, mutate(t, pod, testConfig()).Patch).(map[string]any)
	for _, c := range tree["spec"].(map[string]any)["initContainers"].([]any) {
		change(c.(map[string]any))
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sidecarOf(t *testing.T, pod any) corev1.Container {
	t.Helper()
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p.Spec.InitContainers[0]
}

// A webhook that was built with old types decodes a pod and encodes it again
// without the restartPolicy of its init containers.
func TestALostRestartPolicyIsAddedAgain(t *testing.T) {
	pod := injectedPod(t, func(c map[string]any) { delete(c, "restartPolicy") })
	res := mutate(t, pod, testConfig())
	checkInvariants(t, pod, res, testConfig())
	if !res.Injected || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "removed the sidecar's restartPolicy") {
		t.Fatalf(`the result is %+v, want Injected true and 1 warning, with "removed the sidecar's restartPolicy"`, res)
	}
	after := applyJSON(t, pod, res.Patch)
	c := sidecarOf(t, after)
	yields := slices.Contains(c.Env, corev1.EnvVar{Name: "ULLAGE_YIELD_AFTER", Value: "15s"})
	if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways || !yields {
		t.Errorf("the sidecar is %+v, want restartPolicy Always and ULLAGE_YIELD_AFTER 15s", c)
	}

	if s := statusOf(t, pod, res); len(s.JVMs) != 1 || "ullage: "+s.Warnings[len(s.Warnings)-1] != res.Warnings[0] {
		t.Errorf("the annotation is %+v, want one JVM and the last warning to be that of the result, %q", s, res.Warnings[0])
	}

	// The other webhook drops the restartPolicy again, and the API server calls the injector again.
	delete(after.(map[string]any)["spec"].(map[string]any)["initContainers"].([]any)[0].(map[string]any), "restartPolicy")
	again, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	res = mutate(t, again, testConfig())
	c = sidecarOf(t, applyJSON(t, again, res.Patch))
	variables := 0
	for _, v := range c.Env {
		if v.Name == "ULLAGE_YIELD_AFTER" {
			variables++
		}
	}
	if c.RestartPolicy == nil || variables != 1 {
		t.Errorf("the second time, the sidecar is %+v, want a restartPolicy, and ULLAGE_YIELD_AFTER once", c)
	}
}

// An API server refuses a pod that has a probe on an init container without restartPolicy. A service mesh refuses the
// kubelet's probe requests.
func TestTheSidecarHasNoProbes(t *testing.T) {
	pod := injectedPod(t, func(map[string]any) {})
	if c := sidecarOf(t, decode(t, pod)); c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil {
		t.Errorf("the sidecar has probes: %+v, want LivenessProbe nil, ReadinessProbe nil and StartupProbe nil", c)
	}
	if res := mutate(t, pod, testConfig()); len(res.Patch)+len(res.Warnings) > 0 {
		t.Errorf("a pod with its restartPolicy: %+v, want no patch and no warning", res)
	}
}

// If a pod's author names another container in our annotation, that container is not changed.
func TestOnlyOurContainersAreRepaired(t *testing.T) {
	pod := []byte(strings.Replace(string(injectedPod(t, func(map[string]any) {})), `\"sidecar\":\"ullage\"`, `\"sidecar\":\"init\"`, 1))
	pod = []byte(strings.Replace(string(pod), `"initContainers":[`, `"initContainers":[{"name":"init"},`, 1))
	if res := mutate(t, pod, testConfig()); len(res.Patch) > 0 {
		t.Errorf("the pod is patched: %+v, want none", res.Patch)
	}
}
