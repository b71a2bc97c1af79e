// Package plan decides about a pod: what is added to it and to the containers of its JVMs, of
// what its creator is warned, and why it is refused. A plan is values alone; it knows neither
// JSON nor what a patch looks like.
package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Plan is the decision about a pod. The zero value leaves it as it is.
type Plan struct {
	SharesProcesses bool // between its containers
	Volumes         []corev1.Volume
	PullSecrets     []string
	Sidecars        []corev1.Container // init containers
	Changes         []Change

	// Restarts are the sidecars of an injected pod that get their restartPolicy back.
	Restarts []Restart

	Labelled    bool // as one that is injected
	Annotations []Annotation

	Warnings []string

	// Injected says that the pod gets its sidecars, or a working one again.
	Injected bool

	// Refused, if not empty, is why the pod gets no sidecar that it should have. If Denied is not
	// empty, it says why the pod must not start.
	Refused ask.Reason
	Denied  string
}

// Change is what is added to a container with a JVM.
type Change struct {
	Container int // among the pod's
	Mounts    []corev1.VolumeMount
	Memory    Memory
	Options   Options
	Env       []corev1.EnvVar
}

// Memory is a limit that is raised. The zero value leaves it as it is.
type Memory struct {
	Limit   string
	Request bool // it is raised as well
}

// Lists are those of the container's resources that the limit is written into.
func (m Memory) Lists() []string {
	switch {
	case m.Limit == "":
		return nil
	case m.Request:
		return []string{"limits", "requests"}
	}
	return []string{"limits"}
}

// Options are those of the JVMs of a container, in a variable. Without a name there are none.
type Options struct {
	Name  string
	Index int // of the variable that is replaced; negative: it is added

	Old, Value string
}

// Restart is a sidecar that has lost its restartPolicy.
type Restart struct {
	Container int // among the pod's init containers
	Env       []corev1.EnvVar
}

// Annotation is set on the pod.
type Annotation struct{ Name, Value string }

// Bounds of what is said of a plan.
const (
	maxDenied   = 1000 // bytes of all problems together
	maxWarnings = 10   // in the annotation: the sidecar reads those of at most 16 KiB
)

// problem is why a pod can't be injected, and what to do about it.
type problem struct {
	reason ask.Reason
	text   string
}

// notes are what is said of a plan while it is made.
type notes struct {
	warnings []string
	problems []problem
}

// warn adds a line for the person who creates the pod.
func (n *notes) warn(format string, args ...any) {
	n.warnings = append(n.warnings, printable.Text("ullage: "+fmt.Sprintf(format, args...), wish.MaxText))
}

// refuse adds a problem: the pod is not injected.
func (n *notes) refuse(reason ask.Reason, format string, args ...any) {
	n.problems = append(n.problems, problem{reason, fmt.Sprintf(format, args...)})
}
