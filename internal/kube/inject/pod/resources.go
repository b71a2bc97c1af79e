package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// HasWhole reports whether the pod has pod-level resources, which bound its containers.
func (p *Pod) HasWhole() bool {
	whole := p.Spec.Resources
	return whole != nil && len(whole.Requests)+len(whole.Limits) > 0
}

// Request returns the sum of the requests of the containers that run as long as the pod does. As in
// an API server, if there is a limit but no request, the limit is also the request.
func (p *Pod) Request(name corev1.ResourceName) resource.Quantity {
	var sum resource.Quantity
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		q, ok := c.Resources.Requests[name]
		if !ok {
			q = c.Resources.Limits[name]
		}
		if c.RestartPolicy != nil || slices.ContainsFunc(p.Spec.Containers, func(other corev1.Container) bool { return other.Name == c.Name }) {
			sum.Add(q)
		}
	}
	return sum
}

// IsGuaranteed reports whether the pod is of QoS class Guaranteed: each container
// has limits of CPU and memory, and its requests, if any, equal them.
func (p *Pod) IsGuaranteed() bool {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if request, ok := c.Resources.Requests[name]; !IsLimited(&c, name) || ok && request.Cmp(c.Resources.Limits[name]) != 0 {
				return false
			}
		}
	}
	return true
}

// Limited returns how many of the containers have a limit of the resource.
func (p *Pod) Limited(name corev1.ResourceName) int {
	n := 0
	for i := range p.Spec.Containers {
		if IsLimited(&p.Spec.Containers[i], name) {
			n++
		}
	}
	return n
}

// IsLimited reports whether the container has a limit of the resource.
func IsLimited(c *corev1.Container, name corev1.ResourceName) bool {
	limit := c.Resources.Limits[name]
	return limit.Sign() > 0
}
