package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// separateTmp turns off level control for JVM containers that share one /tmp: each JVM is
// process 1 in its own container, so one would take over the other's socket.
func separateTmp(p *pod.Pod, jvms []*jvm, n *notes) {
	if share := p.Spec.ShareProcessNamespace; share != nil && *share {
		return // the process ids differ
	}
	users := map[corev1.VolumeMount]int{}
	for _, j := range jvms {
		if j.tmp != nil {
			users[*j.tmp]++
		}
	}
	for _, j := range jvms {
		if j.tmp != nil && users[*j.tmp] > 1 {
			j.tmp = nil
			j.unreachable(n, "another JVM has the same /tmp: mount a separate volume or subPath there")
		}
	}
}

// planNamespace refuses a pod whose process namespace is wanted for attaching
// but can't be shared.
func planNamespace(p *pod.Pod, w *wish.Wishes, n *notes) {
	share := p.Spec.ShareProcessNamespace
	switch {
	case w.Attach != attach.ProcessNamespace:
	case p.Spec.HostPID:
		n.refuse(ask.BadAnnotation, "%s%s: with hostPID the sidecar would see the processes of the node: use shared-tmp or off", ask.Prefix, wish.Attach)
	case share != nil && !*share:
		n.refuse(ask.BadAnnotation, "%s%s: the pod has shareProcessNamespace: false: remove that, or use shared-tmp or off", ask.Prefix, wish.Attach)
	}
}

// planPorts gives each sidecar an address: the wanted port, or the next port
// that no container declares.
func planPorts(p *pod.Pod, w *wish.Wishes, jvms []*jvm, n *notes) {
	if w.Listen == admin.Off {
		return
	}
	if p.Spec.HostNetwork && w.Listen == "" {
		n.warn("metrics and status are off, because with hostNetwork all pods of a node share its ports: set %s%s to a port that is free on all nodes, like :9929",
			ask.Prefix, wish.Listen)
		return
	}
	host, port := w.Address()
	taken := p.Ports()
	for _, j := range jvms {
		for taken[port] {
			port++
		}
		if port > 65535 {
			n.refuse(ask.BadAnnotation, "%s%s: no port is left for the sidecar: use a lower one", ask.Prefix, wish.Listen)
			return
		}
		j.host, j.port = host, port
		taken[port] = true
	}
}
