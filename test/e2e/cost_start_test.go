package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	startLimit = 300 * time.Millisecond

	// How often a kubelet lists its containers. It starts the application's containers once it has seen the
	// sidecar run, so any sidecar (an init container with restartPolicy Always) adds up to a second.
	relist = time.Second
)

// The sidecar of a pod in TestStartCost.
const (
	beside       = "nothing"
	besideUllage = "ullage"
	besideSleep  = "sleep" // a sidecar that does nothing, to measure the kubelet's part
)

// Measures how much later a pod starts with the sidecar. Pods without a sidecar, with ours, and with an idle sidecar
// are created in turns, each after the previous pod has ended. The time between them is random, since otherwise the
// kubelet's relists would be in step with the pods' ends. A JVM logs the time of its first line in milliseconds. Its
// node's clock may differ from ours, but the difference is the same for all pods and cancels out. The first line of
// a sidecar divides the time: the part before it is due to the sidecar, the part after it is the kubelet's wait for
// its next relist and the start of the JVM's container.
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
			created[name] = startBeside(s, name, with)
		}
	}
	whole, sidecar, rest := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string][]time.Duration{}
	for i := 1; i <= rounds; i++ { // the first pods are left out, because the caches were cold
		for _, with := range []string{beside, besideUllage, besideSleep} {
			name := fmt.Sprintf("%s-%d", with, i)
			first := firstLine(s, name)
			whole[with] = append(whole[with], first.Sub(created[name]))
			if with != beside {
				runs := sidecarLine(s, name)
				sidecar[with], rest[with] = append(sidecar[with], runs.Sub(created[name])), append(rest[with], first.Sub(runs))
			}
		}
	}
	t.Logf("from creation to the JVM's first line: %v; to the sidecar's: %v; from there to the JVM's: %v", whole, sidecar, rest)
	without := median(whole[beside])
	what := fmt.Sprintf("start of a pod, creation to its JVM's first line, median of %d", rounds)
	figures.add(what+": without a sidecar", inMillis(without), "")
	figures.add(what+": ullage adds", inMillis(median(whole[besideUllage])-without), inMillis(startLimit))
	figures.add(what+": an idle sidecar adds, because of the kubelet", inMillis(median(whole[besideSleep])-without), "the kubelet's "+inMillis(relist))
	figures.add(what+": ullage adds more than an idle sidecar", inMillis(median(whole[besideUllage])-median(whole[besideSleep])), inMillis(startLimit))
	what = fmt.Sprintf("start of a pod, creation to its sidecar's first line, median of %d", rounds)
	figures.add(what+": ullage", inMillis(median(sidecar[besideUllage])), "")
	figures.add(what+": ullage, more than an idle sidecar", inMillis(median(sidecar[besideUllage])-median(sidecar[besideSleep])), inMillis(startLimit))
	what = "start of a pod, its sidecar's first line to its JVM's, least and most"
	figures.add(what+": ullage", leastAndMost(rest[besideUllage]), "the kubelet's "+inMillis(relist))
	figures.add(what+": an idle sidecar", leastAndMost(rest[besideSleep]), "the kubelet's "+inMillis(relist))
}

func leastAndMost(of []time.Duration) string {
	return inMillis(slices.Min(of)) + ", " + inMillis(slices.Max(of))
}

// startBeside creates a pod, waits until its JVM has ended, and returns when it
// was created, by our clock.
func startBeside(s *space, name, with string) time.Time {
	s.Helper()
	pod := jvmPod{Name: name, JDK: 25, NotInjected: with != besideUllage, Java: []string{"-Xlog:gc+init:stdout:timemillis", "-version"}}.object()
	if with == besideSleep {
		pod["spec"].(object)["initContainers"] = []any{object{
			"name": "sleep", "image": "localhost/tools:e2e", "imagePullPolicy": "Never", "restartPolicy": "Always",
			"command": []any{"sh", "-c", "trap exit TERM; echo runs; sleep 600 & wait"},
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
func firstLine(s *space, pod string) time.Time {
	s.Helper()
	if injected := s.field("pod/"+pod, ".spec.initContainers[*].name") == "ullage"; injected != strings.HasPrefix(pod, besideUllage) {
		s.Fatalf("%s: injected is %t, want the opposite", pod, injected)
	}
	line := startLine.FindStringSubmatch(s.kubectl("logs", pod, "-c", "app"))
	if line == nil {
		s.Fatalf("%s: the JVM has not logged the time of its start", pod)
	}
	ms, err := strconv.ParseInt(line[1], 10, 64)
	if err != nil {
		s.Fatal(err)
	}
	return time.UnixMilli(ms)
}

// sidecarLine returns when the sidecar of a pod printed its first line, by the same clock.
func sidecarLine(s *space, pod string) time.Time {
	s.Helper()
	name := s.field("pod/"+pod, ".spec.initContainers[0].name")
	word, _, _ := strings.Cut(s.kubectl("logs", pod, "-c", name, "--timestamps"), " ")
	at, err := time.Parse(time.RFC3339Nano, word)
	if err != nil {
		s.Fatalf("the first line of %s in %s: %v", name, pod, err)
	}
	return at
}
