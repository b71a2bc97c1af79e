package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Make decides about a pod without a sidecar in the namespace. earlier is the status that an earlier call wrote.
func Make(p *pod.Pod, namespace string, w wish.Wishes, earlier ask.Status) Plan {
	var n notes
	if namespace == "kube-system" {
		n.warn("not injected: the injector never changes pods in kube-system")
		return Plan{Warnings: n.warnings, Refused: ask.Unsuitable}
	}
	for _, text := range w.Warnings {
		n.warn("%s", text)
	}
	unsuitable := p.Unsuitable()
	if unsuitable != "" {
		n.refuse(ask.Unsuitable, "%s", unsuitable)
	} else {
		for _, text := range w.Problems {
			n.refuse(ask.BadAnnotation, "%s", text)
		}
		findClashes(p, &n)
	}
	chosen := choose(p, w.Containers, earlier, &n)
	if len(n.problems) == 0 { // an injection needs valid wishes
		if made := injection(p, chosen, &w, &n); len(n.problems) == 0 {
			return made
		}
	}
	switch {
	case unsuitable != "":
		n.problems = n.problems[:1] // another problem would not matter
	case w.Deny:
		return denial(n.problems)
	}
	return refusal(p, chosen, n.problems)
}

// denial returns the plan for a pod that can't be injected and must not start without a sidecar.
func denial(problems []problem) Plan {
	var texts []string
	for _, p := range problems {
		texts = append(texts, p.text)
	}
	return Plan{Refused: problems[0].reason, Denied: printable.Text("ullage: "+strings.Join(texts, "; "), maxDenied)}
}

// refusal returns the plan for a pod that starts as it is. The pod of a Deployment is
// created by a controller, which shows no warnings, so the problems are also
// annotated on the pod.
func refusal(p *pod.Pod, chosen []int, problems []problem) Plan {
	var n notes // the earlier warnings, which are about an injection, are left out
	s := ask.Status{Refused: problems[0].reason}
	for _, i := range chosen {
		s.Containers = append(s.Containers, p.Spec.Containers[i].Name)
	}
	for _, problem := range problems {
		n.warn("not injected: %s", problem.text)
		if len(s.Errors) < maxWarnings {
			s.Errors = append(s.Errors, printable.Text(problem.text, wish.MaxText))
		}
	}
	return Plan{Annotations: report(p, s), Warnings: n.warnings, Refused: s.Refused}
}

// injection returns the plan for a pod whose chosen containers get their sidecars, or an empty plan if it finds a
// problem.
func injection(p *pod.Pod, chosen []int, w *wish.Wishes, n *notes) Plan {
	jvms := planJVMs(p, chosen, w, n)
	planNamespace(p, w, n)
	planPorts(p, w, jvms, n)
	dest := planDest(p, w, jvms, n)
	if len(n.problems) > 0 {
		return Plan{}
	}
	warnDest(p, w, jvms, n)
	warnPod(p, w, jvms, n)

	made := Plan{
		SharesProcesses: w.Attach == attach.ProcessNamespace && p.Spec.ShareProcessNamespace == nil,
		Volumes:         volumes(w, jvms, dest),
		Labelled:        true,
		Injected:        true,
	}
	for _, name := range w.Container.PullSecrets {
		if !slices.Contains(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name}) {
			made.PullSecrets = append(made.PullSecrets, name)
		}
	}
	resources, adds := resourcesOf(p, w, len(jvms), n)
	for _, j := range jvms {
		made.Sidecars = append(made.Sidecars, sidecar(j, resources))
		made.Changes = append(made.Changes, j.change())
	}
	made.Annotations = annotations(p, w, jvms, made.Volumes, adds, n.warnings)
	made.Warnings = n.warnings
	return made
}
