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

// The limits of a sidecar if the pod's own containers have such limits and the
// configuration has none.
var (
	cpuLimit    = resource.MustParse("250m")
	memoryLimit = resource.MustParse("64Mi")
)

// resourcesOf returns the resources of each sidecar, and what all sidecars add to the pod. The resources of a sidecar
// preserve three properties that the pod may have: a ResourceQuota for CPU limits admits it, its QoS class is
// Guaranteed, and its own containers may use all their ephemeral storage. If the pod has pod-level resources, a sidecar
// gets none: the sum of the containers' requests must not exceed the pod's.
func resourcesOf(p *pod.Pod, w *wish.Wishes, sidecars int, n *notes) (r corev1.ResourceRequirements, adds string) {
	if p.HasWhole() {
		return r, ""
	}
	asked, guaranteed := w.Container.Resources, p.IsGuaranteed()
	r = corev1.ResourceRequirements{Requests: maps.Clone(asked.Requests), Limits: maps.Clone(asked.Limits)}
	lacks := func(name corev1.ResourceName) bool { limit := r.Limits[name]; return limit.Sign() == 0 }
	switch limit := r.Limits[corev1.ResourceCPU]; {
	case guaranteed && limit.Cmp(w.Container.CPULimit) == 0: // or both are zero
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

// guarantee sets the requests to the limits, so that the pod stays Guaranteed. The maximum requests
// of the policy still apply. A CPU limit over the maximum is lowered to it. A memory limit over the
// maximum is not lowered, because the kernel would kill a sidecar that fills its spool: the
// requests then stay as they are, and the pod is not Guaranteed. In either case, there is a warning.
func guarantee(r *corev1.ResourceRequirements, most corev1.ResourceList, n *notes) {
	over := func(name corev1.ResourceName) (bound resource.Quantity, is bool) {
		bound, is = most[name]
		return bound, is && bound.Cmp(r.Limits[name]) < 0
	}
	if bound, is := over(corev1.ResourceMemory); is {
		limit := r.Limits[corev1.ResourceMemory]
		n.warn("the pod is no longer of QoS class Guaranteed: the sidecar would have to request its memory limit, %s, but the maximum of memory-request in this cluster is %s", limit.String(), bound.String())
		return
	}
	if bound, is := over(corev1.ResourceCPU); is {
		n.warn("the sidecar's CPU limit is %s, the maximum of cpu-request in this cluster: the pod is of QoS class Guaranteed, so its requests are its limits", bound.String())
		r.Limits[corev1.ResourceCPU] = bound
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		r.Requests[name] = r.Limits[name]
	}
}

// storage requests onDisk, the disk space that the durable copy may take, so that the
// scheduler finds a node with that much. limited means that a container of the pod has a
// limit of disk space. A sidecar without a limit then gets one of at least onDisk: the kubelet
// evicts a pod whose emptyDirs take more than the sum of its containers' limits.
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
// should keep. An HPA's default target is 80 %, and the HPA ignores deviations of up to a tenth.
const leastShare = 88

// addition says what the sidecars add to the pod's requests. Autoscalers, quotas and the scheduler use
// the sum. The warning is for a pod of QoS class Guaranteed whose own containers can no longer reach the
// usual target of an autoscaler: they cannot use more than they request.
func addition(p *pod.Pod, r corev1.ResourceRequirements, sidecars int, guaranteed bool, n *notes) string {
	cpu, memory := times(r.Requests[corev1.ResourceCPU], sidecars), times(r.Requests[corev1.ResourceMemory], sidecars)
	if cpu.IsZero() && memory.IsZero() {
		return ""
	}
	text := fmt.Sprintf("%s CPU and %s memory to the pod's requests", cpu.String(), memory.String())
	own := p.Request(corev1.ResourceCPU)
	if own.IsZero() || cpu.IsZero() {
		return text
	}
	share := own.MilliValue() * 100 / (own.MilliValue() + cpu.MilliValue())
	text += fmt.Sprintf("; with the other containers at 100 %% of their CPU requests, an HPA on the pod's CPU utilization sees %d %%", share)
	if guaranteed && share < leastShare {
		n.warn("an HPA on the pod's CPU utilization sees at most %d %%, because the sidecar adds %s to the requests and the pod is of QoS class Guaranteed: "+
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
