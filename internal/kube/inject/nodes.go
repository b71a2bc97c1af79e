package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels of nodes, and what the sidecar's image has for them. A pod whose native sidecar has
// no image for its node never starts.
const (
	osLabel   = "kubernetes.io/os"
	archLabel = "kubernetes.io/arch"
)

var architectures = []string{"amd64", "arm64", "ppc64le", "s390x"}

// elsewhere says why the pod runs on no node that has an image of the sidecar. Empty: it may.
func (p *pod) elsewhere() string {
	windows := func(s *corev1.WindowsSecurityContextOptions) bool { return s != nil }
	isWindows := p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows || p.Spec.SecurityContext != nil && windows(p.Spec.SecurityContext.WindowsOptions) ||
		slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
			return c.SecurityContext != nil && windows(c.SecurityContext.WindowsOptions)
		})
	if isWindows || !p.mayRunOn(osLabel, string(corev1.Linux)) {
		return "it is for Windows nodes, or others without Linux, which have no tmpfs"
	}
	if !p.mayRunOn(archLabel, architectures...) {
		return fmt.Sprintf("its nodes are of an architecture for which the sidecar has no image: there are %s", strings.Join(architectures, ", "))
	}
	return ""
}

// mayRunOn reports whether the selectors of the pod allow nodes whose label has one of the
// values. The terms of an affinity are alternatives, and all expressions of one must hold.
func (p *pod) mayRunOn(label string, values ...string) bool {
	if value, ok := p.Spec.NodeSelector[label]; ok && !slices.Contains(values, value) {
		return false
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return true
	}
	required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		return true
	}
	return slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(values, func(value string) bool {
			return !slices.ContainsFunc(term.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
				listed := slices.Contains(e.Values, value)
				return e.Key == label && (e.Operator == corev1.NodeSelectorOpIn && !listed || e.Operator == corev1.NodeSelectorOpNotIn && listed)
			})
		})
	})
}
