package inject

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/settings"
)

// destination is a parsed ullage.dev/dest. The zero value is an emptyDir.
type destination struct {
	claim string        // pvc:NAME
	size  settings.Size // ephemeral:SIZE[:CLASS]
	class string

	// volume:NAME[/PATH]: one that the pod has, and a directory in it.
	volume, dir string
}

// directory is what may stand for one in a volume. (Two dots are looked for
// apart.)
var directory = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

func parseDestination(text string) (destination, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "emptyDir":
		if text == kind {
			return destination{}, nil
		}
	case "pvc":
		if isName(rest) {
			return destination{claim: rest}, nil
		}
	case "volume":
		name, dir, hasDir := strings.Cut(rest, "/")
		if isName(name) && len(rest) <= maxValue && (!hasDir || directory.MatchString(dir) && !slices.Contains(strings.Split(dir, "/"), "..")) {
			return destination{volume: name, dir: dir}, nil
		}
	case "ephemeral":
		size, class, hasClass := strings.Cut(rest, ":")
		if n, err := settings.ParseSize(size); err == nil && n > 0 && (!hasClass || isName(class)) {
			return destination{size: n, class: class}, nil
		}
	}
	return destination{}, errors.New("write it like pvc:CLAIM, volume:NAME, volume:NAME/DIR, ephemeral:10Gi, ephemeral:10Gi:STORAGECLASS or emptyDir")
}

func (d destination) String() string {
	switch {
	case d.claim != "":
		return "pvc:" + d.claim
	case d.volume != "":
		return "volume:" + path.Join(d.volume, d.dir)
	case d.class != "":
		return fmt.Sprintf("ephemeral:%s:%s", d.size, d.class)
	case d.size != 0:
		return "ephemeral:" + d.size.String()
	}
	return "emptyDir"
}

// onNode says that what is written counts as ephemeral storage of the pod.
func (d destination) onNode() bool { return d.claim == "" && d.volume == "" && d.size == 0 }

// endsIn is the kind of the volume, if such a volume ends with the pod. Empty: it
// does not, as far as the pod shows.
func (d destination) endsIn(p *pod) string {
	v := p.volume(d.volume)
	switch {
	case d.onNode() || v != nil && v.EmptyDir != nil:
		return "emptyDir"
	case d.size != 0 || v != nil && v.Ephemeral != nil:
		return "ephemeral"
	}
	return ""
}

// shared says that the volume may be that of other pods as well.
func (d destination) shared() bool { return d.claim != "" || d.volume != "" }

// What an emptyDir holds by default. It takes the node's disk, and is gone with
// the pod: little is worth keeping there.
const (
	nodeRetain  = 256 * settings.Mi
	nodeSegment = 16 * settings.Mi
)

// retainLess sets the retention for an emptyDir where none is asked for.
func (w *wishes) retainLess(segments bool, policy Policy) {
	cfg := &w.sidecar.Ship.Segment
	if segments {
		cfg.SegmentBytes = nodeSegment
		w.set["segment-bytes"] = cfg.SegmentBytes.String()
	}
	cfg.RetainBytes = policy.atMost("retain-bytes", max(nodeRetain, min(cfg.SegmentBytes, asGoodAsNone/4)*4))
	w.set["retain-bytes"] = cfg.RetainBytes.String()
}

// onDisk is the most that the durable copy of one sidecar takes of the node's
// disk: what is retained, and two segments until the oldest is deleted. Zero:
// there is no bound, or it is none of the node's disk.
func (w *wishes) onDisk() settings.Size {
	cfg := w.sidecar.Ship.Segment
	if !w.dest.onNode() || cfg.RetainBytes == 0 || cfg.RetainBytes > asGoodAsNone {
		return 0
	}
	return cfg.RetainBytes + 2*cfg.SegmentBytes
}

// source is the volume of the copies of so many sidecars, each of which takes
// at most onDisk.
func (d destination) source(onDisk settings.Size, sidecars int) corev1.VolumeSource {
	switch {
	case d.claim != "":
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.claim}}
	case d.size != 0:
		spec := corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(d.size.String())},
			},
		}
		if d.class != "" {
			spec.StorageClassName = &d.class
		}
		return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: spec}}}
	}
	v := &corev1.EmptyDirVolumeSource{}
	if onDisk > 0 {
		limit := plus(resource.Quantity{}, onDisk*settings.Size(sidecars))
		v.SizeLimit = &limit
	}
	return corev1.VolumeSource{EmptyDir: v}
}

// mount returns where the sidecar finds its directory of the volume. In a claim,
// or another volume of the pod's, that is the pod's namespace and name, so that no two pods ever have one
// directory; of several sidecars each has one of its own, named as its JVM's
// container.
func (d destination) mount(volume, container string, several bool) corev1.VolumeMount {
	m := corev1.VolumeMount{Name: volume, MountPath: destDir}
	if d.shared() {
		m.SubPathExpr = path.Join(d.dir, "$("+podNamespace+")/$("+podName+")")
	}
	switch {
	case several && d.shared():
		m.SubPathExpr += "/" + container
	case several:
		m.SubPath = container
	}
	return m
}
