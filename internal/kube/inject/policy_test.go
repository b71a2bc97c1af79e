package inject_test

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// A platform team fixes or caps a setting. The pod is still injected, and its annotation says which values it did not get.
func TestPolicyBoundsWhatAPodAsksFor(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults = map[string]string{"xlog": "gc=info", "segment-bytes": "8Mi"}
	cfg.Policy = wish.Policy{Locked: []string{"dest", "xlog", "listen"}, Max: map[string]string{"buffer": "128Mi", "segment-bytes": "16Mi", "retain-bytes": "1Gi", "retain-age": "168h"}}
	if bad := cfg.Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	for _, c := range []struct{ name, value, warns, has string }{
		{"dest", "pvc:logs", "ullage.dev/dest is fixed in this cluster", `"emptyDir":{`},
		{"xlog", "all=trace", "ullage.dev/xlog is fixed", "-Xlog:gc=info:"},
		{"xlog", "gc=info", "", "-Xlog:gc=info:"}, // the default
		{"listen", ":1234", "is fixed", `"containerPort":9919`},
		{"buffer", "256Mi", `ullage.dev/buffer "256Mi" exceeds this cluster's maximum and was lowered to 128Mi`, `"sizeLimit":"128Mi"`},
		{"buffer", "128Mi", "", `"sizeLimit":"128Mi"`},
		{"buffer", "32Mi", "", `"sizeLimit":"32Mi"`},
		{"segment-bytes", "32Mi", "exceeds this cluster's maximum", `{"name":"ULLAGE_SEGMENT_BYTES","value":"16Mi"}`},
		{"retain-bytes", "0", "exceeds this cluster's maximum", `{"name":"ULLAGE_RETAIN_BYTES","value":"1Gi"}`},
		{"retain-age", "0s", "exceeds this cluster's maximum", `{"name":"ULLAGE_RETAIN_AGE","value":"168h"}`},
		{"retain-age", "24h", "", `{"name":"ULLAGE_RETAIN_AGE","value":"24h"}`},
	} {
		pod := podWith(t, map[string]string{c.name: c.value})
		res := mutate(t, pod, cfg)
		checkInvariants(t, pod, res, cfg)
		text := strings.Join(res.Warnings, "\n")
		patch := marshal(t, res.Patch)
		if !res.Injected || (c.warns != "") != strings.Contains(text, "this cluster") || !strings.Contains(text, c.warns) || !strings.Contains(patch, c.has) {
			t.Errorf("%s %q: injected %v, warnings\n%s\nand patch\n%s\nwant it injected, the cluster's warning %q (none if empty) and a patch with %s",
				c.name, c.value, res.Injected, text, patch, c.warns, c.has)
		}
	}
	if res := mutate(t, podWith(t, map[string]string{"buffer": "plenty"}), cfg); res.Injected {
		t.Error("a pod was injected although its buffer is not a size")
	}
}

// Neither an empty value nor another setting bypasses a maximum.
func TestAMaximumHolds(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults = map[string]string{"budget": "32Mi"}
	cfg.Policy = wish.Policy{Max: map[string]string{"retain-age": "168h", "upload-age": "10m", "budget": "32Mi", "sync-interval": "10s", "retain-bytes": "1Gi"}}
	if bad := cfg.Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	for _, c := range []struct{ name, value, has string }{
		{"retain-age", "0", `{"name":"ULLAGE_RETAIN_AGE","value":"168h"}`},
		{"retain-age", "0m", `{"name":"ULLAGE_RETAIN_AGE","value":"168h"}`},
		{"upload-age", "0", `{"name":"ULLAGE_UPLOAD_AGE","value":"10m"}`},
		{"budget", "0", `{"name":"ULLAGE_BUDGET","value":"32Mi"}`},
		{"segment-bytes", "512Mi", `{"name":"ULLAGE_RETAIN_BYTES","value":"1Gi"}`},
		{"segment-bytes", "128Mi", `{"name":"ULLAGE_RETAIN_BYTES","value":"512Mi"}`},
	} {
		pod := podWith(t, map[string]string{c.name: c.value})
		res := mutate(t, pod, cfg)
		checkInvariants(t, pod, res, cfg)
		if patch := marshal(t, res.Patch); !strings.Contains(patch, c.has) {
			t.Errorf("%s %q: the warnings are %q, want %s in the patch\n%s", c.name, c.value, res.Warnings, c.has, patch)
		}
	}
}

func TestAPolicyIsAboutSettings(t *testing.T) {
	for _, c := range []struct {
		policy wish.Policy
		says   string
	}{
		{wish.Policy{Locked: []string{"bufer"}}, `"bufer" is not a setting`},
		{wish.Policy{Locked: []string{"container"}}, "not a setting of all pods"},
		{wish.Policy{Locked: []string{"source"}}, "not a setting of all pods"},
		{wish.Policy{Max: map[string]string{"buffer": "lots"}}, "must be a setting that is a size"},
		{wish.Policy{Max: map[string]string{"dest": "1Gi"}}, "must be a setting that is a size"},
		{wish.Policy{Max: map[string]string{"attach": "5m"}}, "must be a setting that is a size"},
		{wish.Policy{Max: map[string]string{"retain-bytes": "168h"}}, "must be a setting that is a size"},
		{wish.Policy{Max: map[string]string{"retain-age": "1Gi"}}, "must be a setting that is a size"},
		{wish.Policy{Max: map[string]string{"retain-age": "30m"}}, "the default, 168h0m0s, is over 30m"},
		{wish.Policy{Max: map[string]string{"bufer": "1Gi"}}, "must be a setting that is a size"},
		{wish.Policy{Max: map[string]string{"buffer": "32Mi"}}, "the default, 64Mi, is over 32Mi"},
		{wish.Policy{Max: map[string]string{"sync-interval": "10s"}}, ""},
	} {
		cfg := testConfig()
		cfg.Policy = c.policy
		bad := cfg.Validate()
		if (c.says == "") != (len(bad) == 0) || c.says != "" && !strings.Contains(bad[0].Error(), c.says) {
			t.Errorf("the errors of %+v are %v, want %q in the first, or none if that is empty", c.policy, bad, c.says)
		}
	}
}

func TestPullSecretsAreAdded(t *testing.T) {
	cfg := testConfig()
	cfg.PullSecrets = []string{"registry", "own"}
	pod := []byte(strings.Replace(string(podWith(t, nil)), `"spec":{`, `"spec":{"imagePullSecrets":[{"name":"own"}],`, 1))
	res := mutate(t, pod, cfg)
	checkInvariants(t, pod, res, cfg)
	if text := marshal(t, applyJSON(t, pod, res.Patch)); !strings.Contains(text, `"imagePullSecrets":[{"name":"own"},{"name":"registry"}]`) {
		t.Errorf("the pod is\n%s\nwant its own secret and then registry in imagePullSecrets", text)
	}
	cfg.PullSecrets = []string{"No Name"}
	if bad := cfg.Validate(); len(bad) != 1 {
		t.Errorf("the errors are %v, want one", bad)
	}
}
