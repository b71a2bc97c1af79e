package main

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/mark"
)

// Exit codes of a JVM, and of a process that a signal ended.
const (
	exitOutOfMemory = 3 // with -XX:+ExitOnOutOfMemoryError; a program may also use this code
	exitSignal      = 128
)

// noticed is the longest time from the end of a container until its sidecar notices the end of the JVM. The sidecar
// looks every 5 s.
const noticed = 30 * time.Second

// ends reports how the last run of each container of the application ended. Only Kubernetes knows how a container
// ended: a sidecar cannot see the cgroup of another container. Crash reports are known only from the answers of the
// sidecars.
func (p pod) ends(answers []answer) []finding {
	var all []finding
	for _, st := range p.Status.ContainerStatuses {
		end := st.end()
		if end == nil || sidecarName.MatchString(st.Name) {
			continue
		}
		mark, text, hint := end.judge(p.limitOf(st.Name), p.witnesses(st.Name, answers))
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

// witnesses returns the status of each sidecar that ships the log of a container. If the injector did not record which
// sidecar that is, witnesses returns the status of every sidecar of the pod.
func (p pod) witnesses(container string, answers []answer) (all []admin.Status) {
	injected, _ := ask.ParseStatus(p.Metadata.Annotations[ask.InjectedAnnotation])
	i := slices.IndexFunc(injected.JVMs, func(j ask.JVM) bool { return j.Container == container })
	for _, a := range answers {
		if a.err == nil && (i < 0 || injected.JVMs[i].Sidecar == a.of.container.Name) {
			all = append(all, a.status)
		}
	}
	return all
}

const readReport = "kubectl ullage logs POD --stream 'hs_err*' prints the JVM's report"

// judgeExit explains an exit code that the program itself seems to have chosen. It looks for crash reports, because
// with -XX:-CreateCoredumpOnCrash, a JVM that crashes exits with 1 and sends itself no signal.
func (s *stopped) judgeExit(witnesses []admin.Status) (verdict, text, hint string) {
	var reports int64
	for _, st := range witnesses {
		reports += st.JVMCrashes
		if e := st.JVMEnd; e != nil && e.How == mark.Crashed && !e.At.Before(s.Finished) && e.At.Sub(s.Finished) < noticed {
			return markProblem, "its JVM crashed", readReport
		}
	}
	if reports > 0 {
		return markNote, fmt.Sprintf("it exited by itself, or its JVM crashed: the sidecar has seen crash reports (%d)", reports), readReport
	}
	return markNote, "it exited by itself", ""
}

// judge returns what the end of a container with a memory limit means. An empty mark means that it is not worth a
// finding.
func (s *stopped) judge(limit string, witnesses []admin.Status) (verdict, text, hint string) {
	const numbers = "the heap and the tmpfs at that time: kubectl ullage logs POD --marks"
	switch {
	case s.Reason == statusUnknown:
		return markUnknown, "the kubelet does not know how: it lost the container, as after a restart of the node, and reports this exit code", "the events of the node"
	case s.Reason == oomKilled && limit != "":
		return markProblem, "the kernel killed one of its processes for lack of memory; its limit is " + limit, numbers + "; what the limit must hold: " + build.Docs + "pods.md#memory"
	case s.Reason == oomKilled:
		return markProblem, "the kernel killed one of its processes for lack of memory; it has no limit of its own", numbers
	case s.ExitCode == exitSigkill:
		return markProblem, "SIGKILL, but the runtime saw no lack of memory in its cgroup: a liveness probe, a shutdown that took too long, or a lack of memory on the node", "see kubectl describe pod, and the events of the node"
	case s.ExitCode == exitSignal+int(syscall.SIGABRT), s.ExitCode == exitSignal+int(syscall.SIGSEGV):
		return markProblem, "it crashed", readReport
	case s.ExitCode == exitOutOfMemory:
		return markNote, "a JVM with -XX:+ExitOnOutOfMemoryError exits this way", numbers
	case s.ExitCode != 0 && s.ExitCode != exitSignal+int(syscall.SIGTERM):
		return s.judgeExit(witnesses)
	}
	return "", "", ""
}
