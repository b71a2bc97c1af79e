package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// helm test, upgrade, rollback and uninstall affect pods that are created afterwards, but not running pods.
// Running pods continue to ship, and each line is persisted once in the end.
func TestRunningPodsDoNotNoticeWhatHelmDoes(t *testing.T) {
	s := newSpace(t)
	t.Cleanup(func() {
		if t.Failed() {
			s.must("", install())
		}
	})
	s.apply(jvmPod{Name: "app", JDK: 25, After: linger}.manifest())
	s.ready("app")
	before := identityOf(s, "app")
	step := func(what string, change func()) {
		t.Helper()
		began := time.Now()
		change()
		figures.add("helm "+what, fmt.Sprintf("%.1f s", time.Since(began).Seconds()), "")
		if now := identityOf(s, "app"); now != before {
			t.Fatalf("helm %s has changed the running pod:\n%s\nbefore:\n%s", what, now, before)
		}
		awaitShipping(s, "app")
	}
	// An injector that got SIGTERM still answers for some seconds.
	newPods := func(buffer string) {
		t.Helper()
		s.eventually(time.Minute, "new pods with a tmpfs of "+buffer, func() bool {
			return dryRun(s, jvmPod{Name: "new", JDK: 25}, `.spec.volumes[?(@.name=="ullage-logs")].emptyDir.sizeLimit`) == buffer
		})
	}

	step("test", func() { s.must(helm("test", release, "-n", system, "--timeout", installIn.String())) })
	step("upgrade", func() { s.must("", install("--set", "sidecar.defaults.buffer=48Mi")) })
	newPods("48Mi")
	step("rollback", func() { s.must(helm("rollback", release, "-n", system, "--wait", "--timeout", installIn.String())) })
	newPods("64Mi")

	step("upgrade with a bad setting", func() {
		injectors := s.must(kubectl("", "get", "replicasets", "-n", system, "-o", "name"))
		if err := install("--set-string", "sidecar.defaults.xlog=gc*=debgu"); err == nil || !strings.Contains(err.Error(), "pre-upgrade") {
			t.Errorf("the upgrade ended with %v, want an error of its pre-upgrade hook", err)
		}
		if log := s.must(kubectl("", "logs", "-n", system, "job/"+release+"-injector-check")); !strings.Contains(log, "debgu") {
			t.Errorf("the check does not name the setting: %s", log)
		}
		if now := s.must(kubectl("", "get", "replicasets", "-n", system, "-o", "name")); now != injectors {
			t.Errorf("the replica sets are %s, want them as before: %s", now, injectors)
		}
		s.must("", install()) // removes the leftovers of the failed check
	})
	newPods("64Mi")

	step("uninstall", func() { s.must(helm("uninstall", release, "-n", system, "--wait", "--timeout", installIn.String())) })
	nothingLeft(s)
	s.apply(jvmPod{Name: "later", JDK: 25}.manifest())
	s.ready("later")
	if got := containersOf(s, "later"); got != "app" {
		t.Errorf("after the uninstallation, a pod has the containers %q, want app alone", got)
	}
	s.kubectl("delete", "pod", "later", "--wait=false")

	step("install", func() { s.must("", install()) })
	s.exec("app", "app", "sh", "-c", "kill $(pidof java)")
	sameAsReference(s, "app")
}

// identityOf returns a text that changes if the pod, a container or the specification is replaced.
func identityOf(s *space, pod string) string {
	s.Helper()
	return s.field("pod/"+pod, ".metadata.uid} {.metadata.annotations} {.spec} {.status.initContainerStatuses[*].containerID} {.status.containerStatuses[*].containerID")
}

// awaitShipping waits until a sidecar has persisted more lines.
func awaitShipping(s *space, pod string) {
	s.Helper()
	persisted := func() int { return len(s.exec(pod, "ullage", "ullage", "logs", "/var/lib/ullage")) }
	first := persisted()
	s.eventually(time.Minute, "more lines are persisted of "+pod, func() bool { return persisted() > first })
}

// dryRun returns a field of the pod that the API server would create.
func dryRun(s *space, p jvmPod, path string) string {
	s.Helper()
	return s.must(kubectl(p.manifest(), "-n", s.name, "create", "-f", "-", "--dry-run=server", "-o", "jsonpath={"+path+"}"))
}

// nothingLeft fails the test if objects of the release, of any kind, are left in any namespace.
func nothingLeft(s *space) {
	s.Helper()
	// Only kinds that can be listed and deleted, which excludes metrics; events are excluded too.
	kinds := strings.Fields(s.must(kubectl("", "api-resources", "--verbs=list,delete", "-o", "name")))
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return strings.HasPrefix(kind, "events") })
	if len(kinds) < 30 {
		s.Fatalf("the cluster reports only %d kinds of objects, want at least 30", len(kinds))
	}
	left := func() string {
		labelled := s.must(kubectl("", "get", strings.Join(kinds, ","), "-A", "-o", "name", "--ignore-not-found", "-l", "app.kubernetes.io/part-of=ullage,app.kubernetes.io/instance="+release))
		own := s.must(kubectl("", "-n", system, "get", "pods,secrets,configmaps,leases", "-o", "name"))
		return labelled + strings.ReplaceAll(own, "configmap/kube-root-ca.crt\n", "")
	}
	// Slices of endpoints and pods are garbage-collected a moment later.
	var last string
	if err := wait(time.Minute, func() bool { last = left(); return last == "" }); err != nil {
		s.Errorf("left after the uninstallation:\n%s", last)
	}
}
