package inject_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// The pod's value of a container setting wins over the namespace's, which wins over the value for all pods.
func TestWhereTheContainerIsSet(t *testing.T) {
	cfg := testConfig()
	cfg.PullSecrets = []string{"all"}
	cfg.Namespaces = map[string]map[string]string{
		"shop":  {"image": "shop.example/ullage:v2", "image-pull-secrets": "shop", "memory-limit": "96Mi", "cpu-request": "50m", "dest": "pvc:logs"},
		"other": {"image": "other.example/ullage:v3"},
	}
	if bad := cfg.ValidateForAll(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	for _, c := range []struct {
		namespace   string
		annotations map[string]string
		has         []string
	}{
		{"bare", nil, []string{`"image":"localhost/ullage:v1"`, `[{"name":"all"}]`, `"limits":{"memory":"128Mi"}`, `"cpu":"5m"`, `"emptyDir":{"sizeLimit"`}},
		{"other", nil, []string{`"image":"other.example/ullage:v3"`, `[{"name":"all"}]`, `"limits":{"memory":"128Mi"}`}},
		{"shop", nil, []string{`"image":"shop.example/ullage:v2"`, `[{"name":"shop"}]`, `"limits":{"memory":"160Mi"}`, `"cpu":"50m"`, `"claimName":"logs"`}},
		{"shop", map[string]string{"image": "pod.example/ullage:v9", "image-pull-secrets": "one, two", "memory-limit": "256Mi", "cpu-limit": "1", "dest": "emptyDir", "ephemeral-storage-request": "1Gi"},
			[]string{`"image":"pod.example/ullage:v9"`, `[{"name":"one"},{"name":"two"}]`, `"limits":{"cpu":"1","memory":"320Mi"}`, `"cpu":"50m"`, `"ephemeral-storage":"1Gi"`, `\"image\":\"pod.example/ullage:v9\"`}},
		{"bare", map[string]string{"memory-limit": "0"}, []string{`"requests":{"cpu":"5m","ephemeral-storage":"288Mi","memory":"16Mi"}`}},
	} {
		pod := podWith(t, c.annotations)
		res, err := inject.Mutate(pod, c.namespace, cfg)
		if err != nil {
			t.Fatal(err)
		}
		text := marshal(t, applyJSON(t, pod, res.Patch))
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s %v: no %s in\n%s\n%q", c.namespace, c.annotations, want, text, res.Warnings)
			}
		}
	}
}

// An API server refuses a pod that requests more than its limit.
func TestARequestOverTheLimitIsLowered(t *testing.T) {
	for _, c := range []struct {
		annotations map[string]string
		has, warns  string
	}{
		{map[string]string{"memory-request": "1Gi"}, `"requests":{"cpu":"5m","ephemeral-storage":"288Mi","memory":"128Mi"`, "memory-request: 1Gi exceeds the limit and was lowered to 128Mi"},
		{map[string]string{"memory-request": "1Gi", "memory-limit": "2Gi"}, `"memory":"1Gi"`, ""},
		{map[string]string{"cpu-limit": "4m"}, `"requests":{"cpu":"4m"`, "cpu-request: 5m exceeds the limit and was lowered to 4m"},
	} {
		pod := podWith(t, c.annotations)
		res := mutate(t, pod, testConfig())
		checkInvariants(t, pod, res, testConfig())
		warned := strings.Contains(strings.Join(res.Warnings, ""), "exceeds the limit")
		if text := marshal(t, res.Patch); !strings.Contains(text, c.has) || warned != (c.warns != "") || !strings.Contains(strings.Join(res.Warnings, ""), c.warns) {
			t.Errorf("%v: the warnings are %q and the patch is\n%s\nwant the warning %q, or no warning about the limit if that is empty, and a patch with %s",
				c.annotations, res.Warnings, text, c.warns, c.has)
		}
	}
}

// A pod gets the locked or capped value, whatever it asks for.
func TestThePolicyHoldsForTheContainer(t *testing.T) {
	cfg := testConfig()
	cfg.PullSecrets = []string{"registry"}
	cfg.Namespaces = map[string]map[string]string{"shop": {"image": "shop.example/ullage:v2", "cpu-limit": "1"}}
	cfg.Resources.Limits["cpu"] = resource.MustParse("500m")
	cfg.Policy = wish.Policy{
		Locked: []string{"image", "image-pull-secrets"},
		Max:    map[string]string{"memory-limit": "128Mi", "memory-request": "64Mi", "cpu-request": "0.1", "cpu-limit": "1", "buffer": "64Mi"},
	}
	if bad := cfg.Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	for _, c := range []struct{ name, value, warns, has string }{
		{"image", "evil.example/ullage:v1", "image is fixed in this cluster", `"image":"shop.example/ullage:v2"`},
		{"image", "short", "image is fixed in this cluster", `"image":"shop.example/ullage:v2"`},
		{"image", " ", "", `"image":"shop.example/ullage:v2"`},
		{"image-pull-secrets", "mine", "fixed", `[{"name":"registry"}]`},
		{"buffer", "1Gi", "exceeds this cluster's maximum", `"limits":{"cpu":"1","memory":"128Mi"}`},
		{"memory-limit", "129Mi", "exceeds this cluster's maximum and was lowered to 128Mi", `"limits":{"cpu":"1","memory":"192Mi"}`},
		{"memory-limit", "10000000Pi", "exceeds this cluster's maximum", `"limits":{"cpu":"1","memory":"192Mi"}`},
		{"memory-limit", "0", "exceeds this cluster's maximum", `"limits":{"cpu":"1","memory":"192Mi"}`},
		{"cpu-limit", "0", "exceeds this cluster's maximum", `"limits":{"cpu":"1"`},
		{"cpu-request", "64", "exceeds this cluster's maximum", `"requests":{"cpu":"100m"`},
		{"cpu-request", "50m", "", `"requests":{"cpu":"50m"`},
		{"memory-request", "48Mi", "", `"memory":"48Mi"`},
	} {
		pod := podWith(t, map[string]string{c.name: c.value})
		res := mutate(t, pod, cfg)
		checkInvariants(t, pod, res, cfg)
		warnings, patch := strings.Join(res.Warnings, "\n"), marshal(t, res.Patch)
		if !res.Injected || !strings.Contains(warnings, c.warns) || (c.warns != "") != strings.Contains(warnings, "this cluster") || !strings.Contains(patch, c.has) {
			t.Errorf("%s %q: injected %t, warnings\n%s\nand patch\n%s\nwant it injected, the cluster's warning %q (none if empty) and a patch with %s",
				c.name, c.value, res.Injected, warnings, patch, c.warns, c.has)
		}
	}
}

func TestSettingsOfNamespacesAreValidated(t *testing.T) {
	for _, c := range []struct {
		change func(*wish.Config)
		says   string
	}{
		{func(c *wish.Config) { c.Namespaces = map[string]map[string]string{"shop": {"image": "short"}} }, "namespaces: shop: image"},
		{func(c *wish.Config) { c.Namespaces = map[string]map[string]string{"shop": {"bufer": "1Mi"}} }, `did you mean "buffer"`},
		{func(c *wish.Config) { c.Namespaces = map[string]map[string]string{"shop": {"container": "app"}} }, "is for single pods"},
		{func(c *wish.Config) { c.Namespaces = map[string]map[string]string{"No Name": {}} }, "not the name of a namespace"},
		{func(c *wish.Config) { c.Defaults = map[string]string{"image": "localhost/x:v1"} }, "set by the configuration's image"},
		{func(c *wish.Config) { c.Policy.Max = map[string]string{"cpu-limit": "1"} }, "the default has no limit"},
		{func(c *wish.Config) { c.Policy.Max = map[string]string{"cpu-request": "4m"} }, "the default, 5m, is over 4m"},
		{func(c *wish.Config) { c.Policy.Max = map[string]string{"cpu-request": "much"} }, "must be a setting that is a size, an amount"},
		{func(c *wish.Config) {
			c.Namespaces = map[string]map[string]string{"shop": {"buffer": "1Gi"}}
			c.Policy.Max = map[string]string{"buffer": "256Mi"}
		}, `the default in "shop", 1Gi, is over 256Mi`},
		{func(c *wish.Config) { c.Policy.Locked = []string{"memory-limit"} }, "memory-limit is limited, but buffer, which is added to it, is not"},
		{func(c *wish.Config) { c.Policy.Locked = []string{"memory-limit", "buffer", "image"} }, ""},
	} {
		cfg := testConfig()
		c.change(&cfg)
		bad := cfg.Validate()
		if (c.says == "") != (len(bad) == 0) || c.says != "" && !strings.Contains(bad[0].Error(), c.says) {
			t.Errorf("want the error %q, or none if that is empty; got %v", c.says, bad)
		}
	}
}
