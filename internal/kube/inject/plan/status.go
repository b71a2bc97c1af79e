package plan

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// maxStatus is how many bytes of annotations must be free in a pod: for the status, for
// the text of its warnings, and for the other annotations that are added.
const maxStatus = 24 << 10

// annotations returns the annotations that record in the pod what was done and where its metrics are.
func annotations(p *pod.Pod, w *wish.Wishes, jvms []*jvm, volumes []corev1.Volume, adds string, warnings []string) []Annotation {
	s := ask.Status{Image: w.Container.Image, Dest: w.Dest.String(), Adds: adds}
	for _, j := range jvms {
		s.JVMs = append(s.JVMs, ask.JVM{Container: j.Name, Sidecar: j.sidecar(), Attach: string(j.attach), Listen: j.listen()})
	}
	for _, text := range warnings[:min(len(warnings), maxWarnings)] {
		s.Warnings = append(s.Warnings, strings.TrimPrefix(text, "ullage: "))
	}
	all := append(report(p, s), Annotation{evictMark, evictable(p, volumes)})
	if j := jvms[0]; j.public() && !w.NoScrape && !p.HasMetrics() {
		all = append(all, Annotation{"prometheus.io/scrape", "true"}, Annotation{"prometheus.io/port", strconv.Itoa(j.port)}, Annotation{"prometheus.io/path", "/metrics"})
	}
	return all
}

// report returns the annotations with the status: one for programs and, if there is room for
// it, one for people. If this pod was created from the manifest of another pod, the annotations
// about that pod are replaced.
func report(p *pod.Pod, s ask.Status) (all []Annotation) {
	room := p.Room()
	for _, a := range []Annotation{{ask.InjectedAnnotation, s.Encode()}, {ask.WarningsAnnotation, s.Text()}} {
		if room -= len(a.Value); room < 0 {
			break
		}
		if p.Annotations[a.Name] != a.Value {
			all = append(all, a)
		}
	}
	return all
}

// evictMark is the annotation that lists, separated by commas, the volumes that the
// cluster autoscaler ignores when it decides whether it may remove a node. (kubectl drain
// does not read this annotation: to it, every emptyDir matters.)
const evictMark = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

// evictable returns the volumes that the pod itself lists in evictMark, and the emptyDir
// volumes that we add. Our volumes are no reason to keep a node: the logs are read to their end
// before the pod is gone, and a copy in an emptyDir is deleted with the pod in any case.
func evictable(p *pod.Pod, volumes []corev1.Volume) string {
	names := strings.FieldsFunc(p.Annotations[evictMark], func(r rune) bool { return r == ',' })
	for _, v := range volumes {
		if v.EmptyDir != nil && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ",")
}
