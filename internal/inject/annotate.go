package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/attach"
)

// status is the value of the annotation ullage.dev/injected, as JSON.
type status struct {
	Image    string      `json:"image"`
	Dest     string      `json:"dest"`
	JVMs     []jvmStatus `json:"jvms"`
	Warnings []string    `json:"warnings,omitempty"`
}

type jvmStatus struct {
	Container string      `json:"container"`
	Sidecar   string      `json:"sidecar"`
	Attach    attach.Mode `json:"attach"`
	Listen    string      `json:"listen"`
}

// maxWarnings is how many are in the annotation: the sidecar reads those of at
// most 16 KiB.
const maxWarnings = 10

// annotate says on the pod what was done, and where metrics are. A status that
// is there already is of another pod, from whose manifest this one was made.
func (m *mutation) annotate() {
	meta, ok := m.pod.tree["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		m.pod.tree["metadata"] = meta
		m.patch.add("/metadata", map[string]any{})
	}
	set := func(name, value string) { m.patch.put(meta, "/metadata", "annotations", name, value) }
	set(injectedStatus, m.status())
	if j := m.jvms[0]; j.public() && !m.scraped() {
		set("prometheus.io/scrape", "true")
		set("prometheus.io/port", strconv.Itoa(j.port))
		set("prometheus.io/path", "/metrics")
	}
}

// scraped says that the pod has metrics of its own and says where.
func (m *mutation) scraped() bool {
	for name := range m.pod.Annotations {
		if strings.HasPrefix(name, "prometheus.io/") {
			return true
		}
	}
	return false
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

func (m *mutation) status() string {
	s := status{Image: m.cfg.Image, Dest: m.wishes.dest.String()}
	for _, j := range m.jvms {
		s.JVMs = append(s.JVMs, jvmStatus{Container: j.Name, Sidecar: j.sidecar(), Attach: j.attach, Listen: j.listen()})
	}
	for _, text := range m.warnings[:min(len(m.warnings), maxWarnings)] {
		s.Warnings = append(s.Warnings, strings.TrimPrefix(text, "ullage: "))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a person may read it
	if err := e.Encode(s); err != nil {
		panic(fmt.Sprintf("encode strings: %v", err)) // can't be
	}
	return strings.TrimSpace(b.String())
}
