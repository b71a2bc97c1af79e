package plan

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/wish"
	"github.com/ullage/ullage/internal/kube/names"
	"github.com/ullage/ullage/internal/sink/address"
)

// imageUser is the uid and gid of the sidecar's image. A sidecar runs with this uid if the JVM's uid
// is not known, and with this gid if the JVM's gid is not known either.
const imageUser = 65532

// volumes returns the volumes to add to the pod.
func volumes(w *wish.Wishes, jvms []*jvm, dest *corev1.Volume) []corev1.Volume {
	var all []corev1.Volume
	add := func(name string, source corev1.VolumeSource) {
		all = append(all, corev1.Volume{Name: name, VolumeSource: source})
	}
	for _, j := range jvms {
		size := resource.MustParse(j.wishes.Tmpfs().String())
		add(j.logVolume(), corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &size}})
		if j.ownTmp && j.tmp != nil {
			add(j.tmp.Name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
		}
	}
	annotations := []corev1.DownwardAPIVolumeFile{{Path: "annotations", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations"}}}
	add(podInfoVolume, corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: annotations}})
	if hasSinkSecret(w) {
		// Each key of the Secret is a file: a certificate, a key, or a password for an
		// option that takes a file. The files are updated while the pod runs.
		optional, mode := true, int32(0o444) // the JVM's user must be able to read it, and only the sidecar mounts it
		add(sinkSecretVolume, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: w.SinkSecret, DefaultMode: &mode, Optional: &optional}})
	}
	if dest != nil {
		all = append(all, *dest)
	}
	return all
}

// sidecar returns the sidecar for one JVM's container.
func sidecar(j *jvm, resources corev1.ResourceRequirements) corev1.Container {
	w, always := j.wishes, corev1.ContainerRestartPolicyAlways
	c := corev1.Container{
		Name:            j.sidecar(),
		Image:           w.Container.Image,
		ImagePullPolicy: w.Container.PullPolicy,
		Args:            []string{"run"},
		Env:             environment(j),
		Resources:       resources,
		// The volume of the annotations is mounted whole: a subPath mount is never updated.
		VolumeMounts: []corev1.VolumeMount{
			{Name: j.logVolume(), MountPath: logDir},
			j.dest,
			{Name: podInfoVolume, MountPath: podInfoDir, ReadOnly: true},
			// An API server mounts the token of the service account into every container
			// without a mount there, webhooks' containers included. The sidecar needs no token.
			{Name: podInfoVolume, MountPath: names.ServiceAccountDir, ReadOnly: true},
		},
		RestartPolicy:            &always,
		SecurityContext:          securityContext(j),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if j.tmp != nil {
		c.VolumeMounts = append(c.VolumeMounts, *j.tmp)
	}
	if hasSinkSecret(w) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: sinkSecretVolume, MountPath: sinkSecretDir, ReadOnly: true})
	}
	if j.public() {
		c.Ports = []corev1.ContainerPort{{Name: "ullage-metrics" + strings.TrimPrefix(j.suffix, "-"), ContainerPort: int32(j.port)}}
	}
	return w.Container.Hatch.Apply(c)
}

// securityContext meets the restricted Pod Security Standard and runs the sidecar
// as the JVM's user.
func securityContext(j *jvm) *corev1.SecurityContext {
	yes, no, own := true, false, int64(imageUser)
	s := &corev1.SecurityContext{
		RunAsUser: j.UID, RunAsGroup: j.GID, RunAsNonRoot: &yes,
		AllowPrivilegeEscalation: &no,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		ReadOnlyRootFilesystem:   &yes,
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if j.SecurityContext != nil {
		s.SELinuxOptions = j.SecurityContext.SELinuxOptions // otherwise SELinux could deny access to the JVM's files
	}
	switch {
	case j.UID == nil:
		s.RunAsUser = &own
		if j.GID == nil {
			s.RunAsGroup = &own
		}
	case *j.UID == 0:
		s.RunAsNonRoot = &no
	}
	return s
}

// environment returns those settings of the sidecar that differ from the defaults.
func environment(j *jvm) []corev1.EnvVar {
	var env []corev1.EnvVar
	w := j.wishes
	if w.Dest.Shared() {
		env = append(env, fromField(wish.PodNamespace, "metadata.namespace"), fromField(wish.PodName, "metadata.name"))
	}
	all := maps.Clone(w.Set)
	maps.Copy(all, map[string]string{
		"source":      logDir,
		"dest":        destDir,
		"annotations": podInfoDir + "/annotations",
		"attach":      string(j.attach),
		"listen":      j.listen(),
	})
	if j.attach == attach.Off {
		delete(all, ask.Adopt) // it may be a default for all pods, but 'ullage run' refuses it with --attach=off
	}
	if j.tmp != nil {
		all["jvm-tmp"] = tmpDir
	}
	if w.Events > 0 && w.Sidecar.Ship.Budget == 0 {
		all["budget"] = w.Buffer.String() // the rest of the tmpfs is for the ring
	}
	if j.port != 0 && j.listen() != admin.DefaultConfig().Listen {
		host := j.host
		if j.public() {
			host = "127.0.0.1"
		}
		all["addr"] = net.JoinHostPort(host, strconv.Itoa(j.port)) // for ullage status
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, wish.EnvVar(settings.EnvName(name), all[name]))
	}
	return append(env, sinkEnvironment(w, j.Name)...)
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// sinkEnvironment names the pod and container for the sinks, and passes on the credentials in
// their Secret. The kubelet reads the Secret; neither the injector nor the pod's manifest has
// its content. Only the variables that the sinks read are passed on, by name, because any other
// variable, such as ULLAGE_DEST, could override the cluster's policy. A missing Secret or key
// does not stop a pod: the sink fails and reports why.
func sinkEnvironment(w *wish.Wishes, container string) []corev1.EnvVar {
	urls := w.Sidecar.Sinks.URLs
	if len(urls) == 0 {
		return nil
	}
	env := []corev1.EnvVar{
		fromField(settings.EnvName("pod-namespace"), "metadata.namespace"),
		fromField(settings.EnvName("pod-name"), "metadata.name"),
		{Name: settings.EnvName("container-name"), Value: container},
	}
	if w.SinkSecret == "" {
		return env
	}
	optional := true
	given := map[string]bool{}
	for _, one := range urls {
		u, err := url.Parse(one)
		if err != nil {
			continue // already reported as a problem
		}
		for _, name := range address.Credentials(u.Scheme) {
			if !given[name] {
				given[name] = true
				env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: w.SinkSecret}, Key: name, Optional: &optional}}})
			}
		}
	}
	return env
}

// hasSinkSecret reports whether the pod's sidecars mount a Secret.
func hasSinkSecret(w *wish.Wishes) bool { return w.SinkSecret != "" && len(w.Sidecar.Sinks.URLs) > 0 }
