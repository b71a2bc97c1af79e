package main

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/base/build"
)

// Exit codes of a JVM, and of a process that a signal ended.
const (
	exitOutOfMemory = 3 // with -XX:+ExitOnOutOfMemoryError; a program may use this code too
	exitSignal      = 128
)

// ends reports how the last run of each container of the application ended. Only Kubernetes knows that: a sidecar
// cannot see the cgroup of another container.
func (p pod) ends() []finding {
	var all []finding
	for _, st := range p.Status.ContainerStatuses {
		end := st.end()
		if end == nil || sidecarName.MatchString(st.Name) {
			continue
		}
		mark, text, hint := end.judge(p.limitOf(st.Name))
		if mark == "" {
			continue
		}
		at := "an unknown time"
		if !end.Finished.IsZero() {
			at = end.Finished.UTC().Format(time.RFC3339)
		}
		all = append(all, finding{mark, fmt.Sprintf("container %s ended at %s, exit code %d (%s), restarts %d: %s",
			st.Name, at, end.ExitCode, cmp.Or(end.Reason, "no reason given"), st.RestartCount, text), hint})
	}
	return all
}

// limitOf returns the memory limit of a container in the pod's spec, or nothing if it has none.
func (p pod) limitOf(name string) string {
	i := slices.IndexFunc(p.Spec.Containers, func(c container) bool { return c.Name == name })
	if i < 0 {
		return ""
	}
	return p.Spec.Containers[i].Resources.Limits["memory"]
}

// judge returns what the end of a container with a memory limit means. An empty mark means that it is not worth a
// finding.
func (s *stopped) judge(limit string) (mark, text, hint string) {
	const numbers = "the heap and the tmpfs at that time: kubectl exec POD -c ullage -- ullage logs --marks"
	switch {
	case s.Reason == statusUnknown:
		return markUnknown, "the kubelet does not know how: it has lost the container, as after a restart of the node, and puts in that exit code", "the events of the node"
	case s.Reason == oomKilled && limit != "":
		return markProblem, "the kernel killed a process of it for lack of memory; its limit is " + limit, numbers + "; what the limit must hold: " + build.Docs + "pods.md#memory"
	case s.Reason == oomKilled:
		return markProblem, "the kernel killed a process of it for lack of memory; it has no limit of its own", numbers
	case s.ExitCode == exitSigkill:
		return markProblem, "SIGKILL, and the runtime saw no lack of memory in its cgroup: a liveness probe, an end that took too long, or the node's own lack of memory", "kubectl describe pod, and the events of the node"
	case s.ExitCode == exitSignal+int(syscall.SIGABRT), s.ExitCode == exitSignal+int(syscall.SIGSEGV):
		return markProblem, "it crashed", "ullage logs --stream 'hs_err*' prints the JVM's report"
	case s.ExitCode == exitOutOfMemory:
		return markNote, "a JVM with -XX:+ExitOnOutOfMemoryError exits so", numbers
	case s.ExitCode != 0 && s.ExitCode != exitSignal+int(syscall.SIGTERM):
		return markNote, "it exited by itself", ""
	}
	return "", "", ""
}
