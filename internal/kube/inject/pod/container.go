package pod

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Container is one of a pod's containers, with the pod's settings for it.
type Container struct {
	*corev1.Container
	Index int // among the pod's containers

	// UID and GID are the user and group of the container's first process. They are nil if only the
	// image sets them.
	UID, GID *int64

	// MemoryLimit is its memory limit in bytes. If zero, there is no limit.
	MemoryLimit int64

	Pod *Pod
}

// Container returns the container with the index.
func (p *Pod) Container(index int) *Container {
	c := &Container{Container: &p.Spec.Containers[index], Index: index, Pod: p}
	if s := p.Spec.SecurityContext; s != nil {
		c.UID, c.GID = s.RunAsUser, s.RunAsGroup
	}
	if s := c.SecurityContext; s != nil {
		c.UID, c.GID = cmp.Or(s.RunAsUser, c.UID), cmp.Or(s.RunAsGroup, c.GID)
	}
	limit, ok := c.Resources.Limits[corev1.ResourceMemory]
	if r := p.Spec.Resources; !ok && r != nil {
		limit = r.Limits[corev1.ResourceMemory]
	}
	c.MemoryLimit = max(limit.Value(), 0)
	return c
}

// Texts returns the texts of c that may hold JVM options: its command, and the values of its
// variables except the named ones.
func (c *Container) Texts(but ...string) []string {
	texts := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		if !slices.Contains(but, e.Name) {
			texts = append(texts, e.Value)
		}
	}
	return texts
}

// Says reports whether c gives its JVM the option in any way other than the named variables.
func (c *Container) Says(option string, but ...string) bool {
	return slices.ContainsFunc(c.Texts(but...), func(text string) bool { return strings.Contains(text, option) })
}

// MountAt returns the mount of c exactly at dir, or nil.
func (c *Container) MountAt(dir string) *corev1.VolumeMount {
	for i := range c.VolumeMounts {
		if path.Clean(c.VolumeMounts[i].MountPath) == dir {
			return &c.VolumeMounts[i]
		}
	}
	return nil
}

// InMemory reports whether a directory of c is on a tmpfs.
func (c *Container) InMemory(dir string) bool {
	dir = path.Clean(dir)
	var at *corev1.VolumeMount
	for i, m := range c.VolumeMounts {
		if where := path.Clean(m.MountPath); IsBelow(dir, where) && (at == nil || len(where) > len(path.Clean(at.MountPath))) {
			at = &c.VolumeMounts[i]
		}
	}
	if at == nil {
		return IsBelow(dir, "/dev/shm")
	}
	v := c.Pod.Volume(at.Name)
	return v != nil && v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory
}

// SealedAbove returns the path of a read-only mount of c above dir, or "". Below such a mount, a
// mount at dir would keep the container from starting.
func (c *Container) SealedAbove(dir string) string {
	for _, m := range c.VolumeMounts {
		at := path.Clean(m.MountPath)
		if dir == at || !IsBelow(dir, at) {
			continue
		}
		v := c.Pod.Volume(m.Name)
		if m.ReadOnly || v != nil && isReadOnly(v) {
			return at
		}
	}
	return ""
}

// IsBelow reports whether dir is the directory at, or is below it.
func IsBelow(dir, at string) bool {
	return dir == at || strings.HasPrefix(dir, strings.TrimSuffix(at, "/")+"/")
}

// LastEnv returns the index of the last variable of that name in c, which wins, or -1.
func LastEnv(c *corev1.Container, name string) int {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if c.Env[i].Name == name {
			return i
		}
	}
	return -1
}

// MayHave reports whether the variable may come from a ConfigMap or a Secret, whose
// keys are not known here.
func (c *Container) MayHave(name string) bool {
	return slices.ContainsFunc(c.EnvFrom, func(from corev1.EnvFromSource) bool { return strings.HasPrefix(name, from.Prefix) })
}
