package plan

import (
	"cmp"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// planDest gives each sidecar its directory in the volume of the durable copies. It returns that volume, or nil if the
// pod already has it.
func planDest(p *pod.Pod, w *wish.Wishes, jvms []*jvm, n *notes) *corev1.Volume {
	own := ownDest(p, w, n)
	for _, j := range jvms {
		j.dest = destMount(cmp.Or(own, destVolume), w, j, len(jvms) > 1)
	}
	if own != "" {
		return nil
	}
	return newDest(w, len(jvms))
}

// ownDest returns the name of the pod's own volume for the durable copies, or "" if it has none. If the pod already has
// a volume of the claim, that volume is used: a pod with two volumes of one claim never starts, because the kubelet
// waits permanently for the second volume.
func ownDest(p *pod.Pod, w *wish.Wishes, n *notes) string {
	if name := w.Dest.Volume; name != "" {
		if why := p.Unwritable(name); why != "" {
			n.refuse(ask.BadClaim, "%s%s: the volume %.80q of the pod %s: use another one", ask.Prefix, wish.Dest, name, why)
		}
		return name
	}
	own := ""
	for _, v := range p.Spec.Volumes {
		claim := v.PersistentVolumeClaim
		if claim == nil || w.Dest.Claim == "" || claim.ClaimName != w.Dest.Claim {
			continue
		}
		if claim.ReadOnly {
			n.refuse(ask.BadClaim, "%s%s: the pod has the claim %s as volume %.80q, which is read-only: make it writable, or use another claim",
				ask.Prefix, wish.Dest, claim.ClaimName, v.Name)
			return ""
		}
		own = v.Name
	}
	return own
}

// destMount returns the mount of the directory that the sidecar of j uses. In a claim or in a volume that the pod
// names, the path of the directory is the pod's namespace and name, so that two pods never share a directory. If there
// are several sidecars, each has its own directory, named after its JVM's container.
func destMount(volume string, w *wish.Wishes, j *jvm, several bool) corev1.VolumeMount {
	m := corev1.VolumeMount{Name: volume, MountPath: destDir}
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

// newDest returns the volume to add for the copies of all sidecars.
func newDest(w *wish.Wishes, sidecars int) *corev1.Volume {
	v := corev1.Volume{Name: destVolume}
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
