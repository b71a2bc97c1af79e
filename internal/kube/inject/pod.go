package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// Labels and annotations of others.
const (
	mirrorMark  = "kubernetes.io/config.mirror"
	defaultMark = "kubectl.kubernetes.io/default-container"
)

// maxAnnotations is how many bytes an API server takes as the names and values
// of all annotations of an object.
const maxAnnotations = 256 << 10

// pod is a pod as our API types have it, and all of it.
type pod struct {
	corev1.Pod
	tree map[string]any

	// claimed are the volumes that the pods of a template will have beside those
	// in it: a StatefulSet's own.
	claimed []string

	// offline: no API server has seen the pod yet.
	offline bool
}

// readPod reads a pod of JSON. Its two forms are of one text in which every
// member of an object is there once, and they agree about upper and lower case.
func readPod(text []byte) (*pod, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var p pod
	if err := d.Decode(&p.tree); err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	if _, err := d.Token(); err != io.EOF || p.tree == nil {
		return nil, errors.New("read the pod: it is not a single JSON object")
	}
	once, err := json.Marshal(p.tree)
	if err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(once, &p.Pod); err != nil {
		return nil, fmt.Errorf("read the pod: %w", err)
	}
	return &p, nil
}

// spec is the pod's in the tree. There is one where there are containers.
func (p *pod) spec() map[string]any { return p.tree["spec"].(map[string]any) }

// metadata is the pod's in the tree. The patch adds one where there is none.
func (p *pod) metadata(patch *patch) map[string]any {
	meta, ok := p.tree["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		p.tree["metadata"] = meta
		patch.add("/metadata", map[string]any{})
	}
	return meta
}

// optsOut says that nothing is to be done, and nothing to be said.
func (p *pod) optsOut() bool {
	return p.Labels[ask.InjectLabel] == "false" || p.Annotations[ask.InjectLabel] == "false" || p.Annotations[mirrorMark] != ""
}

// injected says whether the pod has its sidecars already, and what its status
// says.
func (p *pod) injected() (ask.Status, bool) {
	value := p.Annotations[ask.InjectedAnnotation]
	if value == "" || !slices.Contains(p.containerNames(), sidecarName) {
		return ask.Status{}, false
	}
	s, err := ask.ParseStatus(value)
	return s, err != nil || s.Refused == "" // refused: the container is somebody else's
}

// room is how many bytes of annotations may be added to the pod, beside what it
// says of the injection, which is replaced.
func (p *pod) room() int {
	room := maxAnnotations - len(ask.InjectedAnnotation) - len(ask.WarningsAnnotation)
	for name, value := range p.Annotations {
		if name != ask.InjectedAnnotation && name != ask.WarningsAnnotation {
			room -= len(name) + len(value)
		}
	}
	return room
}

// unsuitable says why a pod is none that is ever injected. Empty: it may be.
func (p *pod) unsuitable() string {
	switch {
	case len(p.Spec.Containers) == 0:
		return "it has no containers"
	case slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == "" }):
		return "it has a container without a name" // or one that is null
	}
	return p.elsewhere()
}

// containerNames are those of all kinds of containers.
func (p *pod) containerNames() []string {
	var names []string
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		names = append(names, c.Name)
	}
	return names
}

// volumeNames are those of all volumes that the pod has, or will have.
func (p *pod) volumeNames() []string {
	names := slices.Clone(p.claimed)
	for _, v := range p.Spec.Volumes {
		names = append(names, v.Name)
	}
	return names
}

// hides reports whose pull secrets the sidecar's would hide: an API server gives a pod
// those of its service account only if the pod names none itself. Empty: nobody's.
func (p *pod) hides(secrets []string) string {
	if !p.offline || len(secrets) == 0 || len(p.Spec.ImagePullSecrets) > 0 {
		return ""
	}
	return fmt.Sprintf("with the pull secrets of the sidecar (%s), the pod no longer gets those of its service account: name them in the pod's imagePullSecrets", strings.Join(secrets, ", "))
}

// user returns the uid and gid that the processes of c begin with, nil where
// only the image knows.
func (p *pod) user(c *corev1.Container) (uid, gid *int64) {
	if s := p.Spec.SecurityContext; s != nil {
		uid, gid = s.RunAsUser, s.RunAsGroup
	}
	if s := c.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			uid = s.RunAsUser
		}
		if s.RunAsGroup != nil {
			gid = s.RunAsGroup
		}
	}
	return uid, gid
}

// volume returns the named volume of the pod, or nil.
func (p *pod) volume(name string) *corev1.Volume {
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Name == name {
			return &p.Spec.Volumes[i]
		}
	}
	return nil
}

// unwritable says why nothing can be kept in the named volume. Empty: it may do.
func (p *pod) unwritable(name string) string {
	v := p.volume(name)
	switch {
	case v == nil && !slices.Contains(p.claimed, name):
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

// isReadOnly says whether nothing can be created in any volume of this kind.
func isReadOnly(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil || v.Image != nil
}

// mountAt returns what is mounted at exactly dir in c, or nil.
func mountAt(c *corev1.Container, dir string) *corev1.VolumeMount {
	for i := range c.VolumeMounts {
		if path.Clean(c.VolumeMounts[i].MountPath) == dir {
			return &c.VolumeMounts[i]
		}
	}
	return nil
}

// inMemory says whether a directory of c is on a tmpfs: ours, or a volume's.
func (p *pod) inMemory(c *corev1.Container, dir string) bool {
	dir = path.Clean(dir)
	if isBelow(dir, logDir) {
		return true
	}
	var at *corev1.VolumeMount
	for i, m := range c.VolumeMounts {
		if where := path.Clean(m.MountPath); isBelow(dir, where) && (at == nil || len(where) > len(path.Clean(at.MountPath))) {
			at = &c.VolumeMounts[i]
		}
	}
	if at == nil {
		return isBelow(dir, "/dev/shm")
	}
	v := p.volume(at.Name)
	return v != nil && v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory
}

// isBelow says whether dir is at, or below it.
func isBelow(dir, at string) bool {
	return dir == at || strings.HasPrefix(dir, strings.TrimSuffix(at, "/")+"/")
}

// sealedAbove returns where in c something is mounted above dir that nothing can
// be created in, so that the container would not start with a mount at dir.
// Empty: nothing.
func (p *pod) sealedAbove(c *corev1.Container, dir string) string {
	for _, m := range c.VolumeMounts {
		at := path.Clean(m.MountPath)
		if !strings.HasPrefix(dir, strings.TrimSuffix(at, "/")+"/") {
			continue
		}
		v := p.volume(m.Name)
		if m.ReadOnly || v != nil && isReadOnly(v) {
			return at
		}
	}
	return ""
}

// ports are those that some container of the pod declares.
func (p *pod) ports() map[int]bool {
	taken := map[int]bool{}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			taken[int(port.ContainerPort)] = true
		}
	}
	return taken
}

// says reports whether c tells its JVM the option, as far as the pod shows, in
// any way but by the named variables.
func says(c *corev1.Container, option string, but ...string) bool {
	texts := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		if !slices.Contains(but, e.Name) {
			texts = append(texts, e.Value)
		}
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, option) })
}
