package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/footprint"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// footprintOf estimates how much memory the JVM of a container can take at most.
func footprintOf(c *pod.Container, w *wish.Wishes) footprint.Estimate {
	shown := footprint.Container{Command: c.Command, Args: c.Args, Limit: c.MemoryLimit, Log: int64(w.Tmpfs())}
	for _, e := range c.Env {
		shown.Env = append(shown.Env, footprint.Variable{Name: e.Name, Value: e.Value})
	}
	return footprint.Of(shown)
}

// planMemory compares the memory that the JVM of a container may take with the container's limit: the
// kernel kills a container over its limit, and the log on the tmpfs counts towards the limit. It
// returns whether the limit is raised, and whether the heap must then be kept from growing with the
// limit.
func planMemory(c *pod.Container, w *wish.Wishes, n *notes) (raised, pin bool) {
	limit := c.MemoryLimit
	if limit == 0 {
		return false, false
	}
	log, estimate, fixed := int64(w.Tmpfs()), footprintOf(c, w), fixedLimit(c)
	if w.Raise && fixed == "" {
		if raised := estimate.Raised(); raised.Exceeds() {
			n.warn("container %.80q may take more than its raised memory limit of %d MiB, and be killed: %s: %s", c.Name, (limit+log)>>20, raised.Parts(), raised.Advice(""))
		}
		return true, estimate.HeapGrows()
	}
	option := ""
	if fixed == "" {
		option = fmt.Sprintf("set %s%s: \"true\"", ask.Prefix, wish.RaiseMemoryLimit)
	}
	switch {
	case w.Raise:
		n.warn("the memory limit of container %.80q is not raised: %s", c.Name, fixed)
	case estimate.Exceeds():
		n.warn("container %.80q may use more than its memory limit of %d MiB, and be killed: %s: %s", c.Name, limit>>20, estimate.Parts(), estimate.Advice(option))
	case log > limit/4: // according to the estimate, the heap fits
		n.warn("%s and counts as memory of container %.80q, whose limit is %d MiB: raise the limit, or use a smaller buffer", tmpfsText(w), c.Name, limit>>20)
	}
	return false, false
}

// tmpfsText begins a warning with the annotations that set the size of the tmpfs.
func tmpfsText(w *wish.Wishes) string {
	text := fmt.Sprintf("%s%s is %s", ask.Prefix, wish.Buffer, w.Buffer)
	if w.Events > 0 {
		text += fmt.Sprintf(", with %s%s %s,", ask.Prefix, wish.Events, w.Tmpfs())
	}
	return text
}

// fixedLimit says why the memory limit of a container must not be raised, or returns "" if it may be raised.
func fixedLimit(c *pod.Container) string {
	switch {
	case c.Pod.HasWhole():
		return "the pod has pod-level resources, which limit its containers: raise them by the size of the tmpfs"
	case !pod.IsLimited(c.Container, corev1.ResourceMemory):
		return "it has no limit of its own"
	}
	return ""
}

// raiseLimit raises the limit of a container by the size of the tmpfs. If the request equals the limit,
// the request is raised too, so that a pod of QoS class Guaranteed stays in that class. If there is no
// request, Kubernetes uses the raised limit as the request.
func raiseLimit(c *pod.Container, w *wish.Wishes) Memory {
	limit := c.Resources.Limits[corev1.ResourceMemory]
	request, ok := c.Resources.Requests[corev1.ResourceMemory]
	more := wish.Plus(limit, w.Tmpfs())
	return Memory{Limit: more.String(), Request: ok && request.Cmp(limit) == 0}
}
