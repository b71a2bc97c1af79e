// Package plan decides about a pod: what is added to the pod and to the containers of its JVMs,
// which warnings its creator gets, and why it is refused. A plan holds only values. It does not
// depend on JSON or on the form of a patch.
package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Plan is the decision about a pod. The zero value leaves the pod unchanged.
type Plan struct {
	SharesProcesses bool // between its containers
	Volumes         []corev1.Volume
	PullSecrets     []string
	Sidecars        []corev1.Container // init containers
	Changes         []Change

	// Restarts are the sidecars of an injected pod whose lost restartPolicy is set again.
	Restarts []Restart

	Labelled    bool // as injected
	Annotations []Annotation

	Warnings []string

	// Injected means that the pod gets its sidecars, or that a broken sidecar is repaired.
	Injected bool

	// Refused, if not empty, is why the pod does not get a sidecar that it should have. Denied, if
	// not empty, says why the pod must not start.
	Refused ask.Reason
	Denied  string
}

// Change is the additions to a container with a JVM.
type Change struct {
	Container int // its index in the pod
	Mounts    []corev1.VolumeMount
	Memory    Memory
	Options   Options
	Env       []corev1.EnvVar
}

// Memory is a raised limit. The zero value leaves the limit as it is.
type Memory struct {
	Limit   string
	Request bool // the request is raised too
}

// Lists returns the lists of the container's resources to which the new limit is written.
func (m Memory) Lists() []string {
	switch {
	case m.Limit == "":
		return nil
	case m.Request:
		return []string{"limits", "requests"}
	}
	return []string{"limits"}
}

// Options are the options for the JVMs of a container, in a variable. Without options, Name is empty.
type Options struct {
	Name  string
	Index int // of the variable to replace; negative: the variable is added

	Old, Value string
}

// Restart is a sidecar that has lost its restartPolicy.
type Restart struct {
	Container int // its index among the init containers
	Env       []corev1.EnvVar
}

// Annotation is an annotation to set on the pod.
type Annotation struct{ Name, Value string }

// Bounds of the texts about a plan.
const (
	maxDenied   = 1000 // bytes of all problems
	maxWarnings = 10   // in the annotation, whose line may have at most 16 KiB: the sidecar refuses a longer one
)

// problem is why a pod can't be injected, and what to do about it.
type problem struct {
	reason ask.Reason
	text   string
}

// notes are the warnings and problems that are found while a plan is made.
type notes struct {
	warnings []string
	problems []problem
}

// warn adds a line for the person who creates the pod.
func (n *notes) warn(format string, args ...any) {
	n.warnings = append(n.warnings, printable.Text("ullage: "+fmt.Sprintf(format, args...), wish.MaxText))
}

// refuse adds a problem, so that the pod is not injected.
func (n *notes) refuse(reason ask.Reason, format string, args ...any) {
	n.problems = append(n.problems, problem{reason, fmt.Sprintf(format, args...)})
}
