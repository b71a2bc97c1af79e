package chart

import (
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
	"github.com/ullage/ullage/internal/sidecar"
)

// someValue has values for settings for which the injector does not accept the default of the flag.
var someValue = map[string]string{"dest": "emptyDir", "xlog": "gc*=info", "buffer": "64Mi", "container": "app", "annotations": "x", "options-variable": "off", "scrape-annotations": "off", "perfdata": "leave",
	"image": "localhost/image", "image-pull-secrets": "one", "sink-secret": "one", "pod-namespace": "x", "pod-name": "x", "container-name": "x"}

// settingsOf returns the names of the settings that the injector accepts where set puts them in a configuration.
func settingsOf(set func(c *wish.Config, settings map[string]string)) []string {
	values := map[string]string{}
	cfg := sidecar.DefaultConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.Flags(fs)
	fs.VisitAll(func(f *flag.Flag) { values[f.Name] = f.DefValue })
	maps.Copy(values, someValue)
	for _, name := range ask.AtAdmission() { // settings that are not in someValue are quantities
		values[name] = cmp.Or(values[name], "64Mi")
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c := wish.DefaultConfig()
		c.Image = "localhost/image"
		set(&c, map[string]string{name: values[name]})
		if len(c.Validate()) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// TestTheSchemaKnowsEverySetting compares the names that the schema accepts in sidecar.defaults and in
// sidecar.namespaces with the names that the injector accepts. -update writes these names into the schema.
func TestTheSchemaKnowsEverySetting(t *testing.T) {
	path := filepath.Join(chartDir, "values.schema.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ofAll := settingsOf(func(c *wish.Config, settings map[string]string) { c.Defaults = settings })
	ofNamespaces := settingsOf(func(c *wish.Config, settings map[string]string) {
		c.Namespaces = map[string]map[string]string{"shop": settings}
	})
	schema := string(text)
	for name, list := range map[string][]string{
		"setting":          ofAll,
		"containerSetting": slices.DeleteFunc(ofNamespaces, func(name string) bool { return slices.Contains(ofAll, name) }),
	} {
		section := regexp.MustCompile(`(?s)("` + name + `": \{\n      "enum": \[\n).*?(      \]\n)`)
		if !section.MatchString(schema) {
			t.Fatalf("the schema has no list %q", name)
		}
		schema = section.ReplaceAllString(schema, "${1}        \""+strings.Join(list, "\",\n        \"")+"\"\n${2}")
	}
	checkFile(t, path, schema)
}

// config returns the configuration that the injector reads from its file.
func config(t *testing.T, objects []object) wish.Config {
	t.Helper()
	cfg, err := wish.LoadConfig(strings.NewReader(injectorsConfig(t, objects)))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range cfg.ValidateForAll() {
		t.Error(err)
	}
	return cfg
}

func TestTheInjectorsConfiguration(t *testing.T) {
	byDefault := wish.DefaultConfig()
	byDefault.Image = registry + "/ullage:0.1.0"
	with := func(change func(c *wish.Config)) wish.Config {
		c := byDefault
		change(&c)
		return c
	}
	for _, c := range []struct {
		values string
		want   wish.Config
	}{
		{"{}", byDefault},
		{"sidecar: {resources: null}", byDefault},
		{"{onError: deny, sidecar: {image: {repository: r:5000/u, tag: v1, pullPolicy: Never}}}", with(func(c *wish.Config) {
			c.Image, c.ImagePullPolicy, c.OnError = "r:5000/u:v1", "Never", wish.Deny
		})},
		{`{sidecar: {namespaces: {shop: {image: "registry.example/shop/ullage:v1", memory-limit: 96Mi, dest: "pvc:logs"}, "123": {perfdata: leave}}}}`, with(func(c *wish.Config) {
			c.Namespaces = map[string]map[string]string{"shop": {"image": "registry.example/shop/ullage:v1", "memory-limit": "96Mi", "dest": "pvc:logs"}, "123": {"perfdata": "leave"}}
		})},
		{`{sidecar: {defaults: {retain-age: "0", xlog: "gc*=info", match: "*", dest: "ephemeral:1Gi"}}}`, with(func(c *wish.Config) {
			c.Defaults = map[string]string{"retain-age": "0", "xlog": "gc*=info", "match": "*", "dest": "ephemeral:1Gi"}
		})},
		{"{sidecar: {resources: {guaranteed: {cpu: 200m}}}, policy: {env: [NO_PROXY], containerPatch: [lifecycle]}}", with(func(c *wish.Config) {
			c.Policy = wish.Policy{Env: []string{"NO_PROXY"}, ContainerPatch: []string{"lifecycle"}}
			c.Resources.Guaranteed = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
		})},
	} {
		text, err := template(t, c.values)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := gocmp.Diff(c.want, config(t, decode(t, text))); diff != "" {
			t.Errorf("values %s (-want +got):\n%s", c.values, diff)
		}
	}
}

// TestThePodOfHelmTestIsInjected lets the injector decide about the pod, with the configuration of each rendering and
// with defaults that don't suit the pod.
func TestThePodOfHelmTestIsInjected(t *testing.T) {
	each(t, func(t *testing.T, r rendering, objects []object) { checkTestPod(t, objects, 0) })
	text, err := template(t, `sidecar: {defaults: {dest: "ephemeral:1Gi", listen: "off", attach: process-namespace, buffer: 1Gi, budget: 512Mi}}`)
	if err != nil {
		t.Fatal(err)
	}
	checkTestPod(t, decode(t, text), 1) // with a large buffer
}

func checkTestPod(t *testing.T, objects []object, warnings int) {
	t.Helper()
	job := sole[batchv1.Job](t, ofHook(objects, "test"))
	pod, err := json.Marshal(corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec})
	if err != nil {
		t.Fatal(err)
	}
	result, err := inject.Mutate(pod, job.Namespace, config(t, objects))
	if err != nil || !result.Injected {
		t.Fatalf("not injected: %+v, error %v; want it injected and no error", result, err)
	}
	texts := slices.DeleteFunc(result.Warnings, func(text string) bool { return strings.Contains(text, "emptyDir") })
	if len(texts) != warnings {
		t.Errorf("the warnings are %q, want %d", texts, warnings)
	}
	for _, op := range result.Patch {
		if status, ok := op.Value.(string); ok && op.Path == "/metadata/annotations/ullage.dev~1injected" && !strings.Contains(status, `"listen":":9919"`) {
			t.Errorf("the sidecar does not listen at the test's address, want \"listen\":\":9919\" in %s", status)
		}
	}
}

// Every image names its registry: neither a default nor a mistake leaves it out.
func TestImagesNameTheirRegistry(t *testing.T) {
	for _, c := range []struct{ values, image, sidecar string }{
		{"{}", registry + "/ullage-injector:0.1.0", registry + "/ullage:0.1.0"},
		{"{image: {repository: mirror.example/a/injector}}", "mirror.example/a/injector:0.1.0", registry + "/ullage:0.1.0"},
		{"{sidecar: {image: {repository: team/ullage}}}", registry + "/ullage-injector:0.1.0", registry + "/team/ullage:0.1.0"},
	} {
		text, err := template(t, c.values)
		if err != nil {
			t.Fatal(err)
		}
		objects := decode(t, text)
		if got := sole[appsv1.Deployment](t, objects).Spec.Template.Spec.Containers[0].Image; got != c.image {
			t.Errorf("%s: the injector's image is %s, want %s", c.values, got, c.image)
		}
		if got := config(t, objects).Image; got != c.sidecar {
			t.Errorf("%s: the sidecar's image is %s, want %s", c.values, got, c.sidecar)
		}
	}
	for _, wrong := range []string{"", "team", "team/ullage"} {
		_, err := runHelm(t, "template", "ullage", chartDir, "--kube-version", kubeVersion, "--set", "registry="+wrong)
		if err == nil || !strings.Contains(err.Error(), "name the registry of the image") {
			t.Errorf(`registry %q, want "name the registry of the image" in it: %v`, wrong, err)
		}
	}
}
