package e2e

import (
	"fmt"
	"testing"
	"time"
)

// A pod is deleted while its JVM logs at a high rate. All of the log is persisted within the grace period, and a
// pod of the same name, as in a StatefulSet, continues the log.
func TestPodDeleted(t *testing.T) {
	t.Parallel()
	for _, end := range []struct {
		name  string
		jdk   int
		grace int
		after string // if not empty, process 1 is a shell, which does not forward SIGTERM
	}{
		{"jdk17", 17, 30, ""},
		{"jdk25", 25, 30, ""},
		// This JVM is killed at the end of the grace period, when the sidecar gets SIGTERM.
		{"deaf", 25, 5, linger},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			makeClaim(s, "logs", "ref")
			pod := jvmPod{
				Name: "app", JDK: end.jdk, Grace: end.grace, After: end.after,
				Java: much("600000"), Ref: "ref", Annotations: map[string]string{"dest": "pvc:logs", "xlog": muchLog},
			}
			s.apply(pod.manifest())
			s.ready("app")
			awaitLogging(s, "app")
			began := time.Now()
			s.kubectl("delete", "pod", "app", "--timeout=2m")
			took := time.Since(began)
			figures.add(fmt.Sprintf("pod deleted while its JVM logs (%s)", end.name), took.Round(100*time.Millisecond).String(), fmt.Sprintf("%d s", end.grace))

			pod.Java, pod.After = much("1500"), ""
			s.apply(pod.manifest())
			s.waitFor("pod/app", "jsonpath={.status.phase}=Succeeded", 2*time.Minute)
			refs, dest := readClaims(s, "app")
			if end.after == "" {
				bothLives(s.T, refs, dest, sameBytes)
			} else {
				bothLives(s.T, refs, dest, cutOff) // killed while it wrote
			}
			s.Logf("deleted in %s", took)
		})
	}
}

const muchLog = "gc*=debug,safepoint=info"

// much returns the arguments of a JVM that logs some megabytes a second, to the reference output too.
func much(milliseconds string) []string {
	return []string{"-Xmn1m", "-Xlog:" + muchLog + ":file=/ref/gc.log:" + decorations, "Churn", milliseconds, "100"}
}

func sameBytes(t *testing.T, written, persisted []byte) {
	t.Helper()
	same(t, string(written), string(persisted))
}
