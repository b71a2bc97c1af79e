package main

import (
	"fmt"
	"path"
	"slices"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/footprint"
)

// logDir is where the injector mounts the tmpfs of a log.
const logDir = "/var/log/jvm"

const raiseAnnotation = ask.Prefix + "raise-memory-limit"

// footprints compares, for each container with a JVM, the memory that it may use with its memory
// limit.
func (p pod) footprints() []finding {
	var all []finding
	injected, _ := ask.ParseStatus(p.Metadata.Annotations[ask.InjectedAnnotation])
	for _, j := range injected.JVMs {
		i := slices.IndexFunc(p.Spec.Containers, func(c container) bool { return c.Name == j.Container })
		if i < 0 {
			continue
		}
		if f := p.footprint(p.Spec.Containers[i]); f.mark != "" {
			all = append(all, f)
		}
	}
	return all
}

// footprint judges one container. The mark is empty if the container's log is not on a tmpfs from
// the injector.
func (p pod) footprint(c container) finding {
	log, ok := p.tmpfsOf(c)
	if !ok {
		return finding{}
	}
	text, own := c.Resources.Limits["memory"]
	if !own {
		text = p.Spec.Resources.Limits["memory"]
	}
	if text == "" {
		return finding{markNote, "container " + c.Name + " has no memory limit: only the node limits what its JVM uses", ""}
	}
	limit, err := settings.ParseSize(text)
	if err != nil {
		return finding{markUnknown, fmt.Sprintf("whether the JVM of container %s fits into its memory limit: %v", c.Name, err), ""}
	}
	raises := own && p.Spec.Resources.Limits == nil
	raised := raises && p.Metadata.Annotations[raiseAnnotation] == "true"
	shown := footprint.Container{Command: c.Command, Args: c.Args, Limit: int64(limit), Log: int64(log), Raised: raised}
	for _, v := range c.Env {
		shown.Env = append(shown.Env, footprint.Variable{Name: v.Name, Value: v.Value})
	}
	e := footprint.Of(shown)
	f := finding{markOK, fmt.Sprintf("memory of container %s: %s", c.Name, e), ""}
	if e.Exceeds() {
		raise := ""
		if raises && !raised {
			raise = "set " + raiseAnnotation + `: "true"`
		}
		f.mark, f.hint = markNote, e.Advice(raise)
	}
	if !e.Shown() {
		f.text += " (the pod spec has no heap option; the image or envFrom may have one)"
	}
	return f
}

// tmpfsOf returns the size of the tmpfs that holds the log of a container.
func (p pod) tmpfsOf(c container) (size settings.Size, ok bool) {
	for _, m := range c.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if path.Clean(m.MountPath) == logDir && v.Name == m.Name && v.EmptyDir != nil {
				size, err := settings.ParseSize(v.EmptyDir.SizeLimit)
				return size, err == nil
			}
		}
	}
	return 0, false
}
