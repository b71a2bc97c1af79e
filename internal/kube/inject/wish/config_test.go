package wish

import (
	"errors"
	"strings"
	"testing"
)

func TestLoadConfigKeepsDefaultsOfWhatIsNotThere(t *testing.T) {
	cfg, err := LoadConfig(strings.NewReader("image: localhost/ullage:v1\nresources: {limits: {memory: 96Mi}}\n"))
	if err != nil || len(cfg.Validate()) > 0 {
		t.Fatalf("error %v, and the configuration has the errors %v; want none", err, cfg.Validate())
	}
	memory, cpu := cfg.Resources.Limits["memory"], cfg.Resources.Requests["cpu"]
	if cfg.OnError != Allow || memory.String() != "96Mi" || cpu.String() != "5m" {
		t.Errorf("the configuration is %+v, want OnError %s, a memory limit of 96Mi and a CPU request of 5m", cfg, Allow)
	}
}

func TestLoadConfigRefuses(t *testing.T) {
	for _, text := range []string{"imagge: x", "image: [1]", "image: a\nimage: b", "resources: {claims: []}", "resources: {limits: {memory: lots}}", "{", strings.Repeat("#", maxConfig+1)} {
		if cfg, err := LoadConfig(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q is loaded as %+v, want an error", text, cfg)
		}
	}
}

func TestEveryBadSettingIsReportedAtOnce(t *testing.T) {
	cfg, err := LoadConfig(strings.NewReader(`
imagePullPolicy: Sometimes
onError: panic
resources: {requests: {memory: 96Mi, cpu: -1}, limits: {gpu: 1}}
defaults: {sync-interval: often, log: gc, container: app, source: /x, bufer: 1Mi, dest: here}
`))
	if err != nil {
		t.Fatal(err)
	}
	bad := cfg.Validate()
	text := errors.Join(bad...).Error()
	for _, want := range []string{
		"name the sidecar's image", "use Always", "use allow or deny", "gpu", "cpu is negative", "96Mi, is over its limit, 64Mi",
		`defaults: invalid value "often" for sync-interval`, "defaults: log is for single pods", "defaults: container is for", "source: only the injector sets it",
		`did you mean "buffer"`, `defaults: dest "here"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if len(bad) != 12 {
		t.Errorf("%d errors, want 12:\n%s", len(bad), text)
	}
}

// A short name means docker.io, where the name is not reserved for us.
func TestAnImageNamesItsRegistry(t *testing.T) {
	for image, ok := range map[string]bool{
		"registry.example/ullage:v1": true, "localhost/ullage": true, "localhost:5000/ullage:v1": true, "docker.io/team/ullage@sha256:0123": true,
		"ullage:v1": false, "ullage/ullage:v1": false, "ullage": false, "localhost/": false, "": false, "registry.example": false, "a b/c": false,
	} {
		cfg := DefaultConfig()
		cfg.Image = image
		if bad := cfg.Validate(); (len(bad) == 0) != ok {
			t.Errorf("the errors of image %q are %v, want it accepted: %t", image, bad, ok)
		}
	}
}

// A default that names a claim would keep pods from starting in every namespace that lacks the claim.
func TestNoClaimIsADefault(t *testing.T) {
	for dest, ok := range map[string]bool{"pvc:logs": false, " pvc:logs": false, "emptyDir": true, "ephemeral:1Gi": true, "": true} {
		cfg := DefaultConfig()
		cfg.Image, cfg.Defaults = "localhost/ullage", map[string]string{"dest": dest}
		if bad := cfg.ValidateForAll(); (len(bad) == 0) != ok {
			t.Errorf("the errors of destination %q are %v, want it accepted: %t", dest, bad, ok)
		}
	}
}
