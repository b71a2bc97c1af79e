package inject_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/manifest"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// FuzzMutate calls Mutate with arbitrary bytes. Mutate must return an error or an
// answer that meets the invariants.
func FuzzMutate(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pod.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		pod, err := yaml.YAMLToJSON(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pod, false)
	}
	for _, text := range []string{``, `null`, `[]`, `{"spec":null}`, `{"spec":{"containers":[null]}}`, `{"Spec":{"containers":[{}]}}`,
		`{"spec":{"containers":[{}]},"Metadata":{}}`, `{"spec":{"containers":[{"name":"a","name":"b","env":[null]}]}}`} {
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, pod []byte, deny bool) {
		cfg := testConfig()
		if deny {
			cfg.OnError = wish.Deny
		}
		res, err := inject.Mutate(pod, "shop", cfg)
		if err != nil {
			return
		}
		if _, err := json.Marshal(res.Patch); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, pod, res, cfg)
	})
}

// FuzzManifest checks that a returned manifest is YAML, and that a second injection does not change it.
func FuzzManifest(f *testing.F) {
	files, err := filepath.Glob("testdata/manifest/*.in.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("{apiVersion: v1, kind: Pod, metadata: {labels: {ullage.dev/inject: \"true\"}}, spec: {containers: [{name: a}]}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, notes, err := manifest.Inject(text, testConfig())
		if err != nil {
			return
		}
		again, second, err := manifest.Inject(out, testConfig())
		if err != nil {
			t.Fatalf("the second time, the error is %v, want none:\n%s", err, out)
		}
		if string(again) != string(out) || len(second) != len(notes) {
			t.Fatalf("the second time, with %d notes:\n%s\nwant %d notes and the same text as before:\n%s", len(second), again, len(notes), out)
		}
	})
}
