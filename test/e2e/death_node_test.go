package e2e

import (
	"fmt"
	"testing"
	"time"
)

// A sidecar is killed repeatedly while the JVM logs. The kubelet restarts it, the second time only after ten
// seconds, and it continues exactly at its last commit.
func TestSidecarKilled(t *testing.T) {
	const kills = 2
	eachJDK(t, func(s *space, jdk int) {
		s.apply(jvmPod{Name: "app", JDK: jdk, Java: []string{"Churn", "600000", "60"}, After: linger, Grace: 1}.manifest())
		s.ready("app")
		kill := killer(s, "app")
		for n := range kills {
			morePersisted(s, "app")
			kill("KILL", "*ullage run*")
			s.waitFor("pod/app", fmt.Sprintf("jsonpath={.status.initContainerStatuses[0].restartCount}=%d", n+1), time.Minute)
			s.waitFor("pod/app", "jsonpath={.status.initContainerStatuses[0].ready}=true", time.Minute)
		}
		morePersisted(s, "app")
		persistedAll(s, "app", "app", "ullage", endOf(s, "app", "app"))
		ended := s.field("pod/app", ".status.initContainerStatuses[0].lastState.terminated.exitCode} {.status.containerStatuses[0].restartCount")
		if ended != "137 0" {
			s.Errorf("exit code of the sidecar and restarts of the JVM's container are %s, want 137 0", ended)
		}
	})
}

// morePersisted waits until the sidecar has persisted more lines.
func morePersisted(s *space, pod string) {
	s.Helper()
	had := -1
	s.eventually(time.Minute, "more lines are persisted", func() bool {
		out, err := s.tryExec(pod, "ullage", "ullage", "logs", "/var/lib/ullage")
		if err != nil {
			return false
		}
		if had < 0 {
			had = len(out)
		}
		return len(out) > had
	})
}
