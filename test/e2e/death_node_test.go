package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A sidecar is killed while the JVM logs, again and again. The kubelet starts
// it again, the second time only after ten seconds, and it goes on exactly
// where its last commit was.
func TestSidecarKilled(t *testing.T) {
	const kills = 2
	eachJDK(t, func(s *space, jdk int) {
		s.apply(jvmPod{Name: "app", JDK: jdk, Java: []string{"Churn", "600000", "60"}, After: linger, Grace: 1}.manifest())
		s.ready("app")
		kill := s.killer("app")
		for n := range kills {
			s.morePersisted("app")
			kill("*ullage run*")
			s.waitFor("pod/app", fmt.Sprintf("jsonpath={.status.initContainerStatuses[0].restartCount}=%d", n+1), time.Minute)
			s.waitFor("pod/app", "jsonpath={.status.initContainerStatuses[0].ready}=true", time.Minute)
		}
		s.morePersisted("app")
		s.persistedAll("app", "app", "ullage", s.ended("app", "app"))
		ended := s.field("pod/app", ".status.initContainerStatuses[0].lastState.terminated.exitCode} {.status.containerStatuses[0].restartCount")
		if ended != "137 0" {
			s.Errorf("exit code of the sidecar and restarts of the JVM's container are %s, not 137 0", ended)
		}
	})
}

// morePersisted waits until the sidecar has persisted more than it had.
func (l *lives) morePersisted(pod string) {
	l.Helper()
	had := -1
	l.eventually(20*time.Second, "more persisted lines", func() bool {
		out, err := l.tryExec(pod, "ullage", "ullage", "cat", "/var/lib/ullage")
		if err != nil {
			return false
		}
		if had < 0 {
			had = len(out)
		}
		return len(out) > had
	})
}

// killer starts a pod beside another one, and returns what kills a process of
// that: the one whose command line matches a pattern of sh. It is the node that
// kills, as process 1 of a container takes no SIGKILL from within.
func (l *lives) killer(pod string) func(pattern string) {
	l.Helper()
	const elsewhere = "default" // the test's namespace may not allow such a pod
	killer := l.name + "-killer"
	l.must(kubectl(manifest(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": killer},
		"spec": object{
			"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "hostPID": true,
			"nodeName": l.field("pod/"+pod, ".spec.nodeName"),
			"containers": []any{object{
				"name": "killer", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "command": []any{"sleep", "600"},
			}},
		},
	}), "-n", elsewhere, "create", "-f", "-"))
	l.Cleanup(func() { _, _ = kubectl("", "-n", elsewhere, "delete", "pod", killer, "--wait=false") })
	l.must(kubectl("", "-n", elsewhere, "wait", "pod/"+killer, "--for=condition=Ready", "--timeout=1m"))
	// A cgroup has the pod's uid in its name, with other dashes under systemd.
	uid := strings.ReplaceAll(l.field("pod/"+pod, ".metadata.uid"), "-", ".")
	const script = `for p in /proc/[0-9]*; do
		grep -q "$0" $p/cgroup 2>/dev/null || continue
		case $(tr '\0' ' ' <$p/cmdline) in $1) kill -9 ${p#/proc/} && echo killed ;; esac
	done`
	return func(pattern string) {
		l.Helper()
		out := l.must(kubectl("", "-n", elsewhere, "exec", killer, "--", "sh", "-c", script, uid, pattern))
		if out != "killed\n" {
			l.Fatalf("not one process of pod %s matches %s: %q", pod, pattern, out)
		}
	}
}
