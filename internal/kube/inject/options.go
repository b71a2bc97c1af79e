package inject

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Variables that a JVM takes options from.
const (
	// launcherVariable is read by the java program from JDK 9 on: after
	// toolVariable, and before the command line. No other program reads it, so
	// jcmd and keytool open no log, and the java of JDK 8, which knows neither of
	// our options, ignores it. Images rarely set it: what they set in
	// toolVariable stays in effect.
	launcherVariable = "JDK_JAVA_OPTIONS"

	// toolVariable is read by every JVM, also by one that is embedded in another
	// program.
	toolVariable = "JAVA_TOOL_OPTIONS"
)

// noVariable adds no options.
const noVariable = "off"

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func parseVariable(text string) (string, error) {
	if len(text) > maxValue || !variableName.MatchString(text) {
		return "", errors.New("it is not the name of an environment variable: write it like JDK_JAVA_OPTIONS, JAVA_TOOL_OPTIONS or ES_JAVA_OPTS, or off")
	}
	return text, nil
}

const errorFile = "-XX:ErrorFile="

// options are those that the JVMs of a container are given. With rotateAt, the
// sidecar can't give back the memory of a file that is written: the JVM then has
// six files of that size, and overwrites the oldest. Without, the file grows for
// ever, and what is durable of it is given back.
func (m *mutation) options(j *jvm) string {
	size := "0"
	if j.rotateAt > 0 {
		size = fmt.Sprintf("%dK", j.rotateAt>>10)
	}
	options := "-Xlog:" + m.wishes.xlog + ":file=" + logDir + "/gc-%p.log:" + decorators + ":filecount=5,filesize=" + size
	// A crash's report would be gone with the pod.
	if !says(j.Container, errorFile) {
		options += " " + errorFile + logDir + "/hs_err_pid%p.log"
	}
	// HotSpot keeps counters in a file that it has mapped, /tmp/hsperfdata_USER/PID,
	// and waits for the disk where that writes the page back.
	if !m.wishes.perfdata && !m.pod.inMemory(j.Container, tmpDir) {
		options += " -XX:+PerfDisableSharedMem"
	}
	// Else the heap would grow with the limit, and take what was added for the log.
	if j.pin {
		options += fmt.Sprintf(" -XX:MaxRAM=%d", j.raised)
	}
	if j.attach == attach.SharedTmp {
		options += " -XX:+StartAttachListener"
	}
	return options
}

// planOptions says why the options of a container must not be changed: the
// injector replaces no value that it can't see, since heap sizes, agents and
// trust stores would be gone without a word.
func (m *mutation) planOptions(j *jvm) *problem {
	name := m.wishes.variable
	if name == noVariable {
		m.warn("the JVMs of container %.80q get no options (%s%s: off): give them yourself: %s", j.Name, ask.Prefix, variableSetting, m.options(j))
		return nil
	}
	const remedy = "to another variable that its launcher reads"
	if i := lastEnv(j.Container, name); i >= 0 {
		if j.Env[i].ValueFrom == nil {
			return nil
		}
		return &problem{ask.OptionsHidden, fmt.Sprintf("the value of %s of container %.80q comes by valueFrom, and would be replaced: set %s%s %s, or to off and add there: %s",
			name, j.Name, ask.Prefix, variableSetting, remedy, m.options(j))}
	}
	if !mayHave(j.Container, name) {
		return nil
	}
	if m.wishes.variableAsked {
		m.warn("container %.80q has envFrom: if %s comes from there, the injector's value hides it", j.Name, name)
		return nil
	}
	return &problem{ask.OptionsHidden, fmt.Sprintf("container %.80q has envFrom, and a value of %s from there would be replaced: if there is none, set %s%s to %s, or %s",
		j.Name, name, ask.Prefix, variableSetting, name, remedy)}
}

// addOptions gives the JVMs of a container their options, after those that the
// variable has already. Tree is the container, at the path.
func (m *mutation) addOptions(j *jvm, tree map[string]any, at string) {
	name, options := m.wishes.variable, m.options(j)
	if name == noVariable {
		return
	}
	i := lastEnv(j.Container, name)
	if i < 0 {
		m.patch.push(tree, at, "env", corev1.EnvVar{Name: name, Value: options})
		return
	}
	path := at + "/env/" + strconv.Itoa(i) + "/value"
	value := strings.TrimSpace(j.Env[i].Value + " " + options)
	if _, ok := tree["env"].([]any)[i].(map[string]any)["value"].(string); ok {
		m.patch.change(path, j.Env[i].Value, value)
	} else {
		m.patch.add(path, value)
	}
}

// lastEnv returns the index of the variable in c that counts, or -1.
func lastEnv(c *corev1.Container, name string) int {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if c.Env[i].Name == name {
			return i
		}
	}
	return -1
}

// mayHave says whether a ConfigMap or a Secret may have the variable: their keys
// can't be known here.
func mayHave(c *corev1.Container, name string) bool {
	for _, from := range c.EnvFrom {
		if strings.HasPrefix(name, from.Prefix) {
			return true
		}
	}
	return false
}

// earlier are the variables whose options a JVM takes before ours.
func (w wishes) earlier() []string {
	if w.variable == launcherVariable {
		return []string{toolVariable, launcherVariable}
	}
	return []string{w.variable}
}
