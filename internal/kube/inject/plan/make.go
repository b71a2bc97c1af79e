package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Make decides about a pod without a sidecar in the namespace.
func Make(p *pod.Pod, namespace string, w wish.Wishes) Plan {
	var n notes
	if namespace == "kube-system" {
		n.warn("not injected: the injector never changes pods in kube-system")
		return Plan{Warnings: n.warnings, Refused: ask.Unsuitable}
	}
	if why := p.Unsuitable(); why != "" {
		n.refuse(ask.Unsuitable, "%s", why)
		return refusal(p, nil, n.problems)
	}
	for _, text := range w.Problems {
		n.refuse(ask.BadAnnotation, "%s", text)
	}
	findClashes(p, &n)
	var made Plan
	if len(n.problems) == 0 { // an injection needs valid wishes
		made = injection(p, &w, &n)
	}
	switch {
	case len(n.problems) == 0:
		return made
	case w.Deny:
		return denial(n.problems)
	}
	return refusal(p, w.Containers, n.problems)
}

// findClashes finds containers and volumes of the pod that have one of our names. It also finds
// annotations so long that, with ours added, the API server would refuse the pod.
func findClashes(p *pod.Pod, n *notes) {
	for _, name := range p.ContainerNames() {
		if isOurs(name, sidecarName) {
			n.refuse(ask.NameTaken, "the pod has a container called %s, which is the sidecar's name: rename it, or set the label %s: \"false\"", name, ask.InjectLabel)
		}
	}
	for _, volume := range p.VolumeNames() {
		for _, name := range []string{logVolume, tmpVolume, podInfoVolume, destVolume, sinkSecretVolume} {
			if isOurs(volume, name) {
				n.refuse(ask.NameTaken, "the pod has a volume called %s, which is a name that the injector uses: rename it", volume)
			}
		}
	}
	if p.Room() < maxStatus {
		n.refuse(ask.BadAnnotation, "the annotations of the pod leave no room for ullage's: shorten them by %d KiB", maxStatus>>10)
	}
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
func refusal(p *pod.Pod, containers []string, problems []problem) Plan {
	var n notes // the earlier warnings, which are about an injection, are left out
	s := ask.Status{Refused: problems[0].reason}
	for _, i := range choose(p, containers, &notes{}) {
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

// injection returns the plan for a pod that gets its sidecars, or an empty plan if it finds a problem.
func injection(p *pod.Pod, w *wish.Wishes, n *notes) Plan {
	for _, text := range w.Warnings {
		n.warn("%s", text)
	}
	chosen := choose(p, w.Containers, n)
	if len(chosen) == 0 {
		return Plan{} // a problem says why
	}
	jvms := planJVMs(p, chosen, w, n)
	planNamespace(p, w, n)
	planPorts(p, w, jvms, n)
	dest := planDest(p, w, n)
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
		made.Sidecars = append(made.Sidecars, sidecar(w, j, dest.mount(w, j, len(jvms) > 1), resources))
		made.Changes = append(made.Changes, j.change(w))
	}
	made.Annotations = annotations(p, w, jvms, made.Volumes, adds, n.warnings)
	made.Warnings = n.warnings
	return made
}

// planJVMs decides about the chosen containers.
func planJVMs(p *pod.Pod, chosen []int, w *wish.Wishes, n *notes) []*jvm {
	var jvms []*jvm
	for i, index := range chosen {
		if j := planJVM(p.Container(index), i+1, w, n); j != nil {
			jvms = append(jvms, j)
		}
	}
	separateTmp(p, jvms, n)
	for _, j := range jvms {
		j.planOptions(w, n)
	}
	return jvms
}

// warnPod warns of conflicts between the pod and its sidecars.
func warnPod(p *pod.Pod, w *wish.Wishes, jvms []*jvm, n *notes) {
	if grace := p.Spec.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		n.warn("the pod has terminationGracePeriodSeconds: 0: the sidecar is killed with the JVM, and the last lines are lost: set at least 1")
	}
	if secrets := w.Container.PullSecrets; p.Offline && len(secrets) > 0 && len(p.Spec.ImagePullSecrets) == 0 {
		// An API server adds the service account's pull secrets only to a pod that names none itself.
		n.warn("with the pull secrets of the sidecar (%s), the pod no longer gets those of its service account: name them in the pod's imagePullSecrets", strings.Join(secrets, ", "))
	}
	const remedy = "scrape all ports named ullage-metrics (" + build.Docs + "monitoring.md#metrics), and set " + ask.Prefix + wish.ScrapeAnnotations + " to off"
	switch {
	case w.NoScrape || !jvms[0].public():
	case p.HasMetrics():
		n.warn("the pod's prometheus.io annotations are for its own metrics, so they do not show the sidecar's: %s", remedy)
	case len(jvms) > 1:
		n.warn("the prometheus.io annotations have room only for the metrics of the first sidecar: %s", remedy)
	}
}
