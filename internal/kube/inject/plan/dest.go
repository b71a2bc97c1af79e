package plan

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// dest is the volume of the durable copy.
type dest struct {
	name string
	own  bool // the pod already has the volume
}

// planDest finds the volume of the durable copy. If the pod already has a volume
// of the claim, that volume is used: a pod with two volumes of one claim never
// starts, because the kubelet waits permanently for the second volume.
func planDest(p *pod.Pod, w *wish.Wishes, n *notes) dest {
	if name := w.Dest.Volume; name != "" {
		if why := p.Unwritable(name); why != "" {
			n.refuse(ask.BadClaim, "%s%s: the volume %.80q of the pod %s: use another one", ask.Prefix, wish.Dest, name, why)
		}
		return dest{name, true}
	}
	found := dest{name: destVolume}
	for _, v := range p.Spec.Volumes {
		claim := v.PersistentVolumeClaim
		if claim == nil || w.Dest.Claim == "" || claim.ClaimName != w.Dest.Claim {
			continue
		}
		if claim.ReadOnly {
			n.refuse(ask.BadClaim, "%s%s: the pod has the claim %s as volume %.80q, which is read-only: make it writable, or use another claim",
				ask.Prefix, wish.Dest, claim.ClaimName, v.Name)
			return found
		}
		found = dest{v.Name, true}
	}
	return found
}

// warnDest warns of risks to the durable copy. If there is a sink, it does not warn of a copy
// that is deleted with the pod, because the sink has the same lines.
func warnDest(p *pod.Pod, w *wish.Wishes, jvms []*jvm, n *notes) {
	v := p.Volume(w.Dest.Volume)
	kind := "" // kind of the volume, if the pod shows that the volume is deleted with the pod
	switch {
	case w.Dest.OnNode() || v != nil && v.EmptyDir != nil:
		kind = "emptyDir"
	case w.Dest.Size != 0 || v != nil && v.Ephemeral != nil:
		kind = "ephemeral"
	}
	if kind != "" && len(w.Sidecar.Sinks.URLs) == 0 {
		n.warn("the durable copy is deleted with the pod (%s): set %s%s to pvc:CLAIM to keep it", kind, ask.Prefix, wish.Dest)
	}
	if forgetful(v) {
		n.warn("the volume of %s%s is a directory in the node's memory: the durable copy uses that memory and is lost with the node: use a directory on a disk", ask.Prefix, wish.Dest)
	}
	group := p.Spec.SecurityContext != nil && p.Spec.SecurityContext.FSGroup != nil
	notRoot := func(j *jvm) bool { return j.UID == nil || *j.UID != 0 }
	if kind != "emptyDir" && !group && slices.ContainsFunc(jvms, notRoot) {
		n.warn("the volume of %s%s may be writable only by root: set fsGroup in the pod's securityContext", ask.Prefix, wish.Dest)
	}
}

// volume returns the volume to add for the copies of all sidecars, or nil if the pod already has it.
func (d dest) volume(w *wish.Wishes, sidecars int) *corev1.Volume {
	if d.own {
		return nil
	}
	v := corev1.Volume{Name: d.name}
	switch {
	case w.Dest.Claim != "":
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: w.Dest.Claim}
	case w.Dest.Size != 0:
		spec := corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(w.Dest.Size.String())},
			},
		}
		if class := w.Dest.Class; class != "" {
			spec.StorageClassName = &class
		}
		v.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: spec}}
	default:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		if onDisk := w.OnDisk(); onDisk > 0 {
			limit := wish.Plus(resource.Quantity{}, onDisk*settings.Size(sidecars))
			v.EmptyDir.SizeLimit = &limit
		}
	}
	return &v
}

// mount returns the mount of the directory that the sidecar of j uses. In a claim or in a volume that the
// pod names, the path of the directory is the pod's namespace and name, so that two pods never share a
// directory. If there are several sidecars, each has its own directory, named after its JVM's container.
func (d dest) mount(w *wish.Wishes, j *jvm, several bool) corev1.VolumeMount {
	m := corev1.VolumeMount{Name: d.name, MountPath: destDir}
	if w.Dest.Shared() {
		m.SubPathExpr = path.Join(w.Dest.Dir, "$("+wish.PodNamespace+")/$("+wish.PodName+")")
	}
	switch {
	case several && w.Dest.Shared():
		m.SubPathExpr += "/" + j.Name
	case several:
		m.SubPath = j.Name
	}
	return m
}
