package inject

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/jvm/ask"
)

// maxWarnings is how many are in the annotation: the sidecar reads those of at
// most 16 KiB.
const maxWarnings = 10

// maxStatus is room for the status, for its warnings once more, and for the other
// annotations that are added, in bytes.
const maxStatus = 24 << 10

// annotate says on the pod what was done, and where metrics are.
func (m *mutation) annotate() {
	m.patch.put(m.pod.metadata(&m.patch), "/metadata", "labels", ask.InjectedLabel, "true")
	m.pod.report(m.status(), &m.patch)
	m.setAnnotation(evictMark, m.evictable())
	if j := m.jvms[0]; j.public() && !m.wishes.noScrape && !m.pod.scraped() {
		m.setAnnotation("prometheus.io/scrape", "true")
		m.setAnnotation("prometheus.io/port", strconv.Itoa(j.port))
		m.setAnnotation("prometheus.io/path", "/metrics")
	}
}

// report writes the status onto the pod, for programs and for people, as far as there is room. What
// an annotation says of another pod, from whose manifest this one was made, is replaced.
func (p *pod) report(s ask.Status, patch *patch) {
	room := p.room()
	for _, a := range []struct{ name, value string }{{ask.InjectedAnnotation, s.Encode()}, {ask.WarningsAnnotation, s.Text()}} {
		if room -= len(a.value); room < 0 {
			return
		}
		if p.Annotations[a.name] != a.value {
			patch.put(p.metadata(patch), "/metadata", "annotations", a.name, a.value)
		}
	}
}

func (m *mutation) setAnnotation(name, value string) {
	m.patch.put(m.pod.metadata(&m.patch), "/metadata", "annotations", name, value)
}

// evictMark names the volumes, with commas between, that do not keep the cluster
// autoscaler from removing a node. (To kubectl drain every emptyDir counts.)
const evictMark = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

// evictable returns those of the pod itself and ours: the logs are read to their
// end before the pod is gone, and a copy in an emptyDir ends with it.
func (m *mutation) evictable() string {
	names := strings.FieldsFunc(m.pod.Annotations[evictMark], func(r rune) bool { return r == ',' })
	for _, v := range m.volumes() {
		if v.EmptyDir != nil && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ",")
}

// scraped says that the pod has metrics of its own and says where.
func (p *pod) scraped() bool {
	for name := range p.Annotations {
		if strings.HasPrefix(name, "prometheus.io/") {
			return true
		}
	}
	return false
}

// warnScrape says whose metrics nobody finds by annotations.
func (m *mutation) warnScrape() {
	const remedy = "scrape all ports that are called ullage-metrics (" + build.Docs + "kubernetes.md#metrics), and set " + ask.Prefix + scrapeSetting + " to off"
	switch {
	case m.wishes.noScrape || !m.jvms[0].public():
	case m.pod.scraped():
		m.warn("the metrics of the sidecar are not in the pod's annotations prometheus.io, which are for its own: %s", remedy)
	case len(m.jvms) > 1:
		m.warn("the annotations prometheus.io have room for the metrics of the first sidecar: %s", remedy)
	}
}

// public says that the sidecar can be asked from outside of the pod.
func (j *jvm) public() bool {
	ip := net.ParseIP(j.host)
	return j.port != 0 && (j.host == "" || ip != nil && ip.IsUnspecified())
}

// listen is the sidecar's --listen.
func (j *jvm) listen() string {
	if j.port == 0 {
		return admin.Off
	}
	return net.JoinHostPort(j.host, strconv.Itoa(j.port))
}

func (m *mutation) status() ask.Status {
	s := ask.Status{Image: m.wishes.container.image, Dest: m.wishes.dest.String()}
	for _, j := range m.jvms {
		s.JVMs = append(s.JVMs, ask.JVM{Container: j.Name, Sidecar: j.sidecar(), Attach: string(j.attach), Listen: j.listen()})
	}
	s.Adds = m.adds
	for _, text := range m.warnings[:min(len(m.warnings), maxWarnings)] {
		s.Warnings = append(s.Warnings, strings.TrimPrefix(text, "ullage: "))
	}
	return s
}
