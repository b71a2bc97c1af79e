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

// A Job completes although it has a sidecar, and its last line is persisted.
func TestJobCompletes(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		makeClaim(s, "logs", "ref")
		template := jvmPod{Name: "report", JDK: jdk, Java: []string{"Churn", "3000", "60"}, Ref: "ref", Annotations: onClaim}.template()
		s.apply(manifest(object{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": "report"},
			"spec": object{"backoffLimit": 0, "template": template},
		}))
		s.waitFor("job/report", "condition=Complete", 2*time.Minute)
		pod := s.field("pods", ".items[0].metadata.name")
		hasEnded(s, pod, "initContainerStatuses", "0 Completed")
		refs, dest := readClaims(s, pod)
		same(s.T, string(referenceIn(s.T, refs)), string(streamIn(s.T, dest, "gc-1.log")))
	})
}

// A JVM that is process 1 of its container is killed by kill -9 while it logs, and the container restarts. All
// lines of both lives are persisted.
func TestJVMKilled(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		makeClaim(s, "logs", "ref")
		s.apply(jvmPod{
			Name: "app", JDK: jdk, Java: steady,
			Ref: "ref", Annotations: onClaim, Restart: "Always",
		}.manifest())
		s.ready("app")
		kill := killer(s, "app")
		awaitLogging(s, "app")
		kill("KILL", "java *")
		s.waitFor("pod/app", "jsonpath={.status.containerStatuses[0].restartCount}=1", time.Minute)
		if code := s.field("pod/app", ".status.containerStatuses[0].lastState.terminated.exitCode"); code != "137" {
			s.Errorf("the exit code of the JVM is %s, want 137", code)
		}
		s.eventually(time.Minute, "the container runs again", func() bool {
			_, err := s.tryExec("app", "app", "true")
			return err == nil
		})
		until(s, "app", "app", "a second JVM", "[ -e /ref/gc.log.0 ]")
		awaitLogging(s, "app")
		s.kubectl("delete", "pod", "app")
		refs, dest := readClaims(s, "app")
		bothLives(s.T, refs, dest, cutOff)
	})
}

// A JVM exceeds the memory limit of its container, to which the tmpfs is charged too, and the kernel kills it.
// Everything that it logged is persisted.
func TestJVMOutOfMemory(t *testing.T) {
	eachJDK(t, func(s *space, jdk int) {
		makeClaim(s, "logs", "ref")
		s.apply(jvmPod{
			// Objects that survive a collection are promoted at once. They fill the old generation, which is far
			// larger than the limit.
			Name: "app", JDK: jdk, Java: []string{"-Xms1g", "-Xmx1g", "-Xmn8m", "-XX:MaxTenuringThreshold=0", "Churn", "60000", "400"},
			Memory: "128Mi", Ref: "ref", Annotations: onClaim,
		}.manifest())
		s.waitFor("pod/app", "jsonpath={.status.phase}=Failed", 2*time.Minute)
		hasEnded(s, "app", "containerStatuses", "137 OOMKilled")
		hasEnded(s, "app", "initContainerStatuses", "0 Completed")
		refs, dest := readClaims(s, "app")
		cutOff(s.T, referenceIn(s.T, refs), streamIn(s.T, dest, "gc-1.log"))
	})
}

// onClaim are the annotations of a pod whose durable copy is on the claim "logs". Its reference
// output is on another claim: the kubelet never starts a pod that has two volumes of the same
// claim.
var onClaim = map[string]string{"dest": "pvc:logs"}

// readClaims returns a directory with the reference outputs, and one with a pod's durable copy.
func readClaims(s *space, pod string) (refs, dest string) {
	s.Helper()
	return readClaim(s, "ref"), filepath.Join(readClaim(s, "logs"), s.name, pod)
}

// steady are the arguments of a JVM that logs about twenty collections a second.
var steady = []string{"-Xmn4m", "Churn", "600000", "60"}

// eachJDK runs a test with each JDK, each time in a separate namespace.
func eachJDK(t *testing.T, test func(s *space, jdk int)) {
	t.Parallel()
	for _, jdk := range jdks {
		t.Run(fmt.Sprintf("jdk%d", jdk), func(t *testing.T) {
			t.Parallel()
			test(newSpace(t), jdk)
		})
	}
}

// hasEnded requires that the first container of a list in the pod's status has ended with this exit code and reason.
func hasEnded(s *space, pod, list, want string) {
	s.Helper()
	ended := ".status." + list + "[0].state.terminated"
	if got := s.field("pod/"+pod, ended+".exitCode} {"+ended+".reason"); got != want {
		s.Errorf("the first of %s has ended with %q, want %q", list, got, want)
	}
}

// awaitLogging waits until the JVM has logged a hundred collections.
func awaitLogging(s *space, pod string) {
	s.Helper()
	until(s, pod, "app", "a hundred collections", "[ $(grep -c Pause /ref/gc.log) -ge 100 ]")
}

// linger keeps a container running after its JVM, which is not process 1, has ended. It creates the file /ref/ended,
// by which writtenBy recognizes the end of the JVM.
const linger = "touch /ref/ended; sleep 600"

// endOf terminates the JVM in a container that lingers, and returns everything that it wrote.
func endOf(s *space, pod, container string) string {
	s.Helper()
	s.exec(pod, container, "sh", "-c", "kill $(pidof java)")
	return writtenBy(s, pod, container)
}

// writtenBy waits for the end of the JVM in a container that lingers and returns its reference
// output. A kubectl exec may lose the end of a program's output, so the size comes first.
func writtenBy(s *space, pod, container string) string {
	s.Helper()
	until(s, pod, container, "the end of the JVM in "+container, "[ -e /ref/ended ]")
	var text string
	s.eventually(time.Minute, "the whole log of the JVM in "+container, func() bool {
		out := s.exec(pod, container, "sh", "-c", "wc -c </ref/gc.log && cat /ref/gc.log")
		var size string
		size, text, _ = strings.Cut(out, "\n")
		return size == strconv.Itoa(len(text))
	})
	return text
}

// bothLives compares the reference outputs of two JVMs, in refs, with the persisted lines in dest. The
// parameter first is the comparison for the first JVM, which depends on how that JVM ended.
func bothLives(t *testing.T, refs, dest string, first func(t *testing.T, written, persisted []byte)) {
	t.Helper()
	written := [2][]byte{readIn(t, refs, "gc.log.0"), readIn(t, refs, "gc.log")}
	persisted := persistedIn(t, dest)
	before, ok := bytes.CutSuffix(persisted, written[1])
	if !ok {
		same(t, string(bytes.Join(written[:], nil)), string(persisted)) // says what differs
		t.Fatal("the persisted log does not end with the log of the second life")
	}
	same(t, string(written[1]), string(persisted[len(before):]))
	first(t, written[0], before)
}

func readIn(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// persistedIn returns all streams of JVMs in dest in chronological order: each stream begins with a
// time.
func persistedIn(t *testing.T, dest string) []byte {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(dest, "gc-*.log"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no stream in %s: %v", dest, err)
	}
	var streams [][]byte
	for _, dir := range dirs {
		streams = append(streams, streamIn(t, dest, filepath.Base(dir)))
	}
	slices.SortFunc(streams, bytes.Compare)
	return bytes.Join(streams, nil)
}

// cutOff requires that the persisted log of a killed JVM is identical to the JVM's second output, except for at most one
// more message at its end: the JVM writes each message to the shipped output first, and may have been killed after that.
func cutOff(t *testing.T, written, persisted []byte) {
	t.Helper()
	more, ok := bytes.CutPrefix(persisted, written)
	if !ok {
		same(t, string(written), string(persisted)) // says what differs
		t.Fatal("the persisted log does not begin with the written one")
	}
	same(t, string(written), string(persisted[:len(written)]))
	if headers := bytes.Count(more, []byte("\n[")); headers > 0 {
		t.Errorf("want at most one message more than in the reference output, got %.2000q", more)
	}
	t.Logf("%d lines, byte-identical, and %d bytes more in the shipped output", bytes.Count(written, []byte("\n")), len(more))
}
