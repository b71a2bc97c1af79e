package plan

import (
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/kube/inject/pod"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

const (
	errorFile      = "-XX:ErrorFile="
	attachListener = "-XX:+StartAttachListener"
)

// optionsOf8 returns the options that make a JVM of JDK 8 write its GC log to the directory that the sidecar
// ships. Such a JVM would exit at -Xlog, so its user has to give these options to that JVM alone.
func (j *jvm) optionsOf8() string {
	return "-Xloggc:" + logDir + "/gc-%p.log -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintGCTimeStamps -XX:+PrintGCApplicationStoppedTime " +
		"-XX:+UseGCLogFileRotation -XX:NumberOfGCLogFiles=4 -XX:GCLogFileSize=4M " + errorFile + logDir + "/hs_err_pid%p.log -XX:+PerfDisableSharedMem"
}

// optionsFor returns the options for the JVMs of a container. If rotateAt is set, the sidecar
// can't free the memory of a file that is being written, so the JVM keeps six files of that
// size and overwrites the oldest. Otherwise, the JVM never rotates the file, and the sidecar
// frees the memory of the durable part.
func (j *jvm) optionsFor() string {
	size := "0"
	if j.rotateAt > 0 {
		size = fmt.Sprintf("%dK", j.rotateAt>>10)
	}
	options := "-Xlog:" + j.wishes.Xlog + ":file=" + logDir + "/" + ask.OutputFile + ":" + ask.OutputDecorators + ":" + ask.OutputArchives + ",filesize=" + size
	if others := j.otherOptions(); others != "" {
		options += " " + others
	}
	if j.attach == attach.SharedTmp {
		options += " " + attachListener
	}
	return options
}

// otherOptions returns the options that have nothing to do with the log. A JVM that is adopted does
// not get them from the sidecar.
func (j *jvm) otherOptions() string {
	var options []string
	// Otherwise a crash report would be lost with the pod.
	if !j.Says(errorFile) {
		options = append(options, errorFile+logDir+"/hs_err_pid%p.log")
	}
	// HotSpot keeps counters in a mapped file, /tmp/hsperfdata_USER/PID. If the file is on a disk,
	// HotSpot waits while the kernel writes back one of the file's pages.
	if !j.wishes.Perfdata && !j.InMemory(tmpDir) {
		options = append(options, "-XX:+PerfDisableSharedMem")
	}
	// Otherwise the heap would grow with the limit, and take the memory that was added for the log.
	if j.pin {
		options = append(options, fmt.Sprintf("-XX:MaxRAM=%d", j.MemoryLimit))
	}
	return strings.Join(options, " ")
}

// planOptions appends the options of a container's JVMs to the variable's value. It never replaces a
// value that it can't see, because heap sizes, agents and trust stores would be lost silently.
func (j *jvm) planOptions(n *notes) {
	name, options := j.wishes.Variable.Name, j.optionsFor()
	if name == wish.NoVariable {
		j.warnNoOptions(n)
		return
	}
	const remedy = "to another variable that its launcher reads"
	i := pod.LastEnv(j.Container.Container, name)
	switch {
	case i >= 0 && j.Env[i].ValueFrom != nil:
		n.refuse(ask.OptionsHidden, "the value of %s of container %.80q is set by valueFrom and would be replaced: set %s%s %s; or set it to off, and add these options to the value yourself: %s",
			name, j.Name, ask.Prefix, wish.OptionsVariable, remedy, options)
	case i >= 0:
		j.options = Options{Name: name, Index: i, Old: j.Env[i].Value, Value: strings.TrimSpace(j.Env[i].Value + " " + options)}
		return
	case j.MayHave(name) && j.wishes.Variable.Asked:
		n.warn("container %.80q has envFrom: if it sets %s, the injector's value replaces it", j.Name, name)
	case j.MayHave(name):
		n.refuse(ask.OptionsHidden, "container %.80q has envFrom, and a value of %s in it would be replaced: if it has none, set %s%s to %s, or %s",
			j.Name, name, ask.Prefix, wish.OptionsVariable, name, remedy)
	}
	j.options = Options{Name: name, Index: -1, Value: options}
}

// warnNoOptions warns of what a container's JVMs lack without options. If the sidecar adopts them, they get
// a log later. Through a shared /tmp, the sidecar finds only a JVM whose attach listener runs from the
// start.
func (j *jvm) warnNoOptions(n *notes) {
	none := fmt.Sprintf("the JVMs of container %.80q get no options (%s%s: off)", j.Name, ask.Prefix, wish.OptionsVariable)
	switch {
	case isJDK8(j.Container):
		n.warn("%s and look like JDK 8: add them yourself: %s", none, j.optionsOf8())
	case j.wishes.Sidecar.Levels.Adopt.IsZero():
		n.warn("%s: give them yourself: %s", none, j.optionsFor())
	case j.attach == attach.Off:
		n.warn("%s, and %s%s has no effect, because the sidecar cannot reach them: add the options yourself: %s", none, ask.Prefix, ask.Adopt, j.optionsFor())
	case j.attach == attach.SharedTmp && !j.Says(attachListener):
		n.warn("%s, and the sidecar cannot adopt them through their /tmp: set %s%s to process-namespace, or add the options yourself: %s", none, ask.Prefix, wish.Attach, j.optionsFor())
	default:
		n.warn("%s: the sidecar adopts them while they run, so what they log before that is not shipped; add the options yourself, if you can: %s", none, j.otherOptions())
	}
}
