package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// While no injector runs, pods start without a sidecar and without delay. When an injector is back, new pods get a
// sidecar again.
func TestInjectorIsDownAndBack(t *testing.T) {
	s := newSpace(t)
	t.Cleanup(func() { s.must("", scale(2)) })
	s.must("", scale(0))
	s.eventually(time.Minute, "the injectors have ended", func() bool { return injectors(s) == "" })

	began := time.Now()
	warnings := s.apply(jvmPod{Name: "app", JDK: 25}.manifest())
	admitted := time.Since(began)
	s.ready("app")
	figures.add("injector down: kubectl apply of a pod with the label", fmt.Sprintf("%.2f s", admitted.Seconds()), "timeoutSeconds, 5 s")
	figures.add("injector down: from there until that pod is ready", fmt.Sprintf("%.2f s", (time.Since(began)-admitted).Seconds()), "")
	if warnings != "" {
		t.Errorf("while no injector runs, the warning is %s, want none", warnings)
	}
	if got := containersOf(s, "app"); got != "app" {
		t.Errorf("the pod has the containers %q, want app alone", got)
	}

	s.must("", scale(2))
	s.must("", injects(time.Minute))
	s.apply(jvmPod{Name: "later", JDK: 25}.manifest())
	if got := containersOf(s, "later"); got != "app ullage" {
		t.Errorf("with the injector back, a pod has the containers %q, want app and ullage", got)
	}
}

// A new version or new settings replace the injectors one after the other, and every pod that is created
// meanwhile gets a sidecar. Afterwards a pod with a bad annotation is refused, as the new settings demand.
func TestInjectorUpgradeMissesNoPod(t *testing.T) {
	s := newSpace(t)
	t.Cleanup(func() {
		s.must("", install())
		s.eventually(time.Minute, "the injectors that refuse have ended", func() bool { return len(strings.Fields(injectors(s))) == 2 })
	})
	before := injectors(s)
	pods := createPods(s, 50, 0)
	s.must("", install("--set", "onError=deny"))
	s.eventually(time.Minute, "the old injectors have ended", func() bool {
		now := strings.Fields(injectors(s))
		return len(now) == 2 && !strings.Contains(before, now[0]) && !strings.Contains(before, now[1])
	})
	created := pods.stop()
	figures.add("injector replaced: pods created meanwhile, all injected", fmt.Sprint(created), "at least 50")

	bad := jvmPod{Name: "bad", JDK: 25, Annotations: map[string]string{"buffer": "plenty"}}.manifest()
	_, err := kubectl(bad, "-n", s.name, "create", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "denied the request") || !strings.Contains(err.Error(), `ullage.dev/buffer "plenty"`) {
		t.Errorf("with onError=deny, a pod with a bad annotation was not refused with the name of the annotation: %v", err)
	}
	if _, err := s.try("get", "pod", "bad"); err == nil {
		t.Errorf("the refused pod exists, want no pod")
	}
}

// scale sets the number of injectors and waits until it is reached.
func scale(replicas int) error {
	if _, err := kubectl("", "-n", system, "scale", injector, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	_, err := kubectl("", "-n", system, "rollout", "status", injector, "--timeout", installIn.String())
	return err
}

// injectors returns the names of the injectors' pods, including pods that are ending.
func injectors(s *space) string {
	s.Helper()
	return s.must(kubectl("", "-n", system, "get", "pods", "-l", "app.kubernetes.io/name=ullage-injector", "-o", "jsonpath={.items[*].metadata.name}"))
}

// serving waits until two injectors are ready and not ending and returns the names of their pods.
func serving(s *space) []string {
	s.Helper()
	var names []string
	s.eventually(time.Minute, "two injectors serve", func() bool {
		text := s.must(kubectl("", "-n", system, "get", "pods", "-l", "app.kubernetes.io/name=ullage-injector", "-o", "json"))
		var err error
		names, err = servingIn(text)
		s.must("", err)
		return len(names) == 2
	})
	return names
}

// servingIn returns the names of the pods in a list that are ready and not ending.
func servingIn(list string) (names []string, err error) {
	var pods struct {
		Items []struct {
			Metadata struct{ Name, DeletionTimestamp string }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := json.Unmarshal([]byte(list), &pods); err != nil {
		return nil, fmt.Errorf("read a list of pods: %w", err)
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" && pod.Metadata.DeletionTimestamp == "" {
				names = append(names, pod.Metadata.Name)
			}
		}
	}
	return names, nil
}

// containersOf returns the names of a pod's containers and then of its init containers, according
// to the API server.
func containersOf(s *space, pod string) string {
	s.Helper()
	return strings.TrimSpace(s.field("pod/"+pod, ".spec.containers[*].name") + " " + s.field("pod/"+pod, ".spec.initContainers[*].name"))
}

// creations creates pods with the label, one after the other. Each is a dry run on the API server: the pod
// passes through all of admission, but is not stored.
type creations struct {
	*space
	least int
	every time.Duration
	end   chan struct{}
	over  chan struct{}

	created atomic.Int64
	missed  []string // kubectl's output for each batch in which a pod got no sidecar; read after over is closed
}

// batch is how many pods one kubectl creates: starting kubectl is most of the work.
const batch = 5

// createPods creates a batch at each interval, or without pause if the interval is 0. The creations end once stop is
// called and at least the given number of pods is created.
func createPods(s *space, least int, every time.Duration) *creations {
	c := &creations{space: s, least: least, every: every, end: make(chan struct{}), over: make(chan struct{})}
	go c.run()
	s.Cleanup(func() { c.finish() })
	s.eventually(time.Minute, "the first pods are created", func() bool { return c.created.Load() > 0 })
	return c
}

func (c *creations) run() {
	defer close(c.over)
	for number := 0; ; number++ {
		began := time.Now()
		c.create(number)
		select {
		case <-c.end:
			if int(c.created.Load()) >= c.least {
				return
			}
		case <-time.After(c.every - time.Since(began)):
		}
	}
}

// create creates a batch.
func (c *creations) create(number int) {
	var items []any
	for i := range batch {
		items = append(items, jvmPod{Name: fmt.Sprintf("created-%d-%d", number, i), JDK: 25}.object())
	}
	began := time.Now()
	out, warnings, err := command(manifest(object{"apiVersion": "v1", "kind": "List", "items": items}), "kubectl", "-n", c.name, "create", "-f", "-", "--dry-run=server",
		"-o", `jsonpath={.metadata.name} {.metadata.annotations.ullage\.dev/injected}{"\n"}`)
	injected := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"sidecar":"ullage"`) {
			injected++
		}
	}
	if injected != batch {
		c.missed = append(c.missed, fmt.Sprintf("%s to %s: %d of %d: %s%s%v", began.Format("15:04:05.000"), time.Now().Format("05.000"), batch-injected, batch, out, warnings, errorText(err)))
	}
	c.created.Add(batch)
}

func (c *creations) finish() {
	select {
	case <-c.end:
	default:
		close(c.end)
	}
	<-c.over
}

// stop returns how many pods were created. It fails the test if one of them was not injected.
func (c *creations) stop() int {
	c.Helper()
	c.finish()
	created := int(c.created.Load())
	for _, text := range c.missed {
		c.Errorf("not injected: %s", text)
	}
	if created < c.least {
		c.Errorf("%d pods were created, want at least %d", created, c.least)
	}
	c.Logf("%d pods were created", created)
	return created
}
