package pod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels of nodes, and the architectures of the sidecar's image. A pod never starts if its native
// sidecar has no image for the node.
const (
	osLabel   = "kubernetes.io/os"
	archLabel = "kubernetes.io/arch"
)

var architectures = []string{"amd64", "arm64", "ppc64le", "s390x"}

// elsewhere says why a pod can't run on any node for which there is an image of the sidecar, or returns ""
// if it can.
func elsewhere(spec *corev1.PodSpec) string {
	windows := func(s *corev1.WindowsSecurityContextOptions) bool { return s != nil }
	isWindows := spec.OS != nil && spec.OS.Name == corev1.Windows || spec.SecurityContext != nil && windows(spec.SecurityContext.WindowsOptions) ||
		slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
			return c.SecurityContext != nil && windows(c.SecurityContext.WindowsOptions)
		})
	if isWindows || !mayRunOn(spec, osLabel, string(corev1.Linux)) {
		return "it is for Windows or other nodes without Linux, which have no tmpfs"
	}
	if !mayRunOn(spec, archLabel, architectures...) {
		return fmt.Sprintf("the sidecar has no image for the architecture of its nodes: there are images for %s", strings.Join(architectures, ", "))
	}
	return ""
}

// mayRunOn reports whether the selectors of a pod allow nodes whose label has one of the
// values. The terms of an affinity are alternatives; all expressions of a term must hold.
func mayRunOn(spec *corev1.PodSpec, label string, values ...string) bool {
	if value, ok := spec.NodeSelector[label]; ok && !slices.Contains(values, value) {
		return false
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return true
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
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
