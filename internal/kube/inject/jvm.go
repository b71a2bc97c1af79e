package inject

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Where things are, in the JVM's container and in its sidecar. Of the log the
// name must be the same in both, since it is what the JVM calls its files.
const (
	logDir     = "/var/log/jvm"
	tmpDir     = "/tmp" // HotSpot's, whatever the system property says
	destDir    = "/var/lib/ullage"
	podInfoDir = "/etc/ullage"
	tokenDir   = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// jvm is a container with a JVM, and what is done about it.
type jvm struct {
	*corev1.Container
	index  int    // among the pod's containers
	suffix string // of the names of what is added for it: empty, "-2", "-3" …

	uid, gid *int64 // nil: not known
	attach   attach.Mode
	tmp      *corev1.VolumeMount // what has to be mounted at tmpDir of the sidecar. Nil: nothing
	ownTmp   bool                // tmp is added to the JVM's container, too
	host     string
	port     int // 0: it does not listen
	rotateAt int64
	raised   int64 // the memory limit that the injector raises; 0: it raises none
	pin      bool  // the heap goes by that limit, as it was
}

func (j *jvm) logVolume() string { return logVolume + j.suffix }
func (j *jvm) sidecar() string   { return sidecarName + j.suffix }

// plan decides about one container with a JVM. The problem, if not nil, says
// why it can't be injected.
func (m *mutation) plan(index, number int) (*jvm, *problem) {
	j := &jvm{Container: &m.pod.Spec.Containers[index], index: index, attach: m.wishes.attach}
	if number > 1 {
		j.suffix = fmt.Sprintf("-%d", number)
	}
	if at := mountAt(j.Container, logDir); at != nil {
		return nil, &problem{ask.MountTaken, fmt.Sprintf("container %.80q has %.80q mounted at %s, where its log must be: mount it elsewhere", j.Name, at.Name, logDir)}
	}
	if at := m.pod.sealedAbove(j.Container, logDir); at != "" {
		return nil, &problem{ask.MountTaken, fmt.Sprintf("container %.80q has something mounted at %.80s that is read-only, and its log must be in %s: mount it elsewhere", j.Name, at, logDir)}
	}
	if warning := m.pod.planMemory(j, &m.wishes); warning != "" {
		m.warn("%s", warning)
	}
	if says(j.Container, "-Xlog:disable", m.wishes.earlier()...) {
		m.warn("container %.80q has -Xlog:disable, which also turns off the log that the injector adds: leave it out", j.Name)
	}
	if file := m.pod.diskLog(j.Container); file != "" {
		m.warn("container %.80q has a log of its own at %.80s, which is not in memory: the JVM waits when that disk does: write it below %s, which is shipped", j.Name, file, logDir)
	}
	if warning := m.wishes.tooOld(j.Container); warning != "" {
		m.warn("%s", warning)
	}
	m.planUser(j)
	m.planAttach(j)
	for _, problem := range m.wishes.eventProblems(j) {
		m.warn("%s", problem)
	}
	return j, nil
}

// memoryLimit is what a container may take.
func (p *pod) memoryLimit(c *corev1.Container) (int64, bool) {
	limit, ok := c.Resources.Limits[corev1.ResourceMemory]
	if r := p.Spec.Resources; !ok && r != nil {
		limit, ok = r.Limits[corev1.ResourceMemory]
	}
	return limit.Value(), ok && limit.Sign() > 0
}

// planUser decides as whom the sidecar runs. Without the JVM's uid it can read
// the log and no more, and the log then has to be rotated, or the tmpfs would be
// full for good one day. Six files of a sixteenth leave room for those that were
// overwritten, of which the sidecar lets go some seconds later: it can't ask the
// kernel whether they still have a writer.
func (m *mutation) planUser(j *jvm) {
	j.uid, j.gid = m.pod.user(j.Container)
	switch {
	case j.uid == nil:
		j.rotateAt = int64(m.wishes.buffer) / 16
		text := "the memory of its log is given back by rotation only"
		if j.attach != attach.Off {
			j.attach, text = attach.Off, text+", and log levels can't be changed"
		}
		write := "securityContext: {runAsUser: UID, runAsGroup: GID}"
		if j.gid != nil {
			write = "securityContext: {runAsUser: UID}"
		}
		m.warn("the user of container %.80q is not known: %s: write %s into the pod's spec, with the numbers that `kubectl exec POD -c %.80s -- id` prints, and once the JVM logs `kubectl ullage status`",
			j.Name, text, write, j.Name)
	case *j.uid == 0:
		m.warn("container %.80q runs as root, and so does its sidecar, without capabilities: set runAsUser and runAsGroup", j.Name)
	}
}

// planAttach decides how the sidecar reaches the JVM.
func (m *mutation) planAttach(j *jvm) {
	if j.attach == attach.Off {
		return
	}
	if says(j.Container, "-XX:+DisableAttachMechanism") {
		m.unreachable(j, "it has -XX:+DisableAttachMechanism: leave that out")
		return
	}
	if j.attach == attach.SharedTmp {
		m.planTmp(j)
	}
	if j.gid == nil && j.attach != attach.Off {
		m.warn("the group of container %.80q is not known: log levels can be changed only if it is that of the sidecar, 0: write securityContext: {runAsGroup: GID} into the pod's spec, with the number that `kubectl exec POD -c %.80s -- id -g` prints", j.Name, j.Name)
	}
}

// planTmp finds a directory for the JVM's socket that the sidecar can have as
// well, and nobody beyond the pod: any JVM whose socket is there is spoken to.
func (m *mutation) planTmp(j *jvm) {
	const remedy = "mount an emptyDir there, or set " + ask.Prefix + attachName + " to process-namespace"
	at := mountAt(j.Container, tmpDir)
	if at == nil {
		j.tmp, j.ownTmp = &corev1.VolumeMount{Name: tmpVolume + j.suffix, MountPath: tmpDir}, true
		if what := imageTmp(j.Container); what != "" {
			m.warn("container %.80q names %.120s, and the volume that the sidecar shares as its /tmp hides what the image has there: if it is the image's, set %s%s to process-namespace or off",
				j.Name, what, ask.Prefix, attachName)
		}
		return
	}
	v := m.pod.volume(at.Name)
	switch {
	case at.ReadOnly:
		m.unreachable(j, "its /tmp is read-only: "+remedy)
	case at.SubPathExpr != "":
		m.unreachable(j, "its /tmp has a subPathExpr: "+remedy)
	case v == nil || v.EmptyDir == nil && v.Ephemeral == nil:
		m.unreachable(j, "its /tmp is a volume that other pods may have, too: "+remedy)
	default:
		j.tmp = &corev1.VolumeMount{Name: at.Name, MountPath: tmpDir, SubPath: cleanSubPath(at.SubPath)}
	}
}

// cleanSubPath spells a subPath as every other that names the same directory.
func cleanSubPath(dir string) string {
	return strings.TrimPrefix(path.Clean("/"+dir), "/")
}

// separateTmp turns level control off where JVM containers have one /tmp: each
// calls itself process 1 and takes the socket of the other.
func (m *mutation) separateTmp() {
	if share := m.pod.Spec.ShareProcessNamespace; share != nil && *share {
		return // the numbers differ
	}
	users := map[corev1.VolumeMount]int{}
	for _, j := range m.jvms {
		if j.tmp != nil {
			users[*j.tmp]++
		}
	}
	for _, j := range m.jvms {
		if j.tmp != nil && users[*j.tmp] > 1 {
			j.tmp = nil
			m.unreachable(j, "another JVM has the same /tmp: mount a volume or a subPath of its own there")
		}
	}
}

func (m *mutation) unreachable(j *jvm, why string) {
	j.attach = attach.Off
	m.warn("log levels of container %.80q can't be changed: %s", j.Name, why)
}
