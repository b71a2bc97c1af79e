package inject_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/manifest"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// TestExamples keeps the renderings of deploy/examples up to date.
func TestExamples(t *testing.T) {
	const dir = "../../../deploy/examples/"
	for _, name := range []string{"demo", "web", "job", "statefulset"} {
		text, err := os.ReadFile(dir + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		out, notes, err := manifest.Inject(text, testConfig())
		if err != nil || len(notes) != 1 || !notes[0].Injected {
			t.Fatalf("%s: the notes are %+v, error %v; want 1 note with Injected true, and no error", name, notes, err)
		}
		compareFile(t, dir+"injected/"+name+".yaml", out)
		checkTwice(t, out)
		for _, found := range regexp.MustCompile(`image: (\S+)`).FindAllStringSubmatch(string(out), -1) {
			if !strings.Contains(found[1], ":5000/") && !strings.HasPrefix(found[1], "localhost/") && !strings.Contains(strings.Split(found[1], "/")[0], ".") { // CRI-O refuses an image without a registry
				t.Errorf("%s: the image %s names no registry", name, found[1])
			}
		}
	}
}

// checkTwice checks that a second injection does not change an injected manifest.
func checkTwice(t *testing.T, text []byte) {
	t.Helper()
	again, _, err := manifest.Inject(text, testConfig())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(again)); diff != "" {
		t.Errorf("the second time, the text has changed (-before +after):\n%s", diff)
	}
}

// TestManifest injects testdata/manifest/*.yaml.
func TestManifest(t *testing.T) {
	files, err := filepath.Glob("testdata/manifest/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := manifest.Inject(text, testConfig())
			if err != nil {
				t.Fatal(err)
			}
			compareFile(t, strings.TrimSuffix(file, ".in.yaml")+".out.yaml", out)
			checkTwice(t, out)
		})
	}
}

const labelled = `{metadata: {labels: {ullage.dev/inject: "true"}}, spec: {containers: [{name: a}]}}`

// TestKinds covers every kind with pods, and some kinds without.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind, rest string
		injected, noted        bool
	}{
		{"v1", "Pod", labelled[1 : len(labelled)-1], true, true},
		{"v1", "PodTemplate", "template: " + labelled, true, true},
		{"v1", "ReplicationController", "spec: {template: " + labelled + "}", true, true},
		{"apps/v1", "Deployment", "spec: {template: " + labelled + "}", true, true},
		{"apps/v1", "StatefulSet", "spec: {template: " + labelled + "}", true, true},
		{"apps/v1", "DaemonSet", "spec: {template: " + labelled + "}", true, true},
		{"apps/v1", "ReplicaSet", "spec: {template: " + labelled + "}", true, true},
		{"batch/v1", "Job", "spec: {template: " + labelled + "}", true, true},
		{"batch/v1", "CronJob", "spec: {jobTemplate: {spec: {template: " + labelled + "}}}", true, true},
		{"argoproj.io/v1alpha1", "Rollout", "spec: {template: " + labelled + "}", true, true},
		{"argoproj.io/v1alpha1", "Rollout", "spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: a}}", false, true},
		{"apps/v1", "Deployment", "spec: {template: {spec: {containers: [{name: a}]}}}", false, true},
		{"apps/v1", "Deployment", "spec: {replicas: 1}", false, true},
		{"apps/v1", "Deployment", "spec: [1]", false, true},
		{"example.com/v1", "Deployment", "spec: {template: {spec: {containers: [{name: a}]}}}", false, false},
		{"example.com/v1", "Deployment", "metadata: {labels: {ullage.dev/inject: \"true\"}}", false, false},
		{"policy/v1", "PodDisruptionBudget", "spec: {selector: {matchLabels: {ullage.dev/inject: \"true\"}}}", false, false},
	} {
		text := "{apiVersion: " + c.apiVersion + ", kind: " + c.kind + ", " + c.rest + "}\n"
		out, notes, err := manifest.Inject([]byte(text), testConfig())
		if err != nil {
			t.Errorf("%s %s: error %v, want none", c.apiVersion, c.kind, err)
			continue
		}
		injected := len(notes) == 1 && notes[0].Injected
		if injected != c.injected || (len(notes) == 1) != c.noted || injected == (text == string(out)) {
			t.Errorf("%s %s: the notes are %+v, want a note: %t, injected: %t, and a change only if injected; the output is\n%s",
				c.apiVersion, c.kind, notes, c.noted, c.injected, out)
		}
	}
}

// TestManifestRefuses checks that a document is left unchanged if a change would affect more than the pod, and that
// nothing is skipped silently.
func TestManifestRefuses(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":            {"a: [", "document 1: read it"},
		"the second is bad":  {"a: b\n---\na: [\n", "document 2: read it"},
		"two documents":      {"a: b\n...\n{}\n", "write --- between"},
		"anchored template":  {head + "spec: {template: &t " + labelled + "}\nother: *t\n", "anchor"},
		"anchored spec":      {head + "spec: &s {template: " + labelled + "}\nother: *s\n", "anchor"},
		"anchored container": {head + "spec:\n  template:\n    metadata: {labels: {ullage.dev/inject: \"true\"}}\n    spec:\n      containers:\n      - &c {name: a}\n", "anchor"},
		"aliased labels":     {head + "x: &l {ullage.dev/inject: \"true\"}\nspec:\n  template:\n    metadata: {labels: {ullage.dev/inject: \"true\"}}\n    spec: {nodeSelector: *l, containers: [{name: a}]}\n", "aliases"},
		"merge key":          {head + "spec:\n  template:\n    metadata: {labels: {ullage.dev/inject: \"true\"}}\n    spec:\n      <<: {containers: [{name: a}]}\n", "merge key"},
		"labels by an alias": {head + "spec:\n  selector: {matchLabels: &l {ullage.dev/inject: \"true\"}}\n  template:\n    metadata:\n      labels: *l\n    spec: {containers: [{name: a}]}\n", "line 8 has a YAML anchor or an alias"},
		"labels by a merge":  {head + "spec:\n  selector: {matchLabels: &l {ullage.dev/inject: \"true\"}}\n  template:\n    metadata:\n      labels: {<<: [*l], tier: x}\n    spec: {containers: [{name: a}]}\n", "line 8 has a YAML anchor or an alias"},
		"template, an alias": {"x: &p " + labelled + "\n" + head + "spec: {template: *p}\n", "line 5 has a YAML anchor or an alias"},
		"label by an alias":  {head + "spec:\n  replicas: &l \"true\"\n  template:\n    metadata: {labels: {ullage.dev/inject: *l}}\n    spec: {containers: [{name: a}]}\n", "line 7 has a YAML anchor or an alias"},
		"bad annotation":     {head + "spec:\n  template:\n    metadata: {labels: {ullage.dev/inject: \"true\"}, annotations: {ullage.dev/buffer: big}}\n    spec: {containers: [{name: a}]}\n", "Deployment shop/web (line 1): ullage: ullage.dev/buffer"},
		"no pod":             {head + "spec:\n  template:\n    metadata: {labels: {ullage.dev/inject: \"true\"}}\n    spec: {containers: 1}\n", "read the pod"},
		"a kind with a template, unknown": {"apiVersion: example.com/v1\nkind: Fleet\nmetadata: {name: web, namespace: shop}\nspec: {template: " + labelled + "}\n",
			"Fleet shop/web (line 1): spec.template.metadata.labels asks for a sidecar, and this program does not know where objects of its kind have their pods: install"},
		"a label in a list":                     {"{apiVersion: example.com/v1, kind: Search, spec: {nodeSets: [{podTemplate: " + labelled + "}]}}", "spec.nodeSets.podTemplate.metadata.labels asks"},
		"labels of a role":                      {"{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, spec: {driver: {labels: {ullage.dev/inject: \"true\"}}}}", "spec.driver.labels asks"},
		"Knative":                               {"{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: web}, spec: {template: " + labelled + "}}", "Service web (line 1): spec.template.metadata.labels asks for a sidecar, and Knative accepts no native sidecar in a template: install"},
		"a typed list (DeploymentList)":         {"{apiVersion: apps/v1, kind: DeploymentList, items: [{spec: {template: " + labelled + "}}]}", "items.spec.template.metadata.labels asks"},
		"on the Deployment":                     {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {ullage.dev/inject: \"true\"}}\nspec: {template: {spec: {containers: [{name: a}]}}}\n", "Deployment web (line 1): the label ullage.dev/inject is on the object, not on the template of its pods: set the label"},
		"as an annotation":                      {head + "spec: {template: {metadata: {annotations: {ullage.dev/inject: \"true\"}}, spec: {containers: [{name: a}]}}}\n", "is an annotation of the pod; only a label"},
		"another value":                         {head + "spec: {template: {metadata: {labels: {ullage.dev/inject: \"True\"}}, spec: {containers: [{name: a}]}}}\n", "is \"True\", which has no effect: write \"true\""},
		"all documents that cannot be injected": {"{apiVersion: example.com/v1, kind: A, spec: {template: " + labelled + "}}\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: example.com/v1, kind: B, spec: {template: " + labelled + "}}]}", "asks for a sidecar, and this program does not know where objects of its kind have their pods: install the injector's webhook, which injects pods of all kinds of objects; document 2: B "},
		"in a list":                             {"{apiVersion: v1, kind: List, items: [{}, {apiVersion: v1, kind: Pod, metadata: {labels: {ullage.dev/inject: \"true\"}}, spec: {containers: 1}}]}\n", "item 2"},
	} {
		if out, notes, err := manifest.Inject([]byte(c.text), testConfig()); err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
			t.Errorf("%s: %v, want %q\n%s%+v", name, err, c.want, out, notes)
		}
	}
}

// TestUntouchedDocumentsAreReturnedByteForByte has documents of many styles in
// which nothing is injected.
func TestUntouchedDocumentsAreReturnedByteForByte(t *testing.T) {
	for _, text := range []string{
		"", "\n", "# only a comment\n", "---\n", "--- # x\n---\n",
		"a:   b   # comment\n\n\nlist:\n      - x\n---\n\nkind:    'ConfigMap'\napiVersion: v1\n",
		"apiVersion: v1\r\nkind: Secret\r\n---\r\nkind: X\r\n",
		"%YAML 1.1\n---\na: b\n",
		"apiVersion: v1\nkind: ConfigMap\ndata:\n  x: |\n    ---\n    kind: Pod\n",
		"{\"kind\": \"Pod\"}",
		"apiVersion: v1\nkind: Pod\nmetadata: &m\n  labels: {<<: *m}\n",
	} {
		if out, _, err := manifest.Inject([]byte(text), testConfig()); err != nil || string(out) != text {
			t.Errorf("%q became %q, error %v; want no change and no error", text, out, err)
		}
	}
}

// TestJSONStaysJSON injects a List in JSON, such as kubectl get -o json prints.
func TestJSONStaysJSON(t *testing.T) {
	text := `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels":
		{"ullage.dev/inject": "true"}}, "spec": {"containers": [{"name": "a", "env": []}], "volumes": []}}]}`
	out, notes, err := manifest.Inject([]byte(text), testConfig())
	if err != nil || len(notes) != 1 || !notes[0].Injected || !json.Valid(out) {
		t.Errorf("the notes are %+v, error %v; want one that says injected, no error, and JSON; the output is\n%s", notes, err, out)
	}
}

// TestManifestDoesWhatThePatchDoes checks that a YAML file is changed as an API
// server would change the pod by the patch.
func TestManifestDoesWhatThePatchDoes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		pod := decode(t, readYAML(t, file)).(map[string]any)
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
		meta, ok := pod["metadata"].(map[string]any)
		if !ok {
			meta = map[string]any{}
			pod["metadata"] = meta
		}
		meta["labels"] = map[string]any{ask.InjectLabel: "true"}
		text, err := yaml.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		cfg := testConfig()
		cfg.OnError = wish.Deny
		cfg.Defaults = map[string]string{"yield-after": "1m"} // no injector repairs a pod from a file
		res := mutate(t, asJSON, cfg)
		out, notes, err := manifest.Inject(text, cfg)
		if res.Denied != "" {
			if err == nil || !strings.Contains(err.Error(), res.Denied) {
				t.Errorf("%s: %v, want %s", file, err, res.Denied)
			}
			continue
		}
		if err != nil || len(notes) != 1 || notes[0].Injected != res.Injected || !cmp.Equal(notes[0].Warnings, res.Warnings) {
			t.Errorf("%s: %+v, %v, want %+v", file, notes, err, res)
			continue
		}
		got, err := yaml.YAMLToJSON(out)
		if err != nil {
			t.Fatal(err)
		}
		if !res.Injected { // a refusal is not written into the manifest: the command prints it
			res.Patch = nil
		}
		if diff := cmp.Diff(applyJSON(t, asJSON, res.Patch), decode(t, got)); diff != "" {
			t.Errorf("%s: the webhook's pod (-) and the manifest's pod (+) differ:\n%s", file, diff)
		}
	}
}

// A StatefulSet replaces a volume with its claim of the same name, so the log would be on a disk.
func TestAClaimOfOurNameIsRefused(t *testing.T) {
	text := `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  template:
    metadata: {labels: {ullage.dev/inject: "true"}}
    spec: {containers: [{name: db, image: "db:v1"}]}
  volumeClaimTemplates: [{metadata: {name: NAME}}]
`
	for name, want := range map[string]string{"data": "", "ullage-logs": "volume called ullage-logs", "ullage-dest": "volume called ullage-dest"} {
		_, notes, err := manifest.Inject([]byte(strings.Replace(text, "NAME", name, 1)), testConfig())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the notes are %+v, error %v; want %q in the error, or none if that is empty", name, notes, err, want)
		}
	}
}

// An API server adds the pull secrets of the service account only to a pod that names no pull secrets. A webhook sees
// the added secrets. A manifest does not have them.
func TestHiddenPullSecretsAreReported(t *testing.T) {
	cfg := testConfig()
	cfg.PullSecrets = []string{"registry"}
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {ullage.dev/inject: \"true\"}}, spec: {OWN containers: [{name: a, image: \"a:v1\"}]}}"
	for own, warned := range map[string]bool{"": true, "imagePullSecrets: [{name: own}],": false} {
		_, notes, err := manifest.Inject([]byte(strings.Replace(pod, "OWN", own, 1)), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(notes[0].Warnings, "\n"), "those of its service account"); got != warned {
			t.Errorf("with %q, the warnings are %q, want one about the secrets of the service account: %t", own, notes[0].Warnings, warned)
		}
	}
}

// If another webhook drops the restartPolicy from a pod of an injected manifest, the injector does not add it again. So
// the manifest sets yield-after, by default to 1m.
func TestASidecarOfAFileYields(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {ullage.dev/inject: \"true\"}}, spec: {containers: [{name: a, image: \"a:v1\"}]}}"
	for set, want := range map[string]string{"": "1m", "5m": "5m", "0": "0"} {
		cfg := testConfig()
		if set != "" {
			cfg.Defaults = map[string]string{"yield-after": set}
		}
		out, _, err := manifest.Inject([]byte(pod), cfg)
		if err != nil || !strings.Contains(string(out), `{"name": "ULLAGE_YIELD_AFTER", "value": "`+want+`"}`) {
			t.Errorf("with %q: error %v, want none, and ULLAGE_YIELD_AFTER %q in the output\n%s", set, err, want, out)
		}
	}
}
