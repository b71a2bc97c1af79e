package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship"
)

const (
	errorFile      = "-XX:ErrorFile="
	attachListener = "-XX:+StartAttachListener"
)

// optionsOf8 returns the options by which a JVM of JDK 8 writes its collector's log where the sidecar ships it
// from. Such a JVM exits at -Xlog, so that its user has to give them to this JVM alone.
func (j *jvm) optionsOf8() string {
	return "-Xloggc:" + logDir + "/gc-%p.log -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintGCTimeStamps -XX:+PrintGCApplicationStoppedTime " +
		"-XX:+UseGCLogFileRotation -XX:NumberOfGCLogFiles=4 -XX:GCLogFileSize=4M " + errorFile + logDir + "/hs_err_pid%p.log -XX:+PerfDisableSharedMem"
}

// optionsFor returns the options that the JVMs of a container are given. With rotateAt, the
// sidecar can't free the memory of a file that is being written: the JVM then has six
// files of that size and overwrites the oldest. Without, the file grows permanently, and
// its durable part is freed.
func (j *jvm) optionsFor(w *wish.Wishes) string {
	size := "0"
	if j.rotateAt > 0 {
		size = fmt.Sprintf("%dK", j.rotateAt>>10)
	}
	options := "-Xlog:" + w.Xlog + ":file=" + logDir + "/" + ask.OutputFile + ":" + ask.OutputDecorators + ":" + ask.OutputArchives + ",filesize=" + size
	if others := j.otherOptions(w); others != "" {
		options += " " + others
	}
	if j.attach == attach.SharedTmp {
		options += " " + attachListener
	}
	return options
}

// otherOptions returns the options that do not concern the log, and that no adoption replaces.
func (j *jvm) otherOptions(w *wish.Wishes) string {
	var options []string
	// A crash's report would be gone with the pod.
	if !j.Says(errorFile) {
		options = append(options, errorFile+logDir+"/hs_err_pid%p.log")
	}
	// HotSpot keeps counters in a file that it has mapped, /tmp/hsperfdata_USER/PID,
	// and waits for the disk where that writes the page back.
	if !w.Perfdata && !j.InMemory(tmpDir) {
		options = append(options, "-XX:+PerfDisableSharedMem")
	}
	// Otherwise the heap would grow with the limit, and take the memory that was added for the log.
	if j.pin {
		options = append(options, fmt.Sprintf("-XX:MaxRAM=%d", j.MemoryLimit))
	}
	return strings.Join(options, " ")
}

// planOptions gives the JVMs of a container their options, after what the variable has already. The
// injector replaces no value that it can't see, since heap sizes, agents and trust stores would be
// gone without a word.
func (j *jvm) planOptions(w *wish.Wishes, n *notes) {
	name, options := w.Variable.Name, j.optionsFor(w)
	if name == wish.NoVariable {
		j.warnNoOptions(w, n)
		return
	}
	const remedy = "to another variable that its launcher reads"
	i := pod.LastEnv(j.Container.Container, name)
	switch {
	case i >= 0 && j.Env[i].ValueFrom != nil:
		n.refuse(ask.OptionsHidden, "the value of %s of container %.80q comes by valueFrom, and would be replaced: set %s%s %s, or to off and add there: %s",
			name, j.Name, ask.Prefix, wish.OptionsVariable, remedy, options)
	case i >= 0:
		j.options = Options{Name: name, Index: i, Old: j.Env[i].Value, Value: strings.TrimSpace(j.Env[i].Value + " " + options)}
		return
	case j.MayHave(name) && w.Variable.Asked:
		n.warn("container %.80q has envFrom: if %s comes from there, the injector's value hides it", j.Name, name)
	case j.MayHave(name):
		n.refuse(ask.OptionsHidden, "container %.80q has envFrom, and a value of %s from there would be replaced: if there is none, set %s%s to %s, or %s",
			j.Name, name, ask.Prefix, wish.OptionsVariable, name, remedy)
	}
	j.options = Options{Name: name, Index: -1, Value: options}
}

// warnNoOptions says what the JVMs of a container lack that are given no options. A sidecar that adopts them
// gives them a log later. Through a shared /tmp it finds only a JVM that listens from its start.
func (j *jvm) warnNoOptions(w *wish.Wishes, n *notes) {
	none := fmt.Sprintf("the JVMs of container %.80q get no options (%s%s: off)", j.Name, ask.Prefix, wish.OptionsVariable)
	switch {
	case isJDK8(j.Container):
		n.warn("%s and look like JDK 8: give them yourself: %s", none, j.optionsOf8())
	case w.Sidecar.Levels.Adopt.IsZero():
		n.warn("%s: give them yourself: %s", none, j.optionsFor(w))
	case j.attach == attach.Off:
		n.warn("%s, and %s%s has no effect, since the sidecar cannot reach them: give them yourself: %s", none, ask.Prefix, ask.Adopt, j.optionsFor(w))
	case j.attach == attach.SharedTmp && !j.Says(attachListener):
		n.warn("%s, and the sidecar cannot adopt them through their /tmp: set %s%s to process-namespace, or give them yourself: %s", none, ask.Prefix, wish.Attach, j.optionsFor(w))
	default:
		n.warn("%s: the sidecar adopts them while they run, and what they log earlier is not shipped; give them yourself, if you can: %s", none, j.otherOptions(w))
	}
}

// eventsVariable is what the library in java/ reads: where its ring is to be, and how large.
const eventsVariable = "ULLAGE_EVENTS"

// warnEvents says what keeps the events of a container from being logged.
func (j *jvm) warnEvents(w *wish.Wishes, n *notes) {
	own := pod.LastEnv(j.Container.Container, eventsVariable) >= 0
	switch {
	case w.Events == 0:
	case j.UID == nil && own:
		n.warn("container %.80q has %s already, and its sidecar can't remove rings, since the container's user is not known: set runAsUser and runAsGroup, or leave the variable out",
			j.Name, eventsVariable)
	case j.UID == nil:
		n.warn("container %.80q is not given %s, so its appenders write to their fallback: only the JVM's user may remove a ring, and that user is not known: set runAsUser and runAsGroup",
			j.Name, eventsVariable)
	case own:
		n.warn("container %.80q has %s already: the injector leaves it as it is: its directory must be %s", j.Name, eventsVariable, logDir)
	case j.MayHave(eventsVariable):
		n.warn("container %.80q has envFrom: if %s comes from there, the injector's value hides it", j.Name, eventsVariable)
	}
}

// wishes returns w, without a ring where nothing creates one: it takes no memory there.
func (j *jvm) wishes(w *wish.Wishes) *wish.Wishes {
	if w.Events == 0 || j.UID != nil || pod.LastEnv(j.Container.Container, eventsVariable) >= 0 {
		return w
	}
	ringless := *w
	ringless.Events = 0
	return &ringless
}

// eventsEnv returns what says to the JVMs of a container where their rings are, if anything has to.
// Where the sidecar may not be the JVM's user, nothing does: it could not remove a ring, and the
// ninth start would find eight. Without the variable an appender writes to its fallback from the start.
func (j *jvm) eventsEnv(w *wish.Wishes) []corev1.EnvVar {
	if w.Events == 0 || j.UID == nil || pod.LastEnv(j.Container.Container, eventsVariable) >= 0 {
		return nil
	}
	keep := w.Sidecar.Ship.KeepLevel
	if keep == ship.KeepLevel(ul.NumLevels) {
		keep = ship.KeepLevel(ul.Error) // a ring knows no off
	}
	value := strings.Join([]string{logDir, "size=" + w.Events.String(), "keep=" + keep.String()}, ",")
	return []corev1.EnvVar{{Name: eventsVariable, Value: value}}
}
