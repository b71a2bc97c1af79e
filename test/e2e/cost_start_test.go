package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	startLimit = 300 * time.Millisecond

	// How often a kubelet looks at its containers. It starts those of the
	// application when it has seen the sidecar run, so what any sidecar
	// (an init container with restartPolicy Always) adds is up to a second.
	relist = time.Second
)

// What a pod of TestStartCost has beside its JVM.
const (
	beside       = "nothing"
	besideUllage = "ullage"
	besideSleep  = "sleep" // a sidecar that does nothing, to know the kubelet's part
)

// A pod with the sidecar starts later. Pods without, with, and with another
// sidecar are created in turns, each after the one before has run, and at
// random, since their ends and the kubelet's look at containers are in step. A
// JVM tells when it logs its first line, with milliseconds; the clock of its
// node need not be ours, but the difference is the same for all pods, and goes
// out.
func TestStartCost(t *testing.T) {
	s := newSpace(t)
	rounds := 4
	if os.Getenv("ULLAGE_E2E_LONG") != "" {
		rounds = 12
	}
	created := map[string]time.Time{}
	for i := range rounds + 1 {
		for _, with := range []string{beside, besideUllage, besideSleep} {
			name := fmt.Sprintf("%s-%d", with, i)
			time.Sleep(rand.N(relist))
			created[name] = s.startBeside(name, with)
		}
	}
	took := map[string][]time.Duration{}
	for i := 1; i <= rounds; i++ { // the first ones have found cold caches
		for _, with := range []string{beside, besideUllage, besideSleep} {
			name := fmt.Sprintf("%s-%d", with, i)
			took[with] = append(took[with], s.firstLine(name).Sub(created[name]))
		}
	}
	t.Logf("from creation to the JVM's first line: %v", took)
	without, with, other := median(took[beside]), median(took[besideUllage]), median(took[besideSleep])
	what := fmt.Sprintf("start of a pod, creation to its JVM's first line, median of %d", rounds)
	figures.add(what+": without a sidecar", inMillis(without), "")
	figures.add(what+": ullage adds", inMillis(with-without), inMillis(startLimit))
	figures.add(what+": a sidecar that does nothing adds, by the kubelet", inMillis(other-without), "")
}

// startBeside creates a pod, waits until its JVM has ended, and returns when it
// was created, by our clock.
func (s *space) startBeside(name, with string) time.Time {
	s.Helper()
	pod := jvmPod{Name: name, JDK: 25, NotInjected: with != besideUllage, Java: []string{"-Xlog:gc+init:stdout:timemillis", "-version"}}.object()
	if with == besideSleep {
		pod["spec"].(object)["initContainers"] = []any{object{
			"name": "sleep", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "restartPolicy": "Always",
			"command": []any{"sh", "-c", "trap exit TERM; sleep 600 & wait"},
		}}
	}
	text := manifest(pod)
	now := time.Now()
	s.must(kubectl(text, "-n", s.name, "create", "-f", "-"))
	s.waitFor("pod/"+name, "jsonpath={.status.containerStatuses[0].state.terminated.reason}=Completed", time.Minute)
	return now
}

var startLine = regexp.MustCompile(`(?m)^\[(\d+)ms\]`)

// firstLine returns when the JVM of a pod logged its first line, by its node's
// clock.
func (s *space) firstLine(pod string) time.Time {
	s.Helper()
	if injected := s.field("pod/"+pod, ".spec.initContainers[*].name") == "ullage"; injected != strings.HasPrefix(pod, besideUllage) {
		s.Fatalf("%s: injected is %t", pod, injected)
	}
	line := startLine.FindStringSubmatch(s.kubectl("logs", pod, "-c", "app"))
	if line == nil {
		s.Fatalf("%s: the JVM has not said when it started", pod)
	}
	ms, err := strconv.ParseInt(line[1], 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return time.UnixMilli(ms)
}
