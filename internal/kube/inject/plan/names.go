package plan

import (
	"strings"

	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Names of what is added to a pod. The names for a second JVM container end in -2.
const (
	sidecarName      = "ullage"
	logVolume        = "ullage-logs"
	tmpVolume        = "ullage-tmp"
	podInfoVolume    = "ullage-podinfo"
	destVolume       = "ullage-dest"
	sinkSecretVolume = "ullage-sink-secret"
)

// Where things are, in the JVM's container and in its sidecar. Of the log the
// name must be the same in both, since it is what the JVM calls its files.
const (
	logDir        = "/var/log/jvm"
	tmpDir        = "/tmp" // HotSpot's, whatever the system property says
	destDir       = "/var/lib/ullage"
	podInfoDir    = "/etc/ullage"
	sinkSecretDir = "/etc/ullage-sinks" // not in podInfoDir: nothing can be mounted in a read-only volume
)

// isOurs says whether name is our name, or our name for a further JVM.
func isOurs(name, ours string) bool {
	number, ok := strings.CutPrefix(name, ours)
	return ok && (number == "" || len(number) == 2 && number[0] == '-' && number[1] >= '2' && number[1] <= '0'+wish.MaxJVMs)
}
