package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
)

// yieldAfter is how long the sidecar of a repaired pod waits for its JVM.
const yieldAfter = "15s"

const strippedWarning = "another webhook has dropped the sidecar's restartPolicy, which was added again: upgrade that webhook; " +
	"if it drops it once more, the pod starts " + yieldAfter + " late and without a sidecar"

// repair gives the sidecars of an injected pod the restartPolicy that they have
// lost. Whoever has dropped it may do so again, after us. So the sidecar is told
// to yield: the pod must start, with a sidecar or without.
func (m *mutation) repair(s ask.Status) Result {
	list, _ := m.pod.spec()["initContainers"].([]any)
	for i, c := range m.pod.Spec.InitContainers {
		ours := isOurs(c.Name, sidecarName) && slices.ContainsFunc(s.JVMs, func(j ask.JVM) bool { return j.Sidecar == c.Name })
		if !ours || c.RestartPolicy != nil {
			continue
		}
		at := item("/spec/initContainers", i)
		m.patch.add(at+"/restartPolicy", corev1.ContainerRestartPolicyAlways)
		if name := settings.EnvName(yieldSetting); lastEnv(&c, name) < 0 {
			m.patch.push(list[i].(map[string]any), at, "env", corev1.EnvVar{Name: name, Value: yieldAfter})
		}
	}
	if len(m.patch.ops) == 0 {
		return Result{}
	}
	m.warn("%s", strippedWarning)
	if !slices.Contains(s.Warnings, strippedWarning) {
		s.Warnings = append(s.Warnings, strippedWarning)
	}
	m.pod.report(s, &m.patch)
	return Result{Patch: m.patch.ops, Warnings: m.warnings, Injected: true}
}
