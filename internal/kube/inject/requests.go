package inject

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// leastShare is the share of the pod's requested CPU time, in per cent, that the pod's own containers
// should keep: an HPA's default target is 80 %, and the HPA ignores a tenth of it either way.
const leastShare = 88

// request returns what the containers request that run as long as the pod does. A limit without a
// request is one, as for an API server.
func (p *pod) request(name corev1.ResourceName) resource.Quantity {
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

// addition says what so many sidecars add to the pod's requests. Autoscalers, quotas and the
// scheduler go by the sum. The warning is for a pod whose own containers can no longer reach the
// usual target of an autoscaler: in one of QoS class Guaranteed they cannot use more than they request.
func (p *pod) addition(r corev1.ResourceRequirements, sidecars int, guaranteed bool) (text, warning string) {
	cpu, memory := times(r.Requests[corev1.ResourceCPU], sidecars), times(r.Requests[corev1.ResourceMemory], sidecars)
	if cpu.IsZero() && memory.IsZero() {
		return "", ""
	}
	text = fmt.Sprintf("%s CPU and %s of memory to the pod's requests", cpu.String(), memory.String())
	own := p.request(corev1.ResourceCPU)
	if own.IsZero() || cpu.IsZero() {
		return text, ""
	}
	share := own.MilliValue() * 100 / (own.MilliValue() + cpu.MilliValue())
	text += fmt.Sprintf("; with the other containers at 100 %% of their CPU requests, an HPA by the pod's CPU utilization sees %d %%", share)
	if guaranteed && share < leastShare {
		warning = fmt.Sprintf("an HPA by the pod's CPU utilization sees at most %d %%, since the sidecar adds %s to the requests and the pod is of QoS class Guaranteed: "+
			"use a metric of type ContainerResource, or lower %scpu-limit", share, cpu.String(), ask.Prefix)
	}
	return text, warning
}

func times(q resource.Quantity, n int) resource.Quantity {
	sum := q.DeepCopy()
	for range n - 1 {
		sum.Add(q)
	}
	return sum
}
