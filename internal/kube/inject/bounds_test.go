package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// podLimited returns a pod whose container has these limits.
func podLimited(t *testing.T, annotations map[string]string, limits map[string]string) []byte {
	t.Helper()
	var pod map[string]any
	if err := json.Unmarshal(podWith(t, annotations), &pod); err != nil {
		t.Fatal(err)
	}
	app := pod["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	app["resources"] = map[string]any{"limits": limits}
	return []byte(marshal(t, pod))
}

// sidecarResources injects a pod and returns the resources of its sidecar, or none if
// the pod was refused.
func sidecarResources(t *testing.T, pod []byte, cfg wish.Config) (corev1.ResourceRequirements, inject.Result) {
	t.Helper()
	res := mutate(t, pod, cfg)
	checkInvariants(t, pod, res, cfg)
	var p corev1.Pod
	if err := json.Unmarshal([]byte(marshal(t, applyJSON(t, pod, res.Patch))), &p); err != nil {
		t.Fatal(err)
	}
	if !res.Injected {
		return corev1.ResourceRequirements{}, res
	}
	return p.Spec.InitContainers[0].Resources, res
}

// An API server refuses a negative amount, and a request over its limit.
func TestAmountsMakeAValidPod(t *testing.T) {
	burstable := map[string]string{"ephemeral-storage": "1Gi"}
	guaranteed := map[string]string{"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
	for _, c := range []struct {
		name, value string
		limits      map[string]string
		refused     bool
	}{
		{"memory-limit", "9223372036854775807", nil, true},
		{"memory-limit", "10000000Pi", nil, true},
		{"memory-limit", "8Ei", nil, true},
		{"memory-limit", "1Pi", nil, false},
		{"memory-limit", "1", nil, false},
		{"memory-limit", "0", nil, false},
		{"memory-limit", "0", guaranteed, false},
		{"memory-request", "8Ei", guaranteed, true},
		{"cpu-request", "9E", guaranteed, true},
		{"cpu-limit", "1n", nil, false},
		{"cpu-limit", "0", nil, false},
		{"ephemeral-storage-request", "8Ei", burstable, true},
		{"ephemeral-storage-request", "10Gi", burstable, false},
		{"ephemeral-storage-request", "10Gi", guaranteed, false},
		{"ephemeral-storage-limit", "0", nil, false},
		{"ephemeral-storage-limit", "0", burstable, false},
	} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			r, res := sidecarResources(t, podLimited(t, map[string]string{c.name: c.value}, c.limits), testConfig())
			if warnings := strings.Join(res.Warnings, "\n"); res.Injected == c.refused || c.refused && !strings.Contains(warnings, "it is over 1Pi: write a smaller value") {
				t.Errorf("injected: %t, warnings:\n%s\nwant injected: %t, and in the warnings of a refusal that the value is over 1Pi", res.Injected, warnings, !c.refused)
			}
			for name, request := range r.Requests {
				if limit, ok := r.Limits[name]; request.Sign() < 0 || ok && request.Cmp(limit) > 0 {
					t.Errorf("the request is %s of %s, and the limit is %s; want a request that is neither negative nor over the limit", request.String(), name, limit.String())
				}
			}
			for name, limit := range r.Limits {
				if limit.Sign() <= 0 {
					t.Errorf("the limit of %s is %s, want more than 0", name, limit.String())
				}
			}
		})
	}
}

func TestResourcesOfTheConfigurationAreBounded(t *testing.T) {
	cfg := testConfig()
	cfg.Resources.Limits["memory"] = resource.MustParse("8Ei")
	if bad := cfg.Validate(); len(bad) != 1 || bad[0].Error() != "resources: memory: it is over 1Pi: write a smaller value" {
		t.Errorf("the errors are %v, want only that memory is over 1Pi", bad)
	}
}

// In a Guaranteed pod the requests equal the limits. No limit bypasses the maximum of
// a request.
func TestAMaximumOfRequestsHoldsInAGuaranteedPod(t *testing.T) {
	cfg := testConfig()
	cfg.Resources.Limits["cpu"] = resource.MustParse("80m")
	for _, c := range []struct {
		name             string
		max, annotations map[string]string
		cpu, memory      string // requests
		warns            string
	}{
		{"nothing is asked for", map[string]string{"cpu-request": "100m", "memory-request": "128Mi"}, nil, "50m", "128Mi", ""},
		{"cpu", map[string]string{"cpu-request": "100m"}, map[string]string{"cpu-limit": "64"}, "100m", "128Mi", "CPU limit is 100m"},
		{"cpu without a limit", map[string]string{"cpu-request": "100m"}, map[string]string{"cpu-limit": "0"}, "100m", "128Mi", "CPU limit is 100m"},
		{"memory", map[string]string{"memory-request": "128Mi"}, map[string]string{"memory-limit": "64Gi"}, "5m", "16Mi", "no longer of QoS class Guaranteed"},
		{"the tmpfs", map[string]string{"memory-request": "128Mi"}, map[string]string{"buffer": "128Mi"}, "5m", "16Mi", "no longer of QoS class Guaranteed"},
		{"both", map[string]string{"cpu-request": "100m", "memory-request": "64Mi"}, map[string]string{"cpu-limit": "64", "memory-limit": "64Gi"}, "5m", "16Mi", "no longer of QoS class Guaranteed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := cfg
			cfg.Policy = wish.Policy{Max: c.max}
			if bad := cfg.Validate(); len(bad) > 0 {
				t.Fatalf("the errors are %v, want none", bad)
			}
			r, res := sidecarResources(t, podLimited(t, c.annotations, map[string]string{"cpu": "1", "memory": "1Gi"}), cfg)
			for name, want := range map[corev1.ResourceName]string{"cpu": c.cpu, "memory": c.memory} {
				request, limit := r.Requests[name], r.Limits[name]
				if request.String() != want || request.Cmp(limit) > 0 {
					t.Errorf("the request is %s of %s, want %s; the limit is %s", request.String(), name, want, limit.String())
				}
			}
			if text := strings.Join(res.Warnings, "\n"); !strings.Contains(text, c.warns) || (c.warns != "") != strings.Contains(text, "in this cluster") {
				t.Errorf("warnings:\n%s\nwant: %s", text, c.warns)
			}
		})
	}
}
