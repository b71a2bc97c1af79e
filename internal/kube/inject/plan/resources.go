package plan

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// What a sidecar may take where the pod's other containers have such limits, and
// the configuration does not.
var (
	cpuLimit    = resource.MustParse("250m")
	memoryLimit = resource.MustParse("64Mi")
)

// resourcesOf returns the resources of each of the pod's sidecars, and what all of them add to the pod. They preserve what
// the pod's own resources achieve: that a ResourceQuota for CPU limits admits it, that its QoS class is Guaranteed, that it
// may fill its limit of ephemeral storage. If the pod has resources as a whole, a further container must have none: the sum
// of all requests may not exceed the pod's.
func resourcesOf(p *pod.Pod, w *wish.Wishes, sidecars int, n *notes) (r corev1.ResourceRequirements, adds string) {
	if p.HasWhole() {
		return r, ""
	}
	asked, guaranteed := w.Container.Resources, p.IsGuaranteed()
	r = corev1.ResourceRequirements{Requests: maps.Clone(asked.Requests), Limits: maps.Clone(asked.Limits)}
	lacks := func(name corev1.ResourceName) bool { limit := r.Limits[name]; return limit.Sign() == 0 }
	switch limit := r.Limits[corev1.ResourceCPU]; {
	case guaranteed && limit.Cmp(w.Container.CPULimit) == 0: // or there is none
		r.Limits[corev1.ResourceCPU] = larger(asked.Guaranteed[corev1.ResourceCPU], r.Requests[corev1.ResourceCPU])
	case lacks(corev1.ResourceCPU) && p.Limited(corev1.ResourceCPU) == len(p.Spec.Containers):
		r.Limits[corev1.ResourceCPU] = larger(cpuLimit, r.Requests[corev1.ResourceCPU])
	}
	if lacks(corev1.ResourceMemory) && guaranteed {
		r.Limits[corev1.ResourceMemory] = larger(memoryLimit, r.Requests[corev1.ResourceMemory])
	}
	if !lacks(corev1.ResourceMemory) {
		r.Limits[corev1.ResourceMemory] = wish.Plus(r.Limits[corev1.ResourceMemory], w.Container.Memory)
	}
	if guaranteed {
		guarantee(&r, w.Container.Most, n)
	}
	if onDisk := w.OnDisk(); onDisk > 0 {
		storage(&r, wish.Plus(resource.Quantity{}, onDisk), p.Limited(corev1.ResourceEphemeralStorage) > 0)
	}
	return r, addition(p, r, sidecars, guaranteed, n)
}

// guarantee makes the requests the limits, so that the pod stays Guaranteed. The maximum requests
// of the policy still apply. The limit of CPU is lowered to it. The limit of memory is not,
// because the kernel would kill a sidecar that fills its spool: the requests stay as they are,
// and the pod is not Guaranteed. The warning says which of both it is.
func guarantee(r *corev1.ResourceRequirements, most corev1.ResourceList, n *notes) {
	over := func(name corev1.ResourceName) (bound resource.Quantity, is bool) {
		bound, is = most[name]
		return bound, is && bound.Cmp(r.Limits[name]) < 0
	}
	if bound, is := over(corev1.ResourceMemory); is {
		limit := r.Limits[corev1.ResourceMemory]
		n.warn("the pod is no longer of QoS class Guaranteed: the sidecar would have to request its limit of memory, %s, and the maximum of memory-request in this cluster is %s", limit.String(), bound.String())
		return
	}
	if bound, is := over(corev1.ResourceCPU); is {
		n.warn("the sidecar's limit of cpu is %s, the maximum of cpu-request in this cluster: the pod is of QoS class Guaranteed and requests its limits", bound.String())
		r.Limits[corev1.ResourceCPU] = bound
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		r.Requests[name] = r.Limits[name]
	}
}

// storage requests what the durable copy may take of the node's disk, so that
// the scheduler finds a node with that much. Limited adds it to what the pod
// may take: the kubelet compares the sum of all containers' limits with what is
// in all emptyDirs and evicts a pod that is over it.
func storage(r *corev1.ResourceRequirements, onDisk resource.Quantity, limited bool) {
	limit, given := r.Limits[corev1.ResourceEphemeralStorage]
	if !given && limited {
		r.Limits[corev1.ResourceEphemeralStorage] = larger(onDisk, r.Requests[corev1.ResourceEphemeralStorage])
	}
	if _, asked := r.Requests[corev1.ResourceEphemeralStorage]; asked {
		return
	}
	if given && limit.Cmp(onDisk) < 0 {
		onDisk = limit
	}
	r.Requests[corev1.ResourceEphemeralStorage] = onDisk
}

// leastShare is the share of the pod's requested CPU time, in per cent, that the pod's own containers
// should keep: an HPA's default target is 80 %, and the HPA ignores a tenth of it either way.
const leastShare = 88

// addition says what this many sidecars add to the pod's requests. Autoscalers, quotas and the
// scheduler go by the sum. The warning is for a pod whose own containers can no longer reach the usual
// target of an autoscaler: in one of QoS class Guaranteed they cannot use more than they request.
func addition(p *pod.Pod, r corev1.ResourceRequirements, sidecars int, guaranteed bool, n *notes) string {
	cpu, memory := times(r.Requests[corev1.ResourceCPU], sidecars), times(r.Requests[corev1.ResourceMemory], sidecars)
	if cpu.IsZero() && memory.IsZero() {
		return ""
	}
	text := fmt.Sprintf("%s CPU and %s of memory to the pod's requests", cpu.String(), memory.String())
	own := p.Request(corev1.ResourceCPU)
	if own.IsZero() || cpu.IsZero() {
		return text
	}
	share := own.MilliValue() * 100 / (own.MilliValue() + cpu.MilliValue())
	text += fmt.Sprintf("; with the other containers at 100 %% of their CPU requests, an HPA by the pod's CPU utilization sees %d %%", share)
	if guaranteed && share < leastShare {
		n.warn("an HPA by the pod's CPU utilization sees at most %d %%, since the sidecar adds %s to the requests and the pod is of QoS class Guaranteed: "+
			"use a metric of type ContainerResource, or lower %scpu-limit", share, cpu.String(), ask.Prefix)
	}
	return text
}

func times(q resource.Quantity, n int) resource.Quantity {
	sum := q.DeepCopy()
	for range n - 1 {
		sum.Add(q)
	}
	return sum
}

func larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
