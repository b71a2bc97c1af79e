package inject

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

// eventsVariable is what the library in java/ reads: where its ring is to be, and how large.
const eventsVariable = "ULLAGE_EVENTS"

// Bounds of a ring, which are those of the library.
const (
	minRing = 256 * settings.Ki
	maxRing = settings.Gi
)

// parseEvents reads the size of the ring of events. Zero: the JVM has none.
func parseEvents(text string) (settings.Size, error) {
	if text == "" || text == "off" {
		return 0, nil
	}
	size, err := settings.ParseSize(text)
	if err != nil || size < minRing || size > maxRing {
		return 0, fmt.Errorf("it is not a size from %s to %s: write it like 2Mi, or off", minRing, maxRing)
	}
	return size, nil
}

// tmpfs returns the size of the tmpfs: the ring's memory comes on top of that of the logs. A ring is there
// from the JVM's start to its end.
func (w *wishes) tmpfs() settings.Size { return min(w.buffer, asGoodAsNone) + w.events }

// memory says what of the tmpfs counts as memory of a container.
func (w *wishes) memory() string {
	text := fmt.Sprintf("%s%s is %s", ask.Prefix, bufferName, w.buffer)
	if w.events > 0 {
		text += fmt.Sprintf(", with %s%s %s,", ask.Prefix, eventsName, w.tmpfs())
	}
	return text
}

// eventProblems says what keeps the events of a container from being logged.
func (w *wishes) eventProblems(j *jvm) (problems []string) {
	if w.events == 0 {
		return nil
	}
	if lastEnv(j.Container, eventsVariable) >= 0 {
		problems = append(problems, fmt.Sprintf("container %.80q has %s already: the injector leaves it as it is: its directory must be %s", j.Name, eventsVariable, logDir))
	} else if mayHave(j.Container, eventsVariable) {
		problems = append(problems, fmt.Sprintf("container %.80q has envFrom: if %s comes from there, the injector's value hides it", j.Name, eventsVariable))
	}
	if j.uid == nil {
		problems = append(problems, fmt.Sprintf("events of container %.80q are not read: only its user may give their memory back: set runAsUser and runAsGroup", j.Name))
	}
	return problems
}

// eventsEnv returns what says to the JVMs of a container where their rings are, if anything has to.
func (w *wishes) eventsEnv(c *corev1.Container) []corev1.EnvVar {
	if w.events == 0 || lastEnv(c, eventsVariable) >= 0 {
		return nil
	}
	keep := w.sidecar.Ship.KeepLevel
	if keep == ship.KeepLevel(ul.NumLevels) {
		keep = ship.KeepLevel(ul.Error) // a ring knows no off
	}
	value := strings.Join([]string{logDir, "size=" + w.events.String(), "keep=" + keep.String()}, ",")
	return []corev1.EnvVar{{Name: eventsVariable, Value: value}}
}
