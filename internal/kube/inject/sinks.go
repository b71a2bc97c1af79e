package inject

import (
	"errors"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/sink"
)

const (
	sinkSecretSetting = "sink-secret"
	sinkSecretVolume  = "ullage-sink-secret"
	sinkSecretDir     = "/etc/ullage-sinks" // not in podInfoDir: nothing can be mounted in a read-only volume

	// sinkMemory is what a sink adds at most to the resident memory of a sidecar.
	sinkMemory = 8 * settings.Mi
)

// ofPodAlone are flags that say whose log it is. A pod that chose them could write among
// the logs of another.
var ofPodAlone = []string{"pod-namespace", "pod-name", "container-name"}

// parseSecret checks the name of the Secret for the sinks. An empty text is none.
func parseSecret(text string) (string, error) {
	if text != "" && !isName(text) {
		return "", errors.New("it is not the name of a Secret: write it like logs-bucket")
	}
	return text, nil
}

// sinkEnvironment tells the sinks whose log it is, and hands them the credentials that are
// in their Secret. The kubelet reads that; neither the injector nor the pod's manifest has
// what is in it. Only the variables that the sinks read are taken, by name: any other, as
// ULLAGE_DEST, could change what the cluster's policy fixes. A Secret or a key that is
// missing stops no pod: the sink fails then, and says why.
func (w *wishes) sinkEnvironment(container string) []corev1.EnvVar {
	urls := w.sidecar.Sinks.URLs
	if len(urls) == 0 {
		return nil
	}
	env := []corev1.EnvVar{
		fromField(settings.EnvName("pod-namespace"), "metadata.namespace"),
		fromField(settings.EnvName("pod-name"), "metadata.name"),
		{Name: settings.EnvName("container-name"), Value: container},
	}
	if w.sinkSecret == "" {
		return env
	}
	optional := true
	given := map[string]bool{}
	for _, one := range urls {
		u, err := url.Parse(one)
		if err != nil {
			continue // it was a problem
		}
		for _, name := range sink.Credentials(u.Scheme) {
			if !given[name] {
				given[name] = true
				env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: w.sinkSecret}, Key: name, Optional: &optional}}})
			}
		}
	}
	return env
}

// hasSinkSecret reports whether sidecars of the pod have a Secret mounted.
func (w *wishes) hasSinkSecret() bool {
	return w.sinkSecret != "" && len(w.sidecar.Sinks.URLs) > 0
}

// sinkVolume has the keys of the Secret as files: certificates, keys, and passwords for
// options that take a file. They are renewed while the pod runs.
func (w *wishes) sinkVolume() corev1.Volume {
	optional, mode := true, int32(0o444) // the sidecar's user is the JVM's, and nobody else mounts it
	return corev1.Volume{Name: sinkSecretVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: w.sinkSecret, DefaultMode: &mode, Optional: &optional}}}
}
