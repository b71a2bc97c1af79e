package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// unprepared returns a Deployment that has no settings of ullage. Its user is set only in the
// image.
func unprepared() object {
	jvm := jvmPod{Name: "plain", JDK: 25, NotInjected: true, Grace: 1}
	deployment := workload("Deployment", jvm, "")
	spec := deployment["spec"].(object)["template"].(object)["spec"].(object)
	delete(spec, "securityContext")
	app := spec["containers"].([]any)[0].(object)
	delete(app, "securityContext")
	withoutLog(app)
	return deployment
}

// withoutLog removes the -Xlog option of the reference output from a container's command.
func withoutLog(container object) {
	container["command"] = slices.DeleteFunc(container["command"].([]any), func(word any) bool { return word == reference("/ref") })
}

// adopting runs `kubectl ullage adopt` to its end, checks the report and the fetched copy, and returns its stderr.
func adopting(s *space, target string, more ...string) (said string) {
	s.Helper()
	dir := s.TempDir()
	copied := filepath.Join(dir, "copied")
	args := slices.Concat([]string{"-C", dir}, pluginSettings(), []string{"kubectl", "ullage", "-n", s.name, "adopt", target, "--for", "10s", "--image", "localhost/ullage:" + imageVersion, "--dest", copied}, more)
	out, said, err := command("", "env", args...)
	s.must("", err)
	page, err := os.ReadFile(filepath.Join(dir, strings.TrimSpace(out)))
	matches(s.T, "the report", s.must(string(page), err), `^<!doctype html>`, `gc-1\.log`)
	checked, _, err := command("", program("ullage"), "check", copied)
	matches(s.T, "ullage check", s.must(checked, err), `(?m)^complete: `)
	lines, _, err := command("", program("ullage"), "logs", copied)
	matches(s.T, "ullage logs", s.must(lines, err), `Pause Young`)
	return said
}

// If the JVM's container ends during the adoption, the container that adopts the JVM ends too. The lines that were
// shipped until then have been fetched.
func TestAdoptAJVMWhoseContainerEnds(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jvm := jvmPod{Name: "app", JDK: 25, NotInjected: true, Grace: 1}.object()
	withoutLog(jvm["spec"].(object)["containers"].([]any)[0].(object))
	s.apply(manifest(jvm))
	s.ready("app")
	dir := t.TempDir()
	copied := filepath.Join(dir, "copied")
	ended := make(chan error, 1)
	go func() {
		args := append([]string{"-C", dir}, pluginSettings()...)
		_, _, err := command("", "env", append(args, "kubectl", "ullage", "-n", s.name, "adopt", "app", "--for", "1h", "--image", "localhost/ullage:"+imageVersion, "--dest", copied)...)
		ended <- err
	}()
	s.eventually(2*time.Minute, "a pause is fetched", func() bool {
		parts, err := filepath.Glob(filepath.Join(dir, ".ullage-adopted-*"))
		if err != nil || len(parts) == 0 {
			return false
		}
		lines, _, err := command("", program("ullage"), "logs", parts[0])
		return err == nil && strings.Contains(lines, "Pause Young")
	})
	s.exec("app", "app", "sh", "-c", "kill 1")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "what had arrived is in "+copied) {
		t.Errorf("kubectl ullage adopt ended with %v, want an error with \"what had arrived is in %s\"", err, copied)
	}
	lines, _, err := command("", program("ullage"), "logs", copied)
	matches(t, "ullage logs", s.must(lines, err), `Pause Young`)
}

// A JVM without options for a log is adopted by the annotations of its pod alone.
func TestAdoptByAnnotations(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	notes := map[string]string{"options-variable": "off", "adopt": "gc*=info,safepoint=info", "attach": "process-namespace"}
	jvm := jvmPod{Name: "app", JDK: 25, Annotations: notes, Grace: 5}.object()
	withoutLog(jvm["spec"].(object)["containers"].([]any)[0].(object))
	s.apply(manifest(jvm))
	s.ready("app")
	s.eventually(time.Minute, "a pause is persisted", func() bool {
		lines, err := s.tryExec("app", "ullage", "ullage", "logs")
		return err == nil && strings.Contains(lines, "Pause Young")
	})
}

// sameJVM fails the test if the JVM of a pod was restarted, if its log configuration differs from before, or if
// files of ullage are left in /dev/shm.
func sameJVM(s *space, pod, before string) {
	s.Helper()
	if is := s.exec(pod, "app", "jcmd", "1", "VM.log", "list"); is != before {
		s.Errorf("the JVM's log configuration is now\n%s\nwant it as before:\n%s", is, before)
	}
	if restarts := s.field("pod/"+pod, ".status.containerStatuses[0].restartCount"); restarts != "0" {
		s.Errorf("the JVM's container was restarted %s times, want 0", restarts)
	}
	if left := s.exec(pod, "app", "sh", "-c", "ls /dev/shm"); strings.Contains(left, "ullage") {
		s.Errorf("want no files of ullage in /dev/shm, but it has %s", left)
	}
}

// The log of an unprepared JVM, whose user is set only in the image, is shipped for a while. Afterwards the JVM is
// as before, and doctor shows the container that is left in the pod's spec.
func TestAdoptAnUnpreparedDeployment(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.apply(manifest(unprepared()))
	s.kubectl("rollout", "status", "deployment/plain", "--timeout=2m")
	pod := strings.Fields(s.kubectl("get", "pods", "-l", "app=plain", "-o", "jsonpath={.items[*].metadata.name}"))[0]
	before := s.exec(pod, "app", "jcmd", "1", "VM.log", "list")
	said := adopting(s, "deploy/plain")
	matches(t, "kubectl ullage adopt", said, `adopts the JVM of app for 10s`, `adopted pid 1 `, `the JVM is released`)
	sameJVM(s, pod, before)
	s.eventually(time.Minute, "the container has ended", func() bool {
		return !strings.Contains(s.field("pod/"+pod, ".status.ephemeralContainerStatuses[*].state"), "running")
	})
	out, _, _ := command("", "env", append(pluginSettings(), "kubectl", "ullage", "-n", s.name, "doctor", pod)...)
	matches(t, "doctor", out, `(?m)^note +container ullage-adopt-\w+ adopted a JVM of pod \S+, and ended with exit code 0$`)
}

// In a namespace that admits only restricted pods, the adopting container is restricted too. If the policy refuses
// the container, the pod is not changed.
func TestAdoptInARestrictedNamespace(t *testing.T) {
	t.Parallel()
	s := newSpace(t, "pod-security.kubernetes.io/enforce=restricted")
	jvm := jvmPod{Name: "app", JDK: 25, NotInjected: true, Grace: 1}.object()
	withoutLog(jvm["spec"].(object)["containers"].([]any)[0].(object))
	s.apply(manifest(jvm))
	s.ready("app")
	before := s.exec("app", "app", "jcmd", "1", "VM.log", "list")

	refused := append(pluginSettings(), "kubectl", "ullage", "-n", s.name, "adopt", "app", "--user", "0:0", "--image", "localhost/ullage:"+imageVersion)
	if _, _, err := command("", "env", refused...); err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf(`as root: %v, want "nothing was changed" in it and "violates PodSecurity" in it`, err)
	}
	if added := s.field("pod/app", ".spec.ephemeralContainers"); added != "" {
		t.Errorf("a refused adoption has added the ephemeral containers %s, want none", added)
	}
	adopting(s, "app", "gc*=debug,safepoint=info")
	sameJVM(s, "app", before)
}
