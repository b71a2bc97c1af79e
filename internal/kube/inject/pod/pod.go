// Package pod reads a pod and answers questions about its containers, volumes, ports and
// nodes. It does not decide about the injection.
package pod

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// DefaultMark is the annotation with the container that kubectl uses by default.
const DefaultMark = "kubectl.kubernetes.io/default-container"

// mirrorMark is an annotation of a pod that a kubelet created from a file.
const mirrorMark = "kubernetes.io/config.mirror"

// MaxAnnotations is how many bytes of names and values an API server accepts for
// all annotations of an object.
const MaxAnnotations = 256 << 10

// Pod is a pod, both in our API types and as its full JSON.
type Pod struct {
	corev1.Pod

	// Tree is the full JSON, with fields newer than our API types. If there are containers, it has a spec.
	Tree map[string]any

	// Claimed are the names of the volumes that the pods of a template get from
	// the claims of a StatefulSet.
	Claimed []string

	// Offline means that no API server has seen the pod yet.
	Offline bool
}

// Read reads a pod from JSON. It drops duplicate members of objects before it decodes the API
// types, so that both forms of the pod agree. Names are case-sensitive in both.
func Read(text []byte) (*Pod, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var p Pod
	if err := d.Decode(&p.Tree); err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	if _, err := d.Token(); err != io.EOF || p.Tree == nil {
		return nil, errors.New("read the pod: it is not a single JSON object")
	}
	once, err := json.Marshal(p.Tree)
	if err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(once, &p.Pod); err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	return &p, nil
}

// OptsOut reports whether the pod must be left alone without a warning.
func (p *Pod) OptsOut() bool {
	return p.Labels[ask.InjectLabel] == "false" || p.Annotations[ask.InjectLabel] == "false" || p.Annotations[mirrorMark] != ""
}

// Room returns how many bytes of annotations may be added to the pod. The values of our own
// annotations are not counted, because they are replaced.
func (p *Pod) Room() int {
	room := MaxAnnotations - len(ask.InjectedAnnotation) - len(ask.WarningsAnnotation)
	for name, value := range p.Annotations {
		if name != ask.InjectedAnnotation && name != ask.WarningsAnnotation {
			room -= len(name) + len(value)
		}
	}
	return room
}

// Unsuitable says why the pod can never be injected, or returns "".
func (p *Pod) Unsuitable() string {
	switch {
	case len(p.Spec.Containers) == 0:
		return "it has no containers"
	case slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == "" }):
		return "it has a container without a name" // or a container that is null
	}
	return elsewhere(&p.Spec)
}

// ContainerNames returns the names of all containers and init containers.
func (p *Pod) ContainerNames() []string {
	var names []string
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// VolumeNames returns the names of all volumes that the pod has or will have.
func (p *Pod) VolumeNames() []string {
	names := slices.Clone(p.Claimed)
	for _, v := range p.Spec.Volumes {
		names = append(names, v.Name)
	}
	return names
}

// Volume returns the named volume of the pod, or nil.
func (p *Pod) Volume(name string) *corev1.Volume {
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Name == name {
			return &p.Spec.Volumes[i]
		}
	}
	return nil
}

// Unwritable says why nothing can be stored in the named volume, or returns "" if the volume may be
// suitable.
func (p *Pod) Unwritable(name string) string {
	v := p.Volume(name)
	switch {
	case v == nil && !slices.Contains(p.Claimed, name):
		return "does not exist"
	case v == nil:
		return ""
	case isReadOnly(v) || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly || v.NFS != nil && v.NFS.ReadOnly || v.CSI != nil && v.CSI.ReadOnly != nil && *v.CSI.ReadOnly:
		return "is read-only"
	case v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory:
		return "is in memory"
	}
	return ""
}

// isReadOnly reports whether every volume of this kind is read-only.
func isReadOnly(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil || v.Image != nil
}

// Ports returns the ports that the containers of the pod declare.
func (p *Pod) Ports() map[int]bool {
	taken := map[int]bool{}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			taken[int(port.ContainerPort)] = true
		}
	}
	return taken
}

// HasMetrics reports whether the pod's annotations say where its own metrics are.
func (p *Pod) HasMetrics() bool {
	for name := range p.Annotations {
		if strings.HasPrefix(name, "prometheus.io/") {
			return true
		}
	}
	return false
}
