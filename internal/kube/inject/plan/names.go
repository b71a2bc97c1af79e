package plan

import (
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Names of the sidecar and the volumes. The names for a second JVM container end in -2.
const (
	sidecarName      = "ullage"
	logVolume        = "ullage-logs"
	tmpVolume        = "ullage-tmp"
	podInfoVolume    = "ullage-podinfo"
	destVolume       = "ullage-dest"
	sinkSecretVolume = "ullage-sink-secret"
)

// Directories in the JVM's container and in its sidecar. The log directory must have
// the same name in both, since the sidecar uses the file names that the JVM reports.
const (
	logDir        = "/var/log/jvm"
	tmpDir        = "/tmp" // HotSpot uses this directory, whatever java.io.tmpdir says
	destDir       = "/var/lib/ullage"
	podInfoDir    = "/etc/ullage"
	sinkSecretDir = "/etc/ullage-sinks" // not in podInfoDir: nothing can be mounted in a read-only volume
)

// isOurs reports whether name is ours, or ours with the suffix of a further JVM.
func isOurs(name, ours string) bool {
	number, ok := strings.CutPrefix(name, ours)
	return ok && (number == "" || len(number) == 2 && number[0] == '-' && number[1] >= '2' && number[1] <= '0'+wish.MaxJVMs)
}

// findClashes finds containers and volumes of the pod that have one of our names. It also finds
// annotations so long that, with ours added, the API server would refuse the pod.
func findClashes(p *pod.Pod, n *notes) {
	for _, name := range p.ContainerNames() {
		if isOurs(name, sidecarName) {
			n.refuse(ask.NameTaken, "the pod has a container called %s, which is the sidecar's name: rename it, or set the label %s: \"false\"", name, ask.InjectLabel)
		}
	}
	for _, volume := range p.VolumeNames() {
		for _, name := range []string{logVolume, tmpVolume, podInfoVolume, destVolume, sinkSecretVolume} {
			if isOurs(volume, name) {
				n.refuse(ask.NameTaken, "the pod has a volume called %s, which is a name that the injector uses: rename it", volume)
			}
		}
	}
	if p.Room() < maxStatus {
		n.refuse(ask.BadAnnotation, "the annotations of the pod leave no room for ullage's: shorten them by %d KiB", maxStatus>>10)
	}
}
