package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

// eventsVariable tells the library in java/ where to create its ring, and how large to make it.
const eventsVariable = "ULLAGE_EVENTS"

// planEvents decides whether the JVMs of a container create rings for their events. If the JVM's user is not known, the
// sidecar could not remove a ring, and the ninth start of the JVM would find eight rings: so the container does not get
// the variable, and an appender writes to its fallback from the start.
func (j *jvm) planEvents(n *notes) {
	if j.wishes.Events == 0 {
		return
	}
	own := pod.LastEnv(j.Container.Container, eventsVariable) >= 0
	switch {
	case own && j.UID == nil:
		n.warn("container %.80q already has %s, but its sidecar cannot remove rings, because the container's user is not known: set runAsUser and runAsGroup, or remove the variable",
			j.Name, eventsVariable)
		return
	case own:
		n.warn("container %.80q already has %s, which the injector does not change: its directory must be %s", j.Name, eventsVariable, logDir)
		return
	case j.UID == nil:
		n.warn("container %.80q does not get %s, so its appenders write to their fallback: only the JVM's user may remove a ring, and that user is not known: set runAsUser and runAsGroup",
			j.Name, eventsVariable)
		ringless := *j.wishes
		ringless.Events = 0
		j.wishes = &ringless
		return
	case j.MayHave(eventsVariable):
		n.warn("container %.80q has envFrom: if it sets %s, the injector's value replaces it", j.Name, eventsVariable)
	}
	keep := j.wishes.Sidecar.Ship.KeepLevel
	if keep == ship.KeepLevel(ul.NumLevels) {
		keep = ship.KeepLevel(ul.Error) // a ring has no level off
	}
	value := strings.Join([]string{logDir, "size=" + j.wishes.Events.String(), "keep=" + keep.String()}, ",")
	j.events = []corev1.EnvVar{{Name: eventsVariable, Value: value}}
}
