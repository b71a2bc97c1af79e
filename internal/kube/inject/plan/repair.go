package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// yieldAfter is how long the sidecar of a repaired pod waits for its JVM.
const yieldAfter = "15s"

const strippedWarning = "another webhook removed the sidecar's restartPolicy, and the injector added it again: upgrade that webhook; " +
	"if that webhook removes it once more, the pod starts " + yieldAfter + " late and without a sidecar"

// Injected reports whether the pod already has its sidecars. It returns the status that an earlier call wrote. Without
// a readable status, earlier is the zero value.
func Injected(p *pod.Pod) (earlier ask.Status, injected bool) {
	value := p.Annotations[ask.InjectedAnnotation]
	if value == "" {
		return ask.Status{}, false
	}
	earlier, err := ask.ParseStatus(value)
	refused := err == nil && earlier.Refused != "" // then a container with the sidecar's name is not ours
	return earlier, !refused && slices.Contains(p.ContainerNames(), sidecarName)
}

// Repair restores the lost restartPolicy of an injected pod's sidecars. The webhook that
// dropped it may run after us and drop it again. So the sidecar is configured to yield: the pod
// must start, with or without a sidecar.
func Repair(p *pod.Pod, s ask.Status) Plan {
	var made Plan
	for i, c := range p.Spec.InitContainers {
		ours := isOurs(c.Name, sidecarName) && slices.ContainsFunc(s.JVMs, func(j ask.JVM) bool { return j.Sidecar == c.Name })
		if !ours || c.RestartPolicy != nil {
			continue
		}
		r := Restart{Container: i}
		if name := settings.EnvName(wish.YieldAfter); pod.LastEnv(&c, name) < 0 {
			r.Env = append(r.Env, corev1.EnvVar{Name: name, Value: yieldAfter})
		}
		made.Restarts = append(made.Restarts, r)
	}
	if len(made.Restarts) == 0 {
		return made
	}
	var n notes
	n.warn("%s", strippedWarning)
	if !slices.Contains(s.Warnings, strippedWarning) {
		s.Warnings = append(s.Warnings, strippedWarning)
	}
	made.Annotations, made.Warnings, made.Injected = report(p, s), n.warnings, true
	return made
}
