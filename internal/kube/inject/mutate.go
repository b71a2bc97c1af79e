package inject

import (
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/patch"
	"github.com/ullage/ullage/internal/kube/inject/plan"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Result is the decision about a pod.
type Result struct {
	// Patch changes the pod. If it is empty, the pod stays as it is.
	Patch []patch.Op

	// Warnings are for the person who creates the pod, one line each.
	Warnings []string

	// Injected means that Patch adds or repairs the sidecar. It is false for a pod that already has
	// an intact sidecar.
	Injected bool

	// Refused, if not empty, is why the pod does not get a sidecar that it should
	// have. Unless the pod is denied, Patch then adds annotations that say so.
	Refused ask.Reason

	// Denied, if not empty, is why the pod must not start.
	Denied string
}

// Mutate decides about a pod that is about to be created in the namespace. text is the pod as
// JSON, as the API server sends it. Mutate injects any pod that does not opt out with the
// label ullage.dev/inject: "false". The caller must have checked that the pod or its namespace
// opts in. cfg must be valid. Mutate returns an error if text is not a pod.
func Mutate(text []byte, namespace string, cfg wish.Config) (Result, error) {
	p, err := pod.Read(text)
	if err != nil {
		return Result{}, err
	}
	return decide(p, namespace, cfg), nil
}

// Template does the work of [Mutate] for the pods of a template, which no API server has seen yet.
// claimed are the names of the volumes that the pods get from the claims of a StatefulSet.
func Template(text []byte, namespace string, claimed []string, cfg wish.Config) (Result, error) {
	p, err := pod.Read(text)
	if err != nil {
		return Result{}, err
	}
	p.Claimed, p.Offline = claimed, true
	return decide(p, namespace, cfg), nil
}

func decide(p *pod.Pod, namespace string, cfg wish.Config) Result {
	var made plan.Plan
	switch earlier, injected := plan.Injected(p); {
	case p.OptsOut():
	case injected:
		made = plan.Repair(p, earlier)
	default:
		made = plan.Make(p, namespace, wish.Read(p.Annotations, namespace, cfg), earlier)
	}
	return Result{patch.Write(p.Tree, made), made.Warnings, made.Injected, made.Refused, made.Denied}
}
