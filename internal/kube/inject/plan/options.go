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

const errorFile = "-XX:ErrorFile="

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
	// A crash's report would be gone with the pod.
	if !j.Says(errorFile) {
		options += " " + errorFile + logDir + "/hs_err_pid%p.log"
	}
	// HotSpot keeps counters in a file that it has mapped, /tmp/hsperfdata_USER/PID,
	// and waits for the disk where that writes the page back.
	if !w.Perfdata && !j.InMemory(tmpDir) {
		options += " -XX:+PerfDisableSharedMem"
	}
	// Otherwise the heap would grow with the limit, and take the memory that was added for the log.
	if j.pin {
		options += fmt.Sprintf(" -XX:MaxRAM=%d", j.MemoryLimit)
	}
	if j.attach == attach.SharedTmp {
		options += " -XX:+StartAttachListener"
	}
	return options
}

// planOptions gives the JVMs of a container their options, after what the variable has already. The
// injector replaces no value that it can't see, since heap sizes, agents and trust stores would be
// gone without a word.
func (j *jvm) planOptions(w *wish.Wishes, n *notes) {
	name, options := w.Variable.Name, j.optionsFor(w)
	if name == wish.NoVariable && isJDK8(j.Container) {
		n.warn("the JVMs of container %.80q get no options (%s%s: off) and look like JDK 8: give them yourself: %s", j.Name, ask.Prefix, wish.OptionsVariable, j.optionsOf8())
		return
	}
	if name == wish.NoVariable {
		n.warn("the JVMs of container %.80q get no options (%s%s: off): give them yourself: %s", j.Name, ask.Prefix, wish.OptionsVariable, options)
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
