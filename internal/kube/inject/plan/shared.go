package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
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
