package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
)

// Two JVMs of different versions run in one pod. Each has its own sidecar, and its log is persisted. The level of
// one JVM can be raised alone, and the annotation of the pod raises both.
func TestTwoJVMsInAPod(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	first := jvmPod{Name: "app", JDK: 17, Java: []string{"Churn", "600000", "60"}, After: linger, Grace: 1, Annotations: map[string]string{"container": "a,b"}}
	second := first
	second.JDK = 25
	pod := first.object()
	pod["spec"].(object)["containers"] = []any{inItsOwn(first.container("a")), inItsOwn(second.container("b"))}
	s.apply(manifest(pod))
	s.ready("app")
	both := map[string]string{"a": "ullage", "b": "ullage-2"}
	isRaised := func(sidecar string) bool {
		return strings.Contains(s.exec("app", sidecar, "ullage", "levels", "list"), "yes, raised")
	}
	for container, sidecar := range both {
		s.eventually(time.Minute, "the sidecar of "+container+" lists only its own JVM", func() bool {
			out, err := s.tryExec("app", sidecar, "ullage", "levels", "list")
			return err == nil && strings.Count(out, "/var/log/jvm/") == 1
		})
	}
	s.exec("app", "ullage-2", "ullage", "levels", "set", raise, "--for", "10m")
	if !isRaised("ullage-2") || isRaised("ullage") {
		t.Error("want only the JVM in b raised")
	}
	debugLine(s, "app", "ullage-2")
	s.exec("app", "ullage-2", "ullage", "levels", "reset")
	if isRaised("ullage-2") {
		t.Error("the JVM in b is still raised, want it restored")
	}
	if strings.Contains(s.exec("app", "ullage", "ullage", "logs", "/var/lib/ullage"), "][debug][") {
		t.Error("the JVM in a was raised too, want only the JVM in b raised")
	}
	seen := annotate(s, "app", "ullage.dev/log="+raise)
	debugLine(s, "app", "ullage")
	for container, sidecar := range both {
		s.eventually(time.Minute, "the JVM is raised in "+container, func() bool { return isRaised(sidecar) })
	}
	seen()
	for container, sidecar := range both {
		persistedAll(s, "app", container, sidecar, endOf(s, "app", container))
	}
}

// inItsOwn gives a container its own directory for the reference output.
func inItsOwn(container object) object {
	mount := container["volumeMounts"].([]any)[0].(object)
	mount["subPath"] = container["name"]
	return container
}

func debugLine(s *space, pod, sidecar string) {
	s.Helper()
	s.eventually(time.Minute, "a raised line is persisted by "+sidecar, func() bool {
		return strings.Contains(s.exec(pod, sidecar, "ullage", "logs", "/var/lib/ullage"), "][debug][")
	})
}

// persistedAll waits until a sidecar has persisted as many lines as its JVM has written, not counting raised lines, and
// compares the lines.
func persistedAll(s *space, pod, container, sidecar, written string) {
	s.Helper()
	var persisted string
	var changes []time.Time
	s.eventually(time.Minute, "the last line of "+container+" is in the durable copy", func() bool {
		persisted, changes = unraised(s.exec(pod, sidecar, "ullage", "logs", "/var/lib/ullage"))
		return isWhole(written, persisted, changes)
	})
	same(s.T, written, persisted, changes...)
}

// isWhole reports whether at least as many lines were persisted as were written, without the lines
// that the JVM repeated when its level changed.
func isWhole(written, persisted string, changes []time.Time) bool {
	c := jvm.Compare([]byte(written), []byte(persisted), changes...)
	return c.Persisted-c.Repeated >= c.Written
}

// Two pods use one claim at the same time. Each has its own directory with the log of its JVM.
func TestTwoPodsOnAClaim(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	makeClaim(s, "logs")
	jdk := map[string]int{"one": 17, "two": 25}
	for name := range jdk {
		s.apply(jvmPod{Name: name, JDK: jdk[name], Java: []string{"Churn", "600000", "60"}, After: linger, Grace: 1, Annotations: onClaim}.manifest())
	}
	for name := range jdk {
		s.ready(name)
	}
	for name := range jdk { // both at work
		morePersisted(s, name)
	}
	written := map[string]string{}
	for name := range jdk {
		written[name] = endOf(s, name, "app")
	}
	for name := range jdk {
		persistedAll(s, name, "app", "ullage", written[name])
	}
	claim := readClaim(s, "logs")
	for name := range jdk {
		same(s.T, written[name], string(persistedIn(s.T, filepath.Join(claim, s.name, name))))
	}
	dirs, err := filepath.Glob(filepath.Join(claim, "*", "*"))
	if err != nil || len(dirs) != len(jdk) {
		t.Errorf("directories on the claim: %q, want one for each pod", dirs)
	}
}

// A pod has an init container, another sidecar, and read-only root file systems. Its own init containers come
// first, and all have started when the JVM starts.
func TestPodWithAnotherSidecar(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jvm := jvmPod{Name: "app", JDK: 25, Java: []string{"Churn", "3000", "60"}, After: "cp /seeds/* /ref; " + linger, Grace: 1}
	pod := jvm.object()
	spec := pod["spec"].(object)
	spec["volumes"] = append(spec["volumes"].([]any), object{"name": "seeds", "emptyDir": object{}})
	seeds := object{"name": "seeds", "mountPath": "/seeds"}
	app := spec["containers"].([]any)[0].(object)
	app["volumeMounts"] = append(app["volumeMounts"].([]any), seeds)
	app["securityContext"].(object)["readOnlyRootFilesystem"] = true
	tool := func(name, command string) object {
		return object{
			"name": name, "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "command": []any{"sh", "-c", command},
			"volumeMounts": []any{seeds}, "securityContext": app["securityContext"],
		}
	}
	proxy := tool("proxy", "cp /seeds/seed /seeds/proxied; sleep 600")
	proxy["restartPolicy"] = "Always"
	spec["initContainers"] = []any{tool("seed", "echo sown >/seeds/seed"), proxy}
	s.apply(manifest(pod))
	s.ready("app")
	persistedAll(s, "app", "app", "ullage", writtenBy(s, "app", "app"))
	if got := s.exec("app", "app", "cat", "/ref/seed", "/ref/proxied"); got != "sown\nsown\n" {
		t.Errorf("the pod's own init containers have left %q, want \"sown\\nsown\\n\"", got)
	}
	if _, err := s.tryExec("app", "app", "touch", "/here"); err == nil {
		t.Error("the root file system is writable, although the pod's spec makes it read-only")
	}
	if got := s.field("pod/app", ".status.initContainerStatuses[*].name} {.status.initContainerStatuses[*].ready"); got != "seed proxy ullage true true true" {
		t.Errorf(`the init containers are %q, want "seed proxy ullage true true true"`, got)
	}
}
