package plan

import (
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// jvm is a container with a JVM, and the decisions about it.
type jvm struct {
	*pod.Container
	wishes *wish.Wishes // without the size of the ring if no ring is created, so that no memory is added for it
	suffix string       // of the names of its sidecar and volumes: empty, "-2", "-3" …

	attach   attach.Mode
	tmp      *corev1.VolumeMount // the sidecar's mount at tmpDir, or nil if it needs none
	ownTmp   bool                // tmp is also added to the JVM's container
	host     string
	port     int                // 0: the sidecar does not listen
	dest     corev1.VolumeMount // the sidecar's mount of its directory for the durable copy
	rotateAt int64
	raised   bool // the container's memory limit is raised
	pin      bool // the heap is to be sized by the limit that applied before the raise
	options  Options
	events   []corev1.EnvVar // the variable with the place and size of the rings
}

func (j *jvm) logVolume() string { return logVolume + j.suffix }
func (j *jvm) sidecar() string   { return sidecarName + j.suffix }

// public reports whether the sidecar can be reached from outside the pod.
func (j *jvm) public() bool {
	ip := net.ParseIP(j.host)
	return j.port != 0 && (j.host == "" || ip != nil && ip.IsUnspecified())
}

// listen returns the value of the sidecar's --listen.
func (j *jvm) listen() string {
	if j.port == 0 {
		return admin.Off
	}
	return net.JoinHostPort(j.host, strconv.Itoa(j.port))
}

// planJVMs decides about the chosen containers.
func planJVMs(p *pod.Pod, chosen []int, w *wish.Wishes, n *notes) []*jvm {
	var jvms []*jvm
	for i, index := range chosen {
		if j := planJVM(p.Container(index), i+1, w, n); j != nil {
			jvms = append(jvms, j)
		}
	}
	separateTmp(p, jvms, n)
	for _, j := range jvms {
		j.planOptions(n)
	}
	return jvms
}

// planJVM decides about one container with a JVM. It returns nil if it refused the container.
func planJVM(c *pod.Container, number int, w *wish.Wishes, n *notes) *jvm {
	j := &jvm{Container: c, wishes: w, attach: w.Attach}
	if number > 1 {
		j.suffix = fmt.Sprintf("-%d", number)
	}
	if at := c.MountAt(logDir); at != nil {
		n.refuse(ask.MountTaken, "container %.80q has %.80q mounted at %s, where its log must be: mount it elsewhere", c.Name, at.Name, logDir)
		return nil
	}
	if at := c.SealedAbove(logDir); at != "" {
		n.refuse(ask.MountTaken, "container %.80q has a read-only mount at %.80s, but its log must be in %s: mount it elsewhere", c.Name, at, logDir)
		return nil
	}
	if isJDK8(c) && w.Variable.Name != wish.LauncherVariable && w.Variable.Name != wish.NoVariable {
		n.refuse(ask.JDK8, "container %.80q, image %.120s, looks like JDK 8, whose JVM would not start with -Xlog in %s: set %s%s to off and add to the JVM's own options: %s",
			c.Name, c.Image, w.Variable.Name, ask.Prefix, wish.OptionsVariable, j.optionsOf8())
		return nil
	}
	j.planUser(n)
	j.planEvents(n)
	j.raised, j.pin = planMemory(c, j.wishes, n)
	j.warnLog(n)
	j.planAttach(n)
	return j
}

// warnLog warns of options that turn off our log, and of another log whose disk makes the JVM wait.
func (j *jvm) warnLog(n *notes) {
	w := j.wishes
	earlier := []string{w.Variable.Name} // the variables that a JVM reads before it reads our options
	if w.Variable.Name == wish.LauncherVariable {
		earlier = append(earlier, wish.ToolVariable)
	}
	if j.Says("-Xlog:disable", earlier...) {
		n.warn("container %.80q has -Xlog:disable, which also turns off the log that the injector adds: remove it", j.Name)
	}
	if file := diskLog(j.Container); file != "" {
		n.warn("container %.80q has its own log at %.80s, which is not in memory: the JVM waits whenever that disk does: write it below %s, which is shipped", j.Name, file, logDir)
	}
	if isJDK8(j.Container) && w.Variable.Name == wish.LauncherVariable {
		n.warn("container %.80q, image %.120s, looks like JDK 8, which does not read %s: nothing is logged until you add to the JVM's own options: %s", j.Name, j.Image, w.Variable.Name, j.optionsOf8())
	}
}

// planUser decides about a sidecar on the basis of its JVM's user. If the JVM's uid is not
// known, the sidecar can only read the log. Then the JVM has to rotate the log, or else the
// tmpfs would eventually fill up and stay full. Each of the six files takes a sixteenth of the
// tmpfs, which leaves room for overwritten files: the sidecar closes them some seconds late,
// because it can't ask the kernel whether they still have a writer.
func (j *jvm) planUser(n *notes) {
	switch {
	case j.UID == nil:
		j.rotateAt = int64(j.wishes.Buffer) / 16
		text := "the memory of its log is freed only by rotation"
		if j.attach != attach.Off {
			j.attach, text = attach.Off, text+", and log levels cannot be changed"
		}
		write := "securityContext: {runAsUser: UID, runAsGroup: GID}"
		if j.GID != nil {
			write = "securityContext: {runAsUser: UID}"
		}
		n.warn("the user of container %.80q is not known: %s: write %s into the pod's spec, with the numbers that `kubectl exec POD -c %.80s -- id` prints, or, when the JVM logs, `kubectl ullage status`",
			j.Name, text, write, j.Name)
	case *j.UID == 0:
		n.warn("container %.80q runs as root, and so does its sidecar, without capabilities: set runAsUser and runAsGroup", j.Name)
	}
}

// planAttach decides how the sidecar reaches the JVM.
func (j *jvm) planAttach(n *notes) {
	if j.attach == attach.Off {
		return
	}
	if j.Says("-XX:+DisableAttachMechanism") {
		j.unreachable(n, "it has -XX:+DisableAttachMechanism: remove that option")
		return
	}
	if j.attach == attach.SharedTmp {
		j.planTmp(n)
	}
	if j.GID == nil && j.attach != attach.Off {
		n.warn("the group of container %.80q is not known: log levels can be changed only if it is the sidecar's group, 0: write securityContext: {runAsGroup: GID} into the pod's spec, with the number that `kubectl exec POD -c %.80s -- id -g` prints", j.Name, j.Name)
	}
}

// planTmp finds a directory for the JVM's socket that the sidecar can mount but no other pod
// can, because the sidecar speaks to every JVM whose socket is there.
func (j *jvm) planTmp(n *notes) {
	const remedy = "mount an emptyDir there, or set " + ask.Prefix + wish.Attach + " to process-namespace"
	at := j.MountAt(tmpDir)
	if at == nil {
		j.tmp, j.ownTmp = &corev1.VolumeMount{Name: tmpVolume + j.suffix, MountPath: tmpDir}, true
		if what := imageTmp(j.Container); what != "" {
			n.warn("container %.80q names %.120s, but the volume that it shares with the sidecar as /tmp hides what the image has there: if that file is in the image, set %s%s to process-namespace or off",
				j.Name, what, ask.Prefix, wish.Attach)
		}
		return
	}
	v := j.Pod.Volume(at.Name)
	switch {
	case at.ReadOnly:
		j.unreachable(n, "its /tmp is read-only: "+remedy)
	case at.SubPathExpr != "":
		j.unreachable(n, "its /tmp has a subPathExpr: "+remedy)
	case v == nil || v.EmptyDir == nil && v.Ephemeral == nil:
		j.unreachable(n, "its /tmp is a volume that other pods may also use: "+remedy)
	default:
		j.tmp = &corev1.VolumeMount{Name: at.Name, MountPath: tmpDir, SubPath: cleanSubPath(at.SubPath)}
	}
}

// cleanSubPath returns the same spelling for all subPaths of one directory.
func cleanSubPath(dir string) string {
	return strings.TrimPrefix(path.Clean("/"+dir), "/")
}

func (j *jvm) unreachable(n *notes, why string) {
	j.attach = attach.Off
	n.warn("log levels of container %.80q cannot be changed: %s", j.Name, why)
}

// change returns the additions to the JVM's container.
func (j *jvm) change() Change {
	c := Change{Container: j.Index, Mounts: []corev1.VolumeMount{{Name: j.logVolume(), MountPath: logDir}}, Options: j.options, Env: j.events}
	if j.ownTmp && j.tmp != nil {
		c.Mounts = append(c.Mounts, *j.tmp)
	}
	if j.raised {
		c.Memory = raiseLimit(j.Container, j.wishes)
	}
	return c
}
