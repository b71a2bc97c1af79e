package inject

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/attach"
)

// optionsVariable is what every JVM of a container takes options from, before
// those of its command line.
const optionsVariable = "JAVA_TOOL_OPTIONS"

// addOptions gives the JVMs of a container their options, after those that the
// variable has already. Tree is the container, at the path.
func (m *mutation) addOptions(j *jvm, tree map[string]any, at string) {
	options := javaOptions(m.wishes.xlog, j.rotateAt, j.attach == attach.SharedTmp)
	i := lastEnv(j.Container, optionsVariable)
	if i < 0 {
		m.warnEnvFrom(j)
		m.patch.push(tree, at, "env", corev1.EnvVar{Name: optionsVariable, Value: options})
		return
	}
	e := j.Env[i]
	if e.ValueFrom != nil {
		m.warn("%s of container %.80q has a valueFrom and is not changed: add to the value that it refers to: %s", optionsVariable, j.Name, options)
		return
	}
	path := at + "/env/" + strconv.Itoa(i) + "/value"
	value := strings.TrimSpace(e.Value + " " + options)
	if _, ok := tree["env"].([]any)[i].(map[string]any)["value"].(string); ok {
		m.patch.change(path, e.Value, value)
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

// warnEnvFrom says that the variable hides one that a ConfigMap or a Secret may
// have. Its value can't be known here, and a reference to it stays as it is
// where there is none, which no JVM would start with.
func (m *mutation) warnEnvFrom(j *jvm) {
	for _, from := range j.EnvFrom {
		if strings.HasPrefix(optionsVariable, from.Prefix) {
			m.warn("container %.80q has envFrom: if %s comes from there, the injector's value hides it: to keep it, add to env: {name: %s, value: $(%s)}",
				j.Name, optionsVariable, optionsVariable, optionsVariable)
			return
		}
	}
}
