package inject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/pod"
)

func TestWhichContainerHasTheJVM(t *testing.T) {
	java := object{"name": "app", "command": []string{"java", "-jar", "/app.jar"}}
	plain := object{"name": "app"}
	env := func(name, variable string) object {
		return object{"name": name, "env": []any{object{"name": variable, "value": "x"}}}
	}
	for name, c := range map[string]struct {
		annotations object
		containers  []object
		want        string // empty: the pod is refused
		warns       bool
	}{
		"a command after another container":             {nil, []object{{"name": "web"}, java}, "app", false},
		"a command in a shell":                          {nil, []object{{"name": "web"}, {"name": "app", "command": []string{"sh", "-c", "exec java $JAVA_OPTS -jar x.jar"}}}, "app", false},
		"a path to java":                                {nil, []object{{"name": "web"}, {"name": "app", "command": []string{"/opt/jdk/bin/java"}}}, "app", false},
		"javascript is no java":                         {nil, []object{{"name": "web"}, {"name": "app", "command": []string{"node", "java.js"}}}, "web", true},
		"a variable":                                    {nil, []object{{"name": "web"}, env("app", "JAVA_OPTS")}, "app", false},
		"a command beats a variable":                    {nil, []object{env("web", "JAVA_TOOL_OPTIONS"), java}, "app", false},
		"two JVMs: the first container, with a warning": {nil, []object{{"name": "web"}, env("a", "JAVA_OPTS"), env("b", "JAVA_OPTS")}, "web", true},
		"a proxy in front":                              {nil, []object{{"name": "envoy"}, plain}, "app", false},
		"a proxy with a variable":                       {nil, []object{env("kuma-sidecar", "JAVA_TOOL_OPTIONS"), plain}, "app", false},
		"nothing to see: the first":                     {nil, []object{{"name": "web"}, plain}, "web", true},
		"kubectl's default":                             {object{pod.DefaultMark: "web"}, []object{plain, {"name": "web"}}, "web", true},
		"kubectl's default beats java":                  {object{pod.DefaultMark: "web"}, []object{java, {"name": "web"}}, "web", true},
		"kubectl's default is a proxy":                  {object{pod.DefaultMark: "envoy"}, []object{{"name": "envoy"}, {"name": "web"}, java}, "app", false},
		"a proxy that is named":                         {object{"ullage.dev/container": "envoy"}, []object{plain, {"name": "envoy"}}, "envoy", false},
		"proxies alone":                                 {nil, []object{{"name": "envoy"}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := json.Marshal(object{"metadata": object{"annotations": c.annotations},
				"spec": object{"securityContext": object{"runAsUser": 1, "runAsGroup": 1}, "containers": c.containers}})
			if err != nil {
				t.Fatal(err)
			}
			res := mutate(t, pod, testConfig())
			checkInvariants(t, pod, res, testConfig())
			if c.want == "" {
				if res.Refused != ask.Unsuitable {
					t.Errorf("the pod is refused for %q with the warnings %q, want the reason unsuitable", res.Refused, res.Warnings)
				}
				return
			}
			s := statusAfter(t, pod, res)
			if len(s.JVMs) != 1 || s.JVMs[0].Container != c.want {
				t.Errorf("the chosen containers are %+v, want %s", s.JVMs, c.want)
			}
			if said := strings.Join(res.Warnings, "\n"); strings.Contains(said, "was chosen as the JVM's") != c.warns {
				t.Errorf("a warning is wanted: %v; the warnings are\n%s", c.warns, said)
			}
		})
	}
}

// statusAfter returns the status in a pod's annotation after the patch.
func statusAfter(t *testing.T, pod []byte, res inject.Result) ask.Status {
	t.Helper()
	annotations := applyJSON(t, pod, res.Patch).(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)
	s, err := ask.ParseStatus(annotations[ask.InjectedAnnotation].(string))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A pod is rightly refused. Then another webhook puts its container in front, and the API
// server calls the injector again. The pod is refused again for the same container,
// whatever the name of the added container.
func TestARefusedPodIsNotInjectedIntoAContainerThatCameLater(t *testing.T) {
	for name, app := range map[string]object{
		"envFrom":   {"name": "app", "envFrom": []any{object{"configMapRef": object{"name": "x"}}}},
		"valueFrom": {"name": "app", "env": []any{object{"name": "JDK_JAVA_OPTIONS", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}}},
		"a mount":   {"name": "app", "volumeMounts": []any{object{"name": "logs", "mountPath": "/var/log/jvm"}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := json.Marshal(object{"metadata": object{}, "spec": object{"containers": []any{app}, "volumes": []any{object{"name": "logs", "emptyDir": object{}}}}})
			if err != nil {
				t.Fatal(err)
			}
			first := mutate(t, pod, testConfig())
			if first.Refused == "" {
				t.Fatalf("the pod is not refused: %+v", first)
			}
			after := applyJSON(t, pod, first.Patch).(map[string]any)
			spec := after["spec"].(map[string]any)
			spec["containers"] = append([]any{object{"name": "mesh"}}, spec["containers"].([]any)...)
			again, err := json.Marshal(after)
			if err != nil {
				t.Fatal(err)
			}
			if second := mutate(t, again, testConfig()); second.Injected || second.Refused != first.Refused || len(second.Patch) > 0 {
				t.Errorf("the second time: injected %v, refused %q, %d operations; want refused %q without operations", second.Injected, second.Refused, len(second.Patch), first.Refused)
			}
		})
	}
}
