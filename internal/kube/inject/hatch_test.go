package inject_test

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Variables for a proxy and a certificate, which have no setting of their own, reach the sidecar from the pod and from the
// chart. Under a policy, a pod may set only the variables that the policy names.
func TestVariablesForTheSidecar(t *testing.T) {
	const proxy = `{"name":"HTTPS_PROXY","value":"http://proxy:3128"}`
	for name, c := range map[string]hatchCase{
		"of the pod":                 {asked: "HTTPS_PROXY=http://proxy:3128\nNO_PROXY=.svc,10.0.0.0/8", has: proxy},
		"of the chart":               {defaults: "HTTPS_PROXY=http://proxy:3128", has: proxy},
		"added to the chart's":       {defaults: "HTTPS_PROXY=http://proxy:3128", asked: "NO_PROXY=.svc", has: proxy},
		"the pod's wins":             {defaults: "HTTPS_PROXY=http://other", asked: "HTTPS_PROXY=http://proxy:3128", has: proxy, hasNot: "other"},
		"a dollar stays":             {asked: "HTTPS_PROXY=http://a:$(B)@c", has: `"http://a:$$(B)@c"`},
		"a policy names it":          {asked: "HTTPS_PROXY=http://proxy:3128", policy: wish.Policy{Env: []string{"HTTPS_PROXY"}}, has: proxy},
		"a policy names another":     {asked: "HTTPS_PROXY=http://proxy:3128", policy: wish.Policy{Env: []string{"NO_PROXY"}}, hasNot: "HTTPS_PROXY\"", warns: "pods may not set HTTPS_PROXY in this cluster"},
		"a policy of other settings": {asked: "HTTPS_PROXY=http://proxy:3128", policy: wish.Policy{Locked: []string{"sink"}}, hasNot: "HTTPS_PROXY\"", warns: "pods may not set HTTPS_PROXY in this cluster"},
		"the chart's under a policy": {defaults: "HTTPS_PROXY=http://proxy:3128", asked: "HTTPS_PROXY=http://evil", policy: wish.Policy{Locked: []string{"env"}}, has: proxy, hasNot: "value\":\"http://evil", warns: "ullage.dev/env is fixed in this cluster"},
		"a setting":                  {asked: "ULLAGE_DEST=/", refused: `"ULLAGE_DEST" is a setting: use its annotation`},
		"another pod's directory":    {asked: "POD_NAME=other", refused: "the injector sets POD_NAME"},
		"a credential":               {asked: "AWS_SECRET_ACCESS_KEY=x", refused: "put it into the Secret that ullage.dev/sink-secret names"},
		"no variable":                {asked: "HTTPS_PROXY", refused: "write it like HTTPS_PROXY=http://proxy:3128"},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, "env") })
	}
}

// The platform allows patches of the sidecar's container field by field. A patch never changes
// the fields that make the container the sidecar, or that the policy bounds as settings.
func TestPatchOfTheSidecarsContainer(t *testing.T) {
	const stop, stopped = `{"lifecycle":{"preStop":{"sleep":{"seconds":5}}}}`, `"lifecycle":{"preStop":{"sleep":{"seconds":5}}}`
	lifecycle := wish.Policy{ContainerPatch: []string{"lifecycle"}}
	for name, c := range map[string]hatchCase{
		"without a policy":          {asked: stop, hasNot: "lifecycle\":{", warns: `pods may not change "lifecycle" of the sidecar in this cluster`},
		"of the chart":              {defaults: stop, has: stopped},
		"a policy allows the field": {asked: stop, policy: lifecycle, has: stopped},
		"a policy allows another":   {asked: `{"securityContext":{"privileged":true}}`, policy: lifecycle, hasNot: `"privileged":true`, warns: `pods may not change "securityContext"`},
		"one of two fields":         {asked: `{"command":["sh"],` + stop[1:], policy: lifecycle, has: stopped, hasNot: `"command":["sh"]`, warns: `"command"`},
		"objects are merged": {asked: `{"securityContext":{"seccompProfile":null}}`, policy: wish.Policy{ContainerPatch: []string{"securityContext"}},
			has: `"readOnlyRootFilesystem":true`, hasNot: "RuntimeDefault"},
		"mounts are merged by path": {asked: `{"volumeMounts":[{"name":"ca","mountPath":"/ca"},{"mountPath":"/etc/ullage","mountPropagation":"None"}]}`,
			policy: wish.Policy{ContainerPatch: []string{"volumeMounts"}}, has: `{"mountPath":"/etc/ullage","mountPropagation":"None","name":"ullage-podinfo","readOnly":true}`},
		"the image":       {asked: `{"image":"docker.io/evil"}`, refused: `"image" is not a field of a container that a patch may change`},
		"variables":       {asked: `{"env":[{"name":"ULLAGE_DEST","value":"/"}]}`, refused: `"env" is not a field`},
		"an unknown part": {asked: `{"lifecycle":{"preStart":{}}}`, policy: lifecycle, refused: "it does not fit a container"},
		"no JSON":         {asked: `lifecycle`, refused: "it is not a JSON object"},
		"locked":          {asked: stop, policy: wish.Policy{Locked: []string{"container-patch"}, ContainerPatch: []string{"lifecycle"}}, hasNot: "lifecycle\":{", warns: "ullage.dev/container-patch is fixed in this cluster"},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, "container-patch") })
	}
}

// hatchCase is a value of env or container-patch, and the expected result. Empty texts are not checked.
type hatchCase struct {
	defaults, asked string // the chart's value and the pod's
	policy          wish.Policy
	has, hasNot     string // texts that the pod's spec must and must not contain
	warns, refused  string // in the warnings, for an injected pod and for a refused pod
}

// check injects a pod that asks for the value. Only the wanted warning may mention the setting.
func (c hatchCase) check(t *testing.T, setting string) {
	t.Helper()
	cfg := testConfig()
	cfg.Policy = c.policy
	if c.defaults != "" {
		cfg.Defaults = map[string]string{setting: c.defaults}
	}
	if bad := cfg.Validate(); len(bad) > 0 {
		t.Fatalf("the errors are %v, want none", bad)
	}
	annotations := map[string]string{}
	if c.asked != "" {
		annotations[setting] = c.asked
	}
	pod := podWith(t, annotations)
	res := mutate(t, pod, cfg)
	checkInvariants(t, pod, res, cfg)
	said := strings.Join(res.Warnings, "\n")
	if c.refused != "" {
		if res.Injected || !strings.Contains(said, c.refused) {
			t.Fatalf("injected %v with the warnings\n%s\nwant a refusal: %s", res.Injected, said, c.refused)
		}
		return
	}
	if !res.Injected || c.warns != "" != strings.Contains(said, setting) || !strings.Contains(said, c.warns) {
		t.Errorf("injected %v, warnings\n%s\nwant: %s", res.Injected, said, c.warns)
	}
	spec := applyJSON(t, pod, res.Patch).(map[string]any)["spec"]
	text := marshal(t, spec)
	if !strings.Contains(text, c.has) || c.hasNot != "" && strings.Contains(text, c.hasNot) {
		t.Errorf("want %s and not %s in\n%s", c.has, c.hasNot, text)
	}
}

func TestAPolicyNamesVariablesAndFields(t *testing.T) {
	for says, policy := range map[string]wish.Policy{
		`"ULLAGE_SINK" is a setting`:                 {Env: []string{"ULLAGE_SINK"}},
		`"no-name=" is not a variable`:               {Env: []string{"no-name"}},
		`"image" is not a field of a container`:      {ContainerPatch: []string{"image"}},
		`"lifecylce" is not a field of a container`:  {ContainerPatch: []string{"lifecylce"}},
		`"ullage.dev/env" is not a field of a conta`: {ContainerPatch: []string{"ullage.dev/env"}},
	} {
		cfg := testConfig()
		cfg.Policy = policy
		if bad := cfg.Validate(); len(bad) != 1 || !strings.Contains(bad[0].Error(), says) {
			t.Errorf("%+v: %v, want: %s", policy, bad, says)
		}
	}
}
