package inject

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
	"sigs.k8s.io/yaml"
)

// FuzzMutate gives Mutate any bytes: an error, or an answer for which holds what
// must hold for all.
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
			cfg.OnError = Deny
		}
		res, err := Mutate(pod, "shop", cfg)
		if err != nil {
			return
		}
		if _, err := json.Marshal(res.Patch); err != nil {
			t.Fatal(err)
		}
		checkInvariants(t, pod, res, cfg)
	})
}

// FuzzManifest: what is returned is YAML again, and stays as it is.
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
		out, notes, err := Manifest(text, testConfig())
		if err != nil {
			return
		}
		again, second, err := Manifest(out, testConfig())
		if err != nil {
			t.Fatalf("the second time: %v\n%s", err, out)
		}
		if string(again) != string(out) || len(second) != len(notes) {
			t.Fatalf("the second time:\n%s\nbefore:\n%s", again, out)
		}
	})
}

// FuzzXlog: a JVM is told nothing but a selection.
func FuzzXlog(f *testing.F) {
	for _, text := range []string{defaultXlog, "all=off,gc=off,gc=trace", "gc+heap*=debug:file=x", "a b", "gc=info=off"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := parseXlog(text)
		if err != nil {
			return
		}
		if strings.ContainsAny(got, " \t\n:\"'\\$") || got == "" {
			t.Fatalf("%q became %q", text, got)
		}
		if _, err := ask.ParseSelection(strings.ReplaceAll(got, "=off", "=info")); err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if again, _, err := parseXlog(got); err != nil || again != got {
			t.Fatalf("%q became %q, then %q, %v", text, got, again, err)
		}
	})
}
