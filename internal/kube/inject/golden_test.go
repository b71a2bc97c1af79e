package inject_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/patch"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

var update = flag.Bool("update", false, "rewrite testdata and deploy/examples instead of comparing with them")

// testConfig returns the configuration for tests that do not need one of their own.
func testConfig() wish.Config {
	cfg := wish.DefaultConfig()
	cfg.Image = "localhost/ullage:v1"
	return cfg
}

// expected is the content of a NAME.patch.json.
type expected struct {
	Injected bool       `json:"injected"`
	Refused  ask.Reason `json:"refused,omitempty"`
	Denied   string     `json:"denied,omitempty"`
	Warnings []string   `json:"warnings"`
	Patch    []patch.Op `json:"patch"`
}

// TestGolden mutates testdata/NAME.pod.yaml and compares the result with testdata/NAME.patch.json. If
// testdata/NAME.config.yaml exists, it is the configuration. TestGolden also checks the invariants that hold for every
// pod.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pod.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pods in testdata: %v", err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".pod.yaml")
		t.Run(filepath.Base(base), func(t *testing.T) {
			cfg := testConfig()
			if f, err := os.Open(base + ".config.yaml"); err == nil {
				defer f.Close()
				if cfg, err = wish.LoadConfig(f); err != nil {
					t.Fatal(err)
				}
			}
			if bad := cfg.Validate(); len(bad) > 0 {
				t.Fatalf("the errors are %v, want none", bad)
			}
			pod := readYAML(t, file)
			res := mutate(t, pod, cfg)
			checkInvariants(t, pod, res, cfg)
			for _, text := range res.Warnings {
				if strings.Contains(strings.ReplaceAll(text, build.Docs, ""), "docs/") {
					t.Errorf("the warning names a file that is in no container, instead of the file's URL: %s", text)
				}
			}

			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			if err := e.Encode(expected{res.Injected, res.Refused, res.Denied, res.Warnings, res.Patch}); err != nil {
				t.Fatal(err)
			}
			compareFile(t, base+".patch.json", b.Bytes())
		})
	}
}

// compareFile compares got with the content of the file. With -update, it writes got to the file instead.
func compareFile(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; if the change is right, write it again with go test ./internal/kube/inject -update\n%s", file, diff)
	}
}

func readYAML(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func mutate(t *testing.T, pod []byte, cfg wish.Config) inject.Result {
	t.Helper()
	res, err := inject.Mutate(pod, "shop", cfg)
	if err != nil {
		t.Fatalf("the error of Mutate is %v, want none\n%s", err, pod)
	}
	return res
}

// checkInvariants checks what must hold for every answer.
func checkInvariants(t *testing.T, pod []byte, res inject.Result, cfg wish.Config) {
	t.Helper()
	if res.Injected && (len(res.Patch) == 0 || res.Refused != "" || res.Denied != "") || res.Denied != "" && (len(res.Patch) > 0 || res.Refused == "") {
		t.Fatalf("injected %v, %d operations, refused %q, denied %q; want operations and no reason, or no operations and a reason",
			res.Injected, len(res.Patch), res.Refused, res.Denied)
	}
	if res.Refused != "" && !slices.Contains(ask.Reasons(), res.Refused) {
		t.Errorf("refused for the reason %q, which is not in ask.Reasons", res.Refused)
	}
	for _, text := range append([]string{res.Denied}, res.Warnings...) {
		if len(text) > 1000+len("…") || strings.ContainsAny(text, "\n\r\x1b") {
			t.Errorf("the text is too long or has control characters: %q", text)
		}
	}
	if !res.Injected {
		checkRefused(t, pod, res, cfg)
		return
	}
	for _, op := range res.Patch {
		changes := strings.Contains(op.Path, "/env/") || strings.HasSuffix(op.Path, "/memory")
		if op.Op != "add" && !changes {
			t.Errorf("the operation is %s of %s, want add, except for variables and memory", op.Op, op.Path)
		}
	}
	before, after := decode(t, pod), applyJSON(t, pod, res.Patch)
	checkKept(t, "", before, after)

	injected, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	if again := mutate(t, injected, cfg); len(again.Patch)+len(again.Warnings) > 0 || again.Denied != "" {
		t.Errorf(`a second pass returns %+v, want no patch, no warnings and no denial`, again)
	}
	var typed corev1.Pod
	if strict, err := kjson.UnmarshalStrict(injected, &typed); err != nil {
		t.Errorf("the injected pod cannot be decoded: %v, %v", err, strict)
	}
	if typed.Labels["ullage.dev/injected"] != "true" {
		t.Errorf("an injected pod has the labels %v, want ullage.dev/injected: \"true\"", typed.Labels)
	}
	checkSidecars(t, &typed)
}

// checkRefused checks that a pod that is not injected gets at most two annotations, and that a second pass changes nothing.
func checkRefused(t *testing.T, pod []byte, res inject.Result, cfg wish.Config) {
	t.Helper()
	if len(res.Patch) == 0 {
		return
	}
	if res.Refused == "" {
		t.Fatalf("got a patch without a reason, want a reason for the refusal: %+v", res)
	}
	for _, op := range res.Patch {
		value, _ := op.Value.(map[string]any)
		switch {
		case op.Op != "add":
		case op.Path == "/metadata" && len(value) == 0, op.Path == "/metadata/annotations/ullage.dev~1injected", op.Path == "/metadata/annotations/ullage.dev~1warnings":
			continue
		case op.Path == "/metadata/annotations" && len(value) == 1 && value[ask.InjectedAnnotation] != nil:
			continue
		}
		t.Errorf("got the operation %+v, want none beyond the two annotations", op)
	}
	after := applyJSON(t, pod, res.Patch)
	checkKept(t, "", decode(t, pod), after)
	annotated, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	if again := mutate(t, annotated, cfg); len(again.Patch) > 0 || again.Refused != res.Refused || !slices.Equal(again.Warnings, res.Warnings) {
		t.Errorf("a second pass returns %+v, want no patch, refused %q and the warnings %q", again, res.Refused, res.Warnings)
	}
}

// checkKept checks that everything in before is also in after. Objects may have gained members, lists may have gained
// elements at their end, a variable's value may have gained our options at its end, and an amount of memory may have
// grown.
func checkKept(t *testing.T, path string, before, after any) {
	t.Helper()
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			t.Fatalf("%s is gone", path)
		}
		old, isEnv := b["value"].(string)
		if now, ok := a["value"].(string); isEnv && ok && strings.HasPrefix(now, strings.TrimSpace(old+" -Xlog:")) {
			return
		}
		for key := range b {
			if old, ok := b[key].(string); key == "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes" && ok && strings.HasPrefix(a[key].(string), old) || key == ask.InjectedAnnotation || key == ask.WarningsAnnotation {
				continue
			}
			checkKept(t, path+"/"+key, b[key], a[key])
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) < len(b) {
			t.Fatalf("%s has lost elements", path)
		}
		for i := range b {
			checkKept(t, fmt.Sprintf("%s/%d", path, i), b[i], a[i])
		}
	case nil: // may have gained a value
	default:
		if strings.HasSuffix(path, "/resources/limits/memory") || strings.HasSuffix(path, "/resources/requests/memory") {
			was, is := resource.MustParse(fmt.Sprint(before)), resource.MustParse(fmt.Sprint(after))
			if is.Cmp(was) < 0 {
				t.Errorf("%s was %v and is %v, want no less", path, before, after)
			}
			return // ullage.dev/raise-memory-limit
		}
		if !cmp.Equal(before, after) {
			t.Errorf("%s was %v and is %v, want it unchanged", path, before, after)
		}
	}
}

// checkSidecars checks what an API server or the restricted Pod Security
// Standard would refuse.
func checkSidecars(t *testing.T, p *corev1.Pod) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range p.Spec.Volumes {
		if strings.HasPrefix(v.Name, "ullage-") && volumes[v.Name] {
			t.Errorf("there are two volumes called %s", v.Name)
		}
		volumes[v.Name] = true
	}
	for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
		at := map[string]bool{}
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(m.Name, "ullage-") && at[m.MountPath] {
				t.Errorf("container %s has two mounts at %s", c.Name, m.MountPath)
			}
			at[m.MountPath] = true
			if strings.HasPrefix(m.Name, "ullage-") && !volumes[m.Name] {
				t.Errorf("container %s mounts the volume %s, which the pod does not have", c.Name, m.Name)
			}
		}
		if c.Image != "localhost/ullage:v1" {
			continue
		}
		s := c.SecurityContext
		root := s.RunAsUser != nil && *s.RunAsUser == 0
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways ||
			*s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || *s.RunAsNonRoot == root || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("the sidecar %s has the restartPolicy %v and %+v; want Always, no escalation, a read-only root, runAsNonRoot unless it is root, and ALL dropped",
				c.Name, c.RestartPolicy, s)
		}
		for name, request := range c.Resources.Requests {
			if limit, ok := c.Resources.Limits[name]; ok && request.Cmp(limit) > 0 {
				t.Errorf("sidecar %s requests more %s than its limit", c.Name, name)
			}
		}
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// applyJSON applies a patch as RFC 6902 says and returns the result decoded.
func applyJSON(t *testing.T, text []byte, ops []patch.Op) any {
	t.Helper()
	root := decode(t, text)
	for _, op := range ops {
		encoded, err := json.Marshal(op.Value)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Split(op.Path, "/")
		if names[0] != "" {
			t.Fatalf("the path %q does not begin with a slash", op.Path)
		}
		root = applyAt(t, root, names[1:], op, decode(t, encoded))
	}
	return root
}

// applyAt returns v after it has applied the operation to the place below v that names leads to.
func applyAt(t *testing.T, v any, names []string, op patch.Op, value any) any {
	t.Helper()
	name := strings.ReplaceAll(strings.ReplaceAll(names[0], "~1", "/"), "~0", "~")
	last := len(names) == 1
	switch v := v.(type) {
	case map[string]any:
		old, there := v[name]
		switch {
		case !last && there:
			v[name] = applyAt(t, old, names[1:], op, value)
			return v
		case last && op.Op == "test" && there && cmp.Equal(old, value):
			return v
		case last && (op.Op == "add" || op.Op == "replace" && there):
			v[name] = value
			return v
		}
	case []any:
		if last && name == "-" && op.Op == "add" {
			return append(v, value)
		}
		for i := range v {
			if strconv.Itoa(i) == name && !last {
				v[i] = applyAt(t, v[i], names[1:], op, value)
				return v
			}
		}
	}
	t.Fatalf("the operation %s of %s does not apply, want one that does", op.Op, op.Path)
	return nil
}
