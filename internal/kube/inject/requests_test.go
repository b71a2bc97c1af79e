package inject_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// In a pod of QoS class Guaranteed, the sidecar's CPU limit is also its request. The CPU
// utilization that an autoscaler computes includes that request, although the sidecar hardly uses
// it: with a sidecar of 250m, a pod of 500m could reach at most 67 %, and never the usual target of
// 80 %. So the sidecar requests only the CPU time that it needs, and the pod's annotation says how
// much it adds.
func TestRequestsThatAnAutoscalerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		annotations, limits map[string]string
		configured          corev1.ResourceList // Resources.Guaranteed
		general             string              // Resources.Limits of cpu
		cpu                 string              // the request of the sidecar
		adds, warns         string
	}{
		"500m": {limits: map[string]string{"cpu": "500m", "memory": "1Gi"}, cpu: "50m",
			adds: "50m CPU and 128Mi memory to the pod's requests; with the other containers at 100 % of their CPU requests, an HPA on the pod's CPU utilization sees 90 %"},
		"a small pod": {limits: map[string]string{"cpu": "200m", "memory": "1Gi"}, cpu: "50m", adds: "sees 80 %",
			warns: "an HPA on the pod's CPU utilization sees at most 80 %, because the sidecar adds 50m to the requests"},
		"a limit of the pod's": {annotations: map[string]string{"cpu-limit": "250m"}, limits: map[string]string{"cpu": "500m", "memory": "1Gi"}, cpu: "250m", adds: "sees 66 %",
			warns: "use a metric of type ContainerResource, or lower ullage.dev/cpu-limit"},
		"a limit for all sidecars does not apply to these": {general: "300m", limits: map[string]string{"cpu": "500m", "memory": "1Gi"}, cpu: "50m", adds: "sees 90 %"},
		"a configured value for Guaranteed pods":           {configured: corev1.ResourceList{"cpu": resource.MustParse("30m")}, limits: map[string]string{"cpu": "500m", "memory": "1Gi"}, cpu: "30m", adds: "sees 94 %"},
		"Burstable":                                        {limits: map[string]string{"memory": "1Gi"}, cpu: "5m", adds: "5m CPU and 16Mi memory to the pod's requests"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig()
			if c.configured != nil {
				cfg.Resources.Guaranteed = c.configured
			}
			if c.general != "" {
				cfg.Resources.Limits["cpu"] = resource.MustParse(c.general)
			}
			if bad := cfg.Validate(); len(bad) > 0 {
				t.Fatalf("the errors are %v, want none", bad)
			}
			pod := podLimited(t, c.annotations, c.limits)
			r, res := sidecarResources(t, pod, cfg)
			if cpu := r.Requests[corev1.ResourceCPU]; cpu.String() != c.cpu {
				t.Errorf("the sidecar requests %s CPU, want %s", cpu.String(), c.cpu)
			}
			annotations := applyJSON(t, pod, res.Patch).(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)
			s, err := ask.ParseStatus(annotations[ask.InjectedAnnotation].(string))
			if err != nil || !strings.HasSuffix(s.Adds, c.adds) {
				t.Errorf("the pod says that the sidecar adds %q, %v; want %q", s.Adds, err, c.adds)
			}
			if said := strings.Join(res.Warnings, "\n"); strings.Contains(said, "HPA") != (c.warns != "") || !strings.Contains(said, c.warns) {
				t.Errorf("warnings\n%s\nwant %q", said, c.warns)
			}
		})
	}
}

func TestGuaranteedIsAnAmountOfCPU(t *testing.T) {
	for _, list := range []corev1.ResourceList{{"memory": resource.MustParse("64Mi")}, {"cpu": resource.MustParse("0")}} {
		cfg := testConfig()
		cfg.Resources.Guaranteed = list
		if bad := cfg.Validate(); len(bad) != 1 || !strings.Contains(bad[0].Error(), "only cpu can be set") {
			t.Errorf(`the errors of %v are %v, want 1 error, with "only cpu can be set"`, list, bad)
		}
	}
}

// On a cluster that lowers limits to the requests, such as GKE Autopilot, the spool has room only if the sidecar
// requests its full memory limit, including the buffer.
func TestARequestOfMemoryMayReachTheLimitWithTheBuffer(t *testing.T) {
	for asked, want := range map[string]string{"128Mi": "128Mi", "129Mi": "128Mi"} {
		r, res := sidecarResources(t, podLimited(t, map[string]string{"memory-request": asked}, map[string]string{"memory": "1Gi"}), testConfig())
		request, limit := r.Requests[corev1.ResourceMemory], r.Limits[corev1.ResourceMemory]
		said := strings.Join(res.Warnings, "\n")
		if request.String() != want || limit.String() != "128Mi" || strings.Contains(said, "exceeds the limit") != (asked != want) {
			t.Errorf("asked for %s: request %s, limit %s, want %s and 128Mi; warnings\n%s", asked, request.String(), limit.String(), want, said)
		}
	}
}
