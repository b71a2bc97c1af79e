package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shortJVM returns a pod whose JVM ends soon, in a container that continues to run.
func shortJVM(name string) jvmPod {
	return jvmPod{Name: name, JDK: 25, Java: []string{"Churn", "3000", "60"}, After: linger}
}

// A pod of any kind of workload gets its sidecar, and each line is persisted once. (A Job that ends
// is in death_test.go; most other tests use a bare pod.)
func TestEveryWorkloadIsInjected(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			jvm, class := shortJVM("app"), ""
			if kind == "StatefulSet" {
				makeClaim(s, "logs")
				jvm.Annotations = map[string]string{"dest": "pvc:logs"}
				class = classOf(s, "data")
			}
			s.apply(manifest(workload(kind, jvm, class)))
			if kind == "CronJob" { // the test does not wait for the schedule
				s.kubectl("create", "job", "--from=cronjob/app", "app-now")
			}
			sameAsReference(s, injectedPod(s, "app"))
		})
	}
}

// workload returns a workload of the kind, with one pod. A StatefulSet has a volume of the class for each pod.
func workload(kind string, jvm jvmPod, class string) object {
	if kind != "CronJob" {
		jvm.Restart = "Always"
	}
	template := jvm.template()
	selector := object{"matchLabels": object{"app": jvm.Name}}
	o := object{"apiVersion": "apps/v1", "kind": kind, "metadata": object{"name": jvm.Name}}
	switch kind {
	case "StatefulSet":
		app := template["spec"].(object)["containers"].([]any)[0].(object)
		app["volumeMounts"] = append(app["volumeMounts"].([]any), object{"name": "data", "mountPath": "/data"})
		o["spec"] = object{
			"serviceName": jvm.Name, "replicas": 1, "selector": selector, "template": template,
			"volumeClaimTemplates": []any{object{
				"metadata": object{"name": "data"},
				"spec": object{
					"storageClassName": class, "accessModes": []any{"ReadWriteOnce"},
					"resources": object{"requests": object{"storage": "64Mi"}},
				},
			}},
		}
	case "CronJob":
		o["apiVersion"] = "batch/v1"
		o["spec"] = object{
			"schedule": "0 0 29 2 *", "suspend": true,
			"jobTemplate": object{"spec": object{"backoffLimit": 0, "template": template}},
		}
	default:
		o["spec"] = object{"selector": selector, "template": template}
	}
	return o
}

// injectedPod waits for a pod of an app's workload and returns its name.
func injectedPod(s *space, app string) string {
	s.Helper()
	var pod string
	s.eventually(time.Minute, "a pod", func() bool {
		pod, _, _ = strings.Cut(s.kubectl("get", "pods", "-l", "app="+app, "-o", "jsonpath={.items[*].metadata.name}"), " ")
		return pod != ""
	})
	s.ready(pod)
	if got := containersOf(s, pod); got != "app ullage" {
		s.Errorf("the pod has the containers %q, want app and ullage", got)
	}
	return pod
}

// injectManifest runs `ullage-injector inject`, as a user without the webhook does.
func injectManifest(s *space, text string) string {
	s.Helper()
	config := filepath.Join(s.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("imagePullPolicy: Never\n"), 0o600); err != nil {
		s.Fatal(err)
	}
	out, notes, err := command(text, program("ullage-injector"), "inject", "--image", "localhost/ullage:"+imageVersion, "--config", config, "-f", "-")
	s.must("", err)
	if !strings.Contains(notes, "1 of 1 injected") {
		s.Fatalf("ullage-injector inject says %s", notes)
	}
	return out
}

// A manifest from `ullage-injector inject` works as if the webhook had injected the pod. If there is a webhook
// too, the pod is injected only once.
func TestInjectedManifestIsAppliedWithAndWithoutTheWebhook(t *testing.T) {
	t.Parallel()
	const optsIn, optsOut = `ullage.dev/inject: "true"`, `ullage.dev/inject: "false"`
	for name, labels := range map[string][]string{"without": nil, "with": {"ullage.dev/injection=enabled"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t, labels...)
			jvm := shortJVM("app")
			injected := injectManifest(s, yamlOf(s, workload("Deployment", jvm, "")))
			if !strings.Contains(injected, optsIn) {
				t.Fatalf("the label is not in the output:\n%s", injected)
			}
			if name == "without" { // the API server does not call the webhook for a pod that opts out
				injected = strings.ReplaceAll(injected, optsIn, optsOut)
			}
			s.apply(injected)
			pod := injectedPod(s, "app")
			if options := s.field("pod/"+pod, `.spec.containers[0].env[?(@.name=="JDK_JAVA_OPTIONS")].value`); strings.Count(options, "-Xlog:") != 1 {
				t.Errorf("JDK_JAVA_OPTIONS is %q, want one -Xlog", options)
			}
			sameAsReference(s, pod)
		})
	}
}

// yamlOf returns an object as YAML, as people write it.
func yamlOf(s *space, o object) string {
	s.Helper()
	return s.must(kubectl(manifest(o), "-n", s.name, "create", "-f", "-", "--dry-run=client", "-o", "yaml"))
}

// A newcomer who applies one of the examples sees no warning.
func TestExamplesApply(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	files, err := filepath.Glob("../../deploy/examples/injected/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("the examples are %v, %v, want at least 3", files, err)
	}
	for _, file := range append(files, "../../deploy/examples") {
		out, warnings, err := command("", "kubectl", "-n", s.name, "apply", "--dry-run=server", "-f", file)
		if err != nil || warnings != "" {
			t.Errorf("kubectl apply -f %s, want no warnings; error: %v\n%s%s", file, err, warnings, out)
		}
	}
	// The examples must not conflict when all are applied together, even twice.
	s.kubectl("apply", "-f", "../../deploy/examples")
	s.kubectl("apply", "-f", "../../deploy/examples")
}
