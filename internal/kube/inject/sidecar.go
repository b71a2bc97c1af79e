package inject

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
)

// Variables by which a sidecar has its pod's directory in a shared volume.
const (
	podNamespace = "POD_NAMESPACE"
	podName      = "POD_NAME"
)

// nobody is the uid and gid of a sidecar whose JVM's are not known: those of
// the image.
const nobody = 65532

// volumes are those to add to the pod.
func (m *mutation) volumes() []corev1.Volume {
	var volumes []corev1.Volume
	for _, j := range m.jvms {
		size := resource.MustParse(m.wishes.tmpfs().String())
		memory := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &size}
		volumes = append(volumes, corev1.Volume{Name: j.logVolume(), VolumeSource: corev1.VolumeSource{EmptyDir: memory}})
		if j.ownTmp && j.tmp != nil {
			volumes = append(volumes, corev1.Volume{Name: j.tmp.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		}
	}
	annotations := []corev1.DownwardAPIVolumeFile{{Path: "annotations", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations"}}}
	volumes = append(volumes,
		corev1.Volume{Name: podInfoVolume, VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: annotations}}})
	if m.wishes.hasSinkSecret() {
		volumes = append(volumes, m.wishes.sinkVolume())
	}
	if m.destVolume == destVolume {
		volumes = append(volumes, corev1.Volume{Name: destVolume, VolumeSource: m.wishes.dest.source(m.wishes.onDisk(), len(m.jvms))})
	}
	return volumes
}

// sidecar is the container for one JVM's container.
func (m *mutation) sidecar(j *jvm, resources corev1.ResourceRequirements) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	c := corev1.Container{
		Name:            j.sidecar(),
		Image:           m.wishes.container.image,
		ImagePullPolicy: corev1.PullPolicy(m.cfg.ImagePullPolicy),
		Args:            []string{"run"},
		Env:             m.environment(j),
		Resources:       resources,
		// The annotations' volume is mounted whole: a subPath never changes.
		VolumeMounts: []corev1.VolumeMount{
			{Name: j.logVolume(), MountPath: logDir},
			m.wishes.dest.mount(m.destVolume, j.Name, len(m.jvms) > 1),
			{Name: podInfoVolume, MountPath: podInfoDir, ReadOnly: true},
			// An API server mounts the token of the pod's account into every container
			// that has nothing there, those of webhooks too. The sidecar needs none.
			{Name: podInfoVolume, MountPath: tokenDir, ReadOnly: true},
		},
		RestartPolicy:            &always,
		SecurityContext:          securityContext(j),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if j.tmp != nil {
		c.VolumeMounts = append(c.VolumeMounts, *j.tmp)
	}
	if m.wishes.hasSinkSecret() {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: sinkSecretVolume, MountPath: sinkSecretDir, ReadOnly: true})
	}
	if j.public() {
		c.Ports = []corev1.ContainerPort{{Name: "ullage-metrics" + strings.TrimPrefix(j.suffix, "-"), ContainerPort: int32(j.port)}}
	}
	return m.wishes.hatch.apply(c)
}

// securityContext is what the restricted Pod Security Standard asks for, and
// the user of the JVM.
func securityContext(j *jvm) *corev1.SecurityContext {
	yes, no, own := true, false, int64(nobody)
	s := &corev1.SecurityContext{
		RunAsUser: j.uid, RunAsGroup: j.gid, RunAsNonRoot: &yes,
		AllowPrivilegeEscalation: &no,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		ReadOnlyRootFilesystem:   &yes,
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if j.SecurityContext != nil {
		s.SELinuxOptions = j.SecurityContext.SELinuxOptions // else it would be kept from the JVM's files
	}
	switch {
	case j.uid == nil:
		s.RunAsUser = &own
		if j.gid == nil {
			s.RunAsGroup = &own
		}
	case *j.uid == 0:
		s.RunAsNonRoot = &no
	}
	return s
}

// environment has the settings of the sidecar, where they are not the default.
func (m *mutation) environment(j *jvm) []corev1.EnvVar {
	var env []corev1.EnvVar
	if m.wishes.dest.shared() {
		env = append(env, fromField(podNamespace, "metadata.namespace"), fromField(podName, "metadata.name"))
	}
	more := map[string]string{
		"source":      logDir,
		"dest":        destDir,
		"annotations": podInfoDir + "/annotations",
		"attach":      string(j.attach),
		"listen":      j.listen(),
	}
	if j.tmp != nil {
		more["jvm-tmp"] = tmpDir
	}
	if m.wishes.events > 0 && m.wishes.sidecar.Ship.Budget == 0 {
		more["budget"] = m.wishes.buffer.String() // the rest of the tmpfs is the ring's
	}
	if j.port != 0 && j.listen() != admin.DefaultConfig().Listen {
		host := j.host
		if j.public() {
			host = "127.0.0.1"
		}
		more["addr"] = net.JoinHostPort(host, strconv.Itoa(j.port)) // for ullage status
	}
	return m.wishes.hatch.environment(slices.Concat(env, m.wishes.environment(more), m.wishes.sinkEnvironment(j.Name)))
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// What a sidecar may take where the pod's other containers have such limits, and
// the configuration does not.
var (
	cpuLimit    = resource.MustParse("250m")
	memoryLimit = resource.MustParse("64Mi")
)

// resources are those of each sidecar of the pod. They keep what its own ones
// have brought about: that a ResourceQuota for CPU limits admits it, that it is
// of QoS class Guaranteed, that it may fill its limit of ephemeral storage. Where
// the pod has resources as a whole, a container more must have none: the sum
// of all requests may not be over the pod's.
func (m *mutation) resources() corev1.ResourceRequirements {
	if whole := m.pod.Spec.Resources; whole != nil && len(whole.Requests)+len(whole.Limits) > 0 {
		return corev1.ResourceRequirements{}
	}
	asked := m.wishes.container.resources
	r := corev1.ResourceRequirements{Requests: maps.Clone(asked.Requests), Limits: maps.Clone(asked.Limits)}
	spec := &m.pod.Spec
	guaranteed := isGuaranteed(spec)
	lacks := func(name corev1.ResourceName) bool { limit := r.Limits[name]; return limit.Sign() == 0 }
	general := m.cfg.Resources.Limits[corev1.ResourceCPU]
	switch limit := r.Limits[corev1.ResourceCPU]; {
	case guaranteed && limit.Cmp(general) == 0: // or there is none
		r.Limits[corev1.ResourceCPU] = larger(m.cfg.Resources.Guaranteed[corev1.ResourceCPU], r.Requests[corev1.ResourceCPU])
	case lacks(corev1.ResourceCPU) && allLimited(spec, corev1.ResourceCPU):
		r.Limits[corev1.ResourceCPU] = larger(cpuLimit, r.Requests[corev1.ResourceCPU])
	}
	if lacks(corev1.ResourceMemory) && guaranteed {
		r.Limits[corev1.ResourceMemory] = larger(memoryLimit, r.Requests[corev1.ResourceMemory])
	}
	if !lacks(corev1.ResourceMemory) {
		r.Limits[corev1.ResourceMemory] = plus(r.Limits[corev1.ResourceMemory], m.wishes.addedMemory())
	}
	if guaranteed {
		if warning := m.cfg.Policy.guarantee(&r); warning != "" {
			m.warn("%s", warning)
		}
	}
	if onDisk := m.wishes.onDisk(); onDisk > 0 {
		storage(&r, plus(resource.Quantity{}, onDisk), anyLimited(spec, corev1.ResourceEphemeralStorage))
	}
	var warning string
	if m.adds, warning = m.pod.addition(r, len(m.jvms), guaranteed); warning != "" {
		m.warn("%s", warning)
	}
	return r
}

// asGoodAsNone is a bound that nothing reaches, and that is far from an overflow.
const asGoodAsNone settings.Size = 1 << 50

// mostSpooled returns how much of the tmpfs the spool, and the lines made of events, may
// take. The kernel charges memory of a tmpfs to the container that writes it first: a log counts
// for the JVM's container, these two for the sidecar's.
func (w *wishes) mostSpooled() settings.Size {
	return min(cmp.Or(w.sidecar.Ship.Budget, w.buffer), asGoodAsNone)
}

// addedMemory returns what is added to the sidecar's limit of memory.
func (w *wishes) addedMemory() settings.Size {
	return w.mostSpooled() + sinkMemory*settings.Size(len(w.sidecar.Sinks.URLs))
}

// storage asks for what the durable copy may take of the node's disk, so that
// the scheduler finds a node that has it. Limited adds it to what the pod may
// take: the kubelet compares the sum of all containers' limits with what is in
// all emptyDirs, and evicts a pod that is over it.
func storage(r *corev1.ResourceRequirements, onDisk resource.Quantity, limited bool) {
	limit, given := r.Limits[corev1.ResourceEphemeralStorage]
	if !given && limited {
		r.Limits[corev1.ResourceEphemeralStorage] = larger(onDisk, r.Requests[corev1.ResourceEphemeralStorage])
	}
	if _, asked := r.Requests[corev1.ResourceEphemeralStorage]; asked {
		return
	}
	if given && limit.Cmp(onDisk) < 0 {
		onDisk = limit
	}
	r.Requests[corev1.ResourceEphemeralStorage] = onDisk
}

func plus(q resource.Quantity, more settings.Size) resource.Quantity {
	return resource.MustParse((settings.Size(q.Value()) + more).String())
}

func larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func anyLimited(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	return slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return limited(c, name) })
}

func allLimited(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	return !slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return !limited(c, name) })
}

func limited(c corev1.Container, name corev1.ResourceName) bool {
	limit := c.Resources.Limits[name]
	return limit.Sign() > 0
}

// isGuaranteed says whether the pod is of that QoS class: each container has
// limits of CPU and memory, and requests as much, or does not say.
func isGuaranteed(spec *corev1.PodSpec) bool {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if request, ok := c.Resources.Requests[name]; !limited(c, name) || ok && request.Cmp(c.Resources.Limits[name]) != 0 {
				return false
			}
		}
	}
	return true
}
