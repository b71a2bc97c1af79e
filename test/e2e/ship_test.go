package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/jvm"
)

// A pod with the label is injected, and each line of its JVM is persisted exactly once, with any
// destination and JDK.
func TestEveryDestinationHoldsEachLineOnce(t *testing.T) {
	t.Parallel()
	for _, jdk := range []int{17, 25} {
		for _, kind := range []string{"emptyDir", "pvc", "ephemeral"} {
			t.Run(fmt.Sprintf("jdk%d/%s", jdk, kind), func(t *testing.T) {
				t.Parallel()
				s := newSpace(t)
				dest := kind
				switch kind {
				case "pvc":
					makeClaim(s, "logs")
					dest = "pvc:logs"
				case "ephemeral":
					dest = "ephemeral:64Mi:" + classOf(s, "logs")
				}
				s.apply(jvmPod{
					Name: "app", JDK: jdk, Java: []string{"Churn", "6000", "60"}, After: linger,
					Annotations: map[string]string{"dest": dest},
				}.manifest())
				s.ready("app")
				sameAsReference(s, "app")
			})
		}
	}
}

// sameAsReference waits until the JVM of a pod, which is not process 1 of its container, has ended,
// and compares its reference output with the persisted lines.
func sameAsReference(s *space, pod string) {
	s.Helper()
	written := writtenBy(s, pod, "app")
	var got string
	s.eventually(time.Minute, "the durable copy has the last line", func() bool {
		got = s.exec(pod, "ullage", "ullage", "logs", "/var/lib/ullage")
		return len(got) >= len(written)
	})
	same(s.T, written, got)
}

// same compares the lines that a JVM wrote with the persisted lines. changes are the times at which
// the level of the shipped output changed.
func same(t *testing.T, written, persisted string, changes ...time.Time) {
	t.Helper()
	c := jvm.Compare([]byte(written), []byte(persisted), changes...)
	if c.Written < 10 || !strings.Contains(written, "Pause") {
		t.Errorf("the JVM logged %d lines, want at least 10, among them pauses: too few to prove anything", c.Written)
	}
	if !c.Same() {
		t.Errorf("the shipped lines differ: %v", c)
	}
}
