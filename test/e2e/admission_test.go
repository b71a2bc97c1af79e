package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// In a namespace that admits only pods of the `restricted` Pod Security Standard, a restricted pod is still
// restricted with its sidecar.
func TestRestrictedNamespace(t *testing.T) {
	t.Parallel()
	s := newSpace(t, "pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted")
	loose := jvmPod{Name: "loose", JDK: 25}.object()
	delete(loose["spec"].(object), "securityContext")
	if _, err := kubectl(manifest(loose), "-n", s.name, "create", "-f", "-", "--dry-run=server"); err == nil {
		t.Errorf("the namespace admits a pod that is not restricted: the test proves nothing")
	}
	warnings := s.apply(shortJVM("app").manifest())
	if strings.Contains(warnings, "PodSecurity") {
		t.Errorf("the warnings are %s, want no \"PodSecurity\" in them: the pod must stay restricted", warnings)
	}
	s.ready("app")
	sameAsReference(s, "app")
}

// A ResourceQuota requires limits of every container, and a LimitRange supplies the missing ones. Both apply to a
// sidecar too. If the quota has no room for the sidecar, Kubernetes reports that as for any container.
func TestResourceQuotaAndLimitRange(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply(manifest(object{"apiVersion": "v1", "kind": "List", "items": []any{
		object{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": object{"name": "quota"}, "spec": object{
			"hard": object{"requests.cpu": "500m", "limits.cpu": "4", "requests.memory": "256Mi", "limits.memory": "1100Mi"},
		}},
		object{"apiVersion": "v1", "kind": "LimitRange", "metadata": object{"name": "range"}, "spec": object{"limits": []any{
			object{"type": "Container", "default": object{"cpu": "1"}, "defaultRequest": object{"cpu": "20m"}, "min": object{"memory": "16Mi"}, "max": object{"memory": "512Mi"}},
		}}},
	}}))
	s.eventually(time.Minute, "the quota is in force", func() bool { return s.field("quota/quota", ".status.hard") != "" })
	s.apply(shortJVM("app").manifest())
	s.ready("app")
	if got := s.field("pod/app", ".spec.initContainers[0].resources.limits"); !strings.Contains(got, `"cpu"`) {
		t.Errorf("the sidecar has the limits %s, want a cpu limit, which the quota requires", got)
	}
	sameAsReference(s, "app")

	// 384Mi and the sidecar's 128Mi are in use. The rest of the quota is enough for a JVM of 512Mi, but not for its
	// sidecar as well.
	second := jvmPod{Name: "second", JDK: 25, Memory: "512Mi"}
	full := second
	full.NotInjected = true
	s.must(kubectl(full.manifest(), "-n", s.name, "create", "-f", "-", "--dry-run=server"))
	_, err := kubectl(second.manifest(), "-n", s.name, "create", "-f", "-", "--dry-run=server")
	const want = `exceeded quota: quota, requested: limits.memory=640Mi, used: limits.memory=512Mi, limited: limits.memory=1100Mi`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a pod that has no room for its sidecar: %v\nwant %s", err, want)
	}
}

// A namespace's label selects all of its pods, and a pod's own label overrides it. Pods in kube-system and in the
// injector's namespace are never injected.
func TestWhoIsInjected(t *testing.T) {
	t.Parallel()
	s := newSpace(t, "ullage.dev/injection=enabled")
	plain := newSpace(t)
	for _, test := range []struct {
		what, namespace, label string // "": no label
		injected               bool
	}{
		{"a pod without the label in an enabled namespace", s.name, "", true},
		{"a pod with the label in an enabled namespace", s.name, "true", true},
		{"a pod that opts out in an enabled namespace", s.name, "false", false},
		{"a pod without the label in another namespace", plain.name, "", false},
		{"a pod with the label in another namespace", plain.name, "true", true},
		{"a pod with the label in kube-system", "kube-system", "true", false},
		{"a pod with the label in the injector's namespace", system, "true", false},
	} {
		pod := jvmPod{Name: "who", JDK: 25, NotInjected: true, Labels: map[string]string{"ullage.dev/inject": test.label}}
		if test.label == "" {
			pod.Labels = nil
		}
		out, warnings, err := command(pod.manifest(), "kubectl", "-n", test.namespace, "create", "-f", "-", "--dry-run=server", "-o", `jsonpath={.spec.initContainers[*].name}`)
		s.must("", err)
		if injected := out == "ullage"; injected != test.injected {
			t.Errorf("%s has the sidecars %q, want ullage: %t", test.what, out, test.injected)
		}
		if spoken := strings.Contains(warnings, "ullage"); spoken != test.injected {
			t.Errorf("%s: the warnings are %q, want ullage in them: %t", test.what, warnings, test.injected)
		}
	}
	s.apply(jvmPod{Name: "app", JDK: 17, NotInjected: true, Java: []string{"Churn", "3000", "60"}, After: linger}.manifest())
	s.ready("app")
	sameAsReference(s, "app")
}

// A pod with a bad annotation starts unchanged, without a sidecar. kubectl shows the annotation's name and value, and
// a hint at an acceptable value.
func TestBadAnnotationsAreWarnedOf(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	all := map[string]string{}
	for _, test := range []struct{ name, value, says string }{
		{"buffer", "plenty", "write it like 64Mi"},
		{"buffer", "1Ki", "at least 1Mi"},
		{"segment-bytes", "-1", "segment-bytes"},
		{"sync-interval", "soon", "sync-interval"},
		{"retain-age", "a week", "retain-age"},
		{"dest", "s3://bucket", "write it like pvc:CLAIM"},
		{"dest", "pvc:No_Name", "write it like pvc:CLAIM"},
		{"xlog", "gc*=loud", "loud"},
		{"xlog", "garbage*=info", "garbage"},
		{"container", "worker", "no such container"},
		{"container", "app,app", "write it once"},
		{"log", "gc*=off", "off"},
		{"log-for", "for ever", "15m"},
		{"trigger", "pause>long", "pause>long"},
		{"attach", "telnet", "shared-tmp"},
		{"listen", ":99190", "write it like :9919"},
		{"budget", "128Mi", "larger than the tmpfs"},
		{"compress", "rar", "zstd"},
		{"bufer", "64Mi", "buffer"},
	} {
		pod := jvmPod{Name: "bad", JDK: 25, Annotations: map[string]string{test.name: test.value}}
		out, warnings, err := command(pod.manifest(), "kubectl", "-n", s.name, "create", "-f", "-", "--dry-run=server", "-o", `jsonpath={.spec.initContainers}{.metadata.annotations}{.spec.volumes[*].name}`)
		s.must("", err)
		if strings.Contains(out, "ullage-") || strings.Contains(out, `"sidecar"`) || strings.Contains(out, "prometheus.io") {
			t.Errorf("%s %q: the pod is injected at least in part, want none of \"ullage-\", \"\\\"sidecar\\\"\" and \"prometheus.io\" in it: %s", test.name, test.value, out)
		}
		if !strings.Contains(out, `\"refused\":\"annotation\"`) || !strings.Contains(out, "ullage.dev/"+test.name) {
			t.Errorf("%s %q: the pod's annotations do not say why: %s", test.name, test.value, out)
		}
		for _, want := range []string{"Warning: ullage: not injected: ", "ullage.dev/" + test.name, test.value, test.says} {
			if !strings.Contains(warnings, want) {
				t.Errorf("%s %q: the warning lacks %q:\n%s", test.name, test.value, want, warnings)
			}
		}
		maps.Copy(all, pod.Annotations)
	}
	s.apply(jvmPod{Name: "app", JDK: 25, Annotations: all}.manifest())
	s.ready("app")
	if got := containersOf(s, "app"); got != "app" {
		t.Errorf("a pod with bad annotations has the containers %q, want app alone", got)
	}
}

// The sidecar does not take a port that the pod uses. It takes the next port or, if no port is left, none, and a
// warning reports that.
func TestPortsThatThePodHasAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	create := func(listen string, port int) (out, warnings string) {
		pod := jvmPod{Name: "ports", JDK: 25, Annotations: map[string]string{"listen": listen}}.object()
		app := pod["spec"].(object)["containers"].([]any)[0].(object)
		app["ports"] = []any{object{"containerPort": port}}
		out, warnings, err := command(manifest(pod), "kubectl", "-n", s.name, "create", "-f", "-", "--dry-run=server", "-o", `jsonpath={.spec.initContainers[*].ports[*].containerPort} {.metadata.annotations.prometheus\.io/port}`)
		s.must("", err)
		return out, warnings
	}
	if out, _ := create(":9919", 9919); out != "9920 9920" {
		t.Errorf("the pod uses port 9919: the sidecar's port and the annotated one are %q, want 9920", out)
	}
	if out, warnings := create(":65535", 65535); out != " " || !strings.Contains(warnings, "ullage.dev/listen: no port is left") {
		t.Errorf("no port is left: the sidecar's port is %q, the warning %q; want no port and \"ullage.dev/listen: no port is left\"", out, warnings)
	}
}

// If the user is set only in the image, the pod is injected, and a warning says what does not work and how to fix
// that. The log is complete.
func TestUserThatOnlyTheImageKnows(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	pod := shortJVM("app").object()
	user := pod["spec"].(object)["securityContext"].(object)
	delete(user, "runAsUser")
	delete(user, "runAsGroup")
	warnings := s.apply(manifest(pod))
	for _, want := range []string{`the user of container "app" is not known`, "log levels cannot be changed", "write securityContext: {runAsUser: UID, runAsGroup: GID} into the pod's spec"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("the warning lacks %q:\n%s", want, warnings)
		}
	}
	s.ready("app")
	if java, sidecar := s.exec("app", "app", "id", "-u"), s.field("pod/app", ".spec.initContainers[0].securityContext.runAsUser"); java != "1000\n" || sidecar != "65532" {
		t.Errorf("the JVM runs as %q, its sidecar as %q, want 1000 and 65532: the test proves nothing", java, sidecar)
	}
	sameAsReference(s, "app")
}

// The sidecar has no token of the pod's service account, though the API server gives one to each container, even to
// one that a webhook adds.
func TestTheSidecarHasNoToken(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	pod := jvmPod{Name: "app", JDK: 25}.object()
	pod["spec"].(object)["automountServiceAccountToken"] = true
	s.apply(manifest(pod))
	s.ready("app")
	const where = `.volumeMounts[?(@.mountPath=="/var/run/secrets/kubernetes.io/serviceaccount")].name`
	if name := s.field("pod/app", ".spec.containers[0]"+where); !strings.HasPrefix(name, "kube-api-access-") {
		t.Errorf("the application's token is %q, want the volume kube-api-access-…: the test proves nothing", name)
	}
	if name := s.field("pod/app", ".spec.initContainers[0]"+where); strings.HasPrefix(name, "kube-api-access-") {
		t.Errorf("the sidecar has the token %q, want none", name)
	}
}
