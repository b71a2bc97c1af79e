package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var jdks = []int{17, 25}

// A Job completes in spite of its sidecar, and then its last line is persisted.
func TestJobCompletes(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		s.claim("logs", "ref")
		template := jvmPod{Name: "report", JDK: jdk, Java: []string{"Churn", "3000", "60"}, Ref: "ref", Annotations: onClaim}.template()
		s.apply(manifest(object{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": "report"},
			"spec": object{"backoffLimit": 0, "template": template},
		}))
		s.waitFor("job/report", "condition=Complete", 2*time.Minute)
		pod := s.field("pods", ".items[0].metadata.name")
		s.hasEnded(pod, "initContainerStatuses", "0 Completed")
		refs, dest := s.readClaims(pod)
		s.same(string(s.referenceIn(refs)), string(s.stream(dest, "gc-1.log")))
	})
}

// A JVM, process 1 as mostly, is killed by kill -9 while it logs, and its
// container starts again: all lines of both lives are persisted.
func TestJVMKilled(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		s.claim("logs", "ref")
		s.apply(jvmPod{
			Name: "app", JDK: jdk, Java: steady,
			Ref: "ref", Annotations: onClaim, Restart: "Always",
		}.manifest())
		s.ready("app")
		kill := s.killer("app")
		s.logging("app")
		kill("KILL", "java *")
		s.waitFor("pod/app", "jsonpath={.status.containerStatuses[0].restartCount}=1", time.Minute)
		if code := s.field("pod/app", ".status.containerStatuses[0].lastState.terminated.exitCode"); code != "137" {
			s.Errorf("the exit code of the JVM is %s, not 137", code)
		}
		s.eventually(time.Minute, "a container that runs again", func() bool {
			_, err := s.tryExec("app", "app", "true")
			return err == nil
		})
		s.until("app", "app", "a second JVM", "[ -e /ref/gc.log.0 ]")
		s.logging("app")
		s.kubectl("delete", "pod", "app")
		refs, dest := s.readClaims("app")
		s.bothLives(refs, dest, s.cutOff)
	})
}

// A JVM grows beyond the limit of its container, to which the tmpfs is charged
// as well, and the kernel kills it: all that it logged is persisted.
func TestJVMOutOfMemory(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		s.claim("logs", "ref")
		s.apply(jvmPod{
			// What survives a collection is promoted at once. It fills the old
			// generation, which is far larger than the limit.
			Name: "app", JDK: jdk, Java: []string{"-Xms1g", "-Xmx1g", "-Xmn8m", "-XX:MaxTenuringThreshold=0", "Churn", "60000", "400"},
			Memory: "128Mi", Ref: "ref", Annotations: onClaim,
		}.manifest())
		s.waitFor("pod/app", "jsonpath={.status.phase}=Failed", 2*time.Minute)
		s.hasEnded("app", "containerStatuses", "137 OOMKilled")
		s.hasEnded("app", "initContainerStatuses", "0 Completed")
		refs, dest := s.readClaims("app")
		s.cutOff(s.referenceIn(refs), s.stream(dest, "gc-1.log"))
	})
}

// onClaim are the annotations of a pod whose durable copy is on the claim
// "logs". Its reference output is on another one: the kubelet never starts a
// pod that has two volumes of one claim.
var onClaim = map[string]string{"dest": "pvc:logs"}

// readClaims returns a directory with the reference outputs, and one with what
// was persisted of a pod.
func (v *volumes) readClaims(pod string) (refs, dest string) {
	v.Helper()
	return v.readClaim("ref"), filepath.Join(v.readClaim("logs"), v.name, pod)
}

// steady are the arguments of a JVM that logs some twenty collections a second.
var steady = []string{"-Xmn4m", "Churn", "600000", "60"}

// eachJDK runs a test with each JDK, in a namespace of its own.
func eachJDK(t *testing.T, test func(s *space, jdk int)) {
	t.Parallel()
	for _, jdk := range jdks {
		t.Run(fmt.Sprintf("jdk%d", jdk), func(t *testing.T) {
			t.Parallel()
			test(newSpace(t), jdk)
		})
	}
}

// hasEnded requires of the first container of a list in the pod's status that
// it has ended so: exit code and reason.
func (l *lives) hasEnded(pod, list, want string) {
	l.Helper()
	ended := ".status." + list + "[0].state.terminated"
	if got := l.field("pod/"+pod, ended+".exitCode} {"+ended+".reason"); got != want {
		l.Errorf("the first of %s has ended with %q, not with %q", list, got, want)
	}
}

// logging waits until the JVM has logged a hundred collections.
func (l *lives) logging(pod string) {
	l.Helper()
	l.until(pod, "app", "a hundred collections", "[ $(grep -c Pause /ref/gc.log) -ge 100 ]")
}

// linger keeps a container, in which the JVM is not process 1, when that has
// ended, and says so: see written.
const linger = "touch /ref/ended; sleep 600"

// ended asks the JVM in a container that lingers to end, and returns all that it
// wrote.
func (l *lives) ended(pod, container string) string {
	l.Helper()
	l.exec(pod, container, "sh", "-c", "kill $(pidof java)")
	return l.written(pod, container)
}

// written waits for the end of the JVM in a container that lingers, and returns
// what it wrote. A kubectl exec may lose the end of what the program prints, so the
// size comes first.
func (l *lives) written(pod, container string) string {
	l.Helper()
	l.until(pod, container, "the end of the JVM in "+container, "[ -e /ref/ended ]")
	var text string
	l.eventually(time.Minute, "the whole log of the JVM in "+container, func() bool {
		out := l.exec(pod, container, "sh", "-c", "wc -c </ref/gc.log && cat /ref/gc.log")
		var size string
		size, text, _ = strings.Cut(out, "\n")
		return size == strconv.Itoa(len(text))
	})
	return text
}

// bothLives compares the reference outputs of two JVMs, in refs, with what was
// persisted in dest. How the first has ended, its comparison knows.
func (a *accounts) bothLives(refs, dest string, first func(written, persisted []byte)) {
	a.Helper()
	written := [2][]byte{a.read(refs, "gc.log.0"), a.read(refs, "gc.log")}
	persisted := a.persisted(dest)
	before, ok := bytes.CutSuffix(persisted, written[1])
	if !ok {
		a.same(string(bytes.Join(written[:], nil)), string(persisted)) // says what differs
		a.Fatal("the second life does not stand behind the first")
	}
	a.same(string(written[1]), string(persisted[len(before):]))
	first(written[0], before)
}

func (a *accounts) read(dir, name string) []byte {
	a.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		a.Fatal(err)
	}
	return data
}

// persisted returns all streams of JVMs in dest, which begin with a time, in
// their order.
func (a *accounts) persisted(dest string) []byte {
	a.Helper()
	dirs, err := filepath.Glob(filepath.Join(dest, "gc-*.log"))
	if err != nil || len(dirs) == 0 {
		a.Fatalf("no stream in %s: %v", dest, err)
	}
	var streams [][]byte
	for _, dir := range dirs {
		streams = append(streams, a.stream(dest, filepath.Base(dir)))
	}
	slices.SortFunc(streams, bytes.Compare)
	return bytes.Join(streams, nil)
}

// cutOff requires that what was persisted of a JVM that was killed is what it
// wrote. To the first output, ours, it may have written one message more than
// to the second.
func (a *accounts) cutOff(written, persisted []byte) {
	a.Helper()
	more, ok := bytes.CutPrefix(persisted, written)
	if !ok {
		a.same(string(written), string(persisted)) // says what differs
		a.Fatal("what was persisted does not begin with what was written")
	}
	a.same(string(written), string(persisted[:len(written)]))
	if headers := bytes.Count(more, []byte("\n[")); headers > 0 {
		a.Errorf("more than one message more: %.2000q", more)
	}
	a.Logf("%d lines, byte-identical, and %d bytes more in the output that is written first", bytes.Count(written, []byte("\n")), len(more))
}
