package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// Names of what is added to a pod. Those of a second JVM container end in -2.
const (
	sidecarName   = "ullage"
	logVolume     = "ullage-logs"
	tmpVolume     = "ullage-tmp"
	podInfoVolume = "ullage-podinfo"
	destVolume    = "ullage-dest"
)

// Result is what is to be done about a pod.
type Result struct {
	// Patch changes the pod. Empty: it stays as it is.
	Patch []Op

	// Warnings are for the person who creates the pod, one line each.
	Warnings []string

	// Injected says that Patch adds the sidecar. It is false for a pod that has
	// it already.
	Injected bool

	// Refused, if not empty, is why the pod gets no sidecar that it should have.
	// Patch then adds annotations that say so, unless the pod is denied.
	Refused ask.Reason

	// Denied, if not empty, is why the pod must not start.
	Denied string
}

// problem is why a pod can't be injected, and what to do about it.
type problem struct {
	reason ask.Reason
	text   string
}

func problems(reason ask.Reason, texts []string) []problem {
	var all []problem
	for _, text := range texts {
		all = append(all, problem{reason, text})
	}
	return all
}

// mutation is the work on one pod.
type mutation struct {
	cfg        Config
	pod        *pod
	wishes     wishes
	jvms       []*jvm
	warnings   []string
	destVolume string // name of the volume of the durable copy
	adds       string // what the sidecars add to the pod's requests
	patch      patch
}

func (m *mutation) warn(format string, args ...any) {
	m.warnings = append(m.warnings, printable.Text("ullage: "+fmt.Sprintf(format, args...), maxText))
}

// Mutate decides about a pod that is about to be created in the namespace, as
// JSON in the form of the API server. It injects any but one that opts out by
// its label ullage.dev/inject: "false": whoever calls has seen to it that it, or
// its namespace, opts in. Cfg is valid. The error is that text is no pod.
func Mutate(text []byte, namespace string, cfg Config) (Result, error) {
	p, err := readPod(text)
	if err != nil {
		return Result{}, err
	}
	return mutatePod(p, namespace, cfg), nil
}

func mutatePod(p *pod, namespace string, cfg Config) Result {
	if p.optsOut() {
		return Result{}
	}
	m := &mutation{cfg: cfg, pod: p}
	if s, ok := p.injected(); ok {
		return m.repair(s)
	}
	if namespace == "kube-system" {
		m.warn("not injected: namespace kube-system is left alone")
		return Result{Warnings: m.warnings, Refused: ask.Unsuitable}
	}
	if why := p.unsuitable(); why != "" {
		return m.refuse([]problem{{ask.Unsuitable, why}})
	}
	var bad []string
	m.wishes, bad = readWishes(p.Annotations, cfg.defaultsIn(namespace), cfg.Policy)
	found := slices.Concat(problems(ask.BadAnnotation, bad), m.clashes(), p.crowded())
	if len(found) == 0 { // what follows goes by the wishes
		found = m.planAll()
	}
	if len(found) > 0 {
		if cfg.OnError == Deny {
			return m.deny(found)
		}
		return m.refuse(found)
	}
	m.inject()
	return Result{Patch: m.patch.ops, Warnings: m.warnings, Injected: true}
}

// deny answers for a pod that can't be injected and must not start without.
func (m *mutation) deny(found []problem) Result {
	var texts []string
	for _, p := range found {
		texts = append(texts, p.text)
	}
	return Result{Refused: found[0].reason, Denied: printable.Text("ullage: "+strings.Join(texts, "; "), maxDenied)}
}

// refuse answers for a pod that starts as it is. Who creates the pod of a
// Deployment is a controller, which shows nobody the warnings: the pod itself
// says what they say.
func (m *mutation) refuse(found []problem) Result {
	m.warnings = nil // they are about what is not done
	s := ask.Status{Refused: found[0].reason}
	if these, none := m.pod.jvmContainers(m.wishes.containers); none == nil {
		s.Containers = these.names(m.pod)
	}
	for _, p := range found {
		m.warn("not injected: %s", p.text)
		if len(s.Errors) < maxWarnings {
			s.Errors = append(s.Errors, printable.Text(p.text, maxText))
		}
	}
	m.pod.report(s, &m.patch)
	return Result{Patch: m.patch.ops, Warnings: m.warnings, Refused: s.Refused}
}

// crowded says that our annotations would make the API server refuse the pod.
func (p *pod) crowded() []problem {
	if p.room() >= maxStatus {
		return nil
	}
	return []problem{{ask.BadAnnotation, fmt.Sprintf("the annotations of the pod leave no room for ours: shorten them by %d KiB", maxStatus>>10)}}
}

// clashes finds what has one of our names and is not ours.
func (m *mutation) clashes() []problem {
	var found []problem
	for _, name := range m.pod.containerNames() {
		if isOurs(name, sidecarName) {
			found = append(found, problem{ask.NameTaken, fmt.Sprintf("the pod has a container called %s, which is the sidecar's name: rename it, or set the label %s: \"false\"", name, ask.InjectLabel)})
		}
	}
	for _, volume := range m.pod.volumeNames() {
		for _, name := range []string{logVolume, tmpVolume, podInfoVolume, destVolume, sinkSecretVolume} {
			if isOurs(volume, name) {
				found = append(found, problem{ask.NameTaken, fmt.Sprintf("the pod has a volume called %s, which is a name of the injector's: rename it", volume)})
			}
		}
	}
	return found
}

// isOurs says whether name is what is ours, or that of a further JVM.
func isOurs(name, ours string) bool {
	number, ok := strings.CutPrefix(name, ours)
	return ok && (number == "" || len(number) == 2 && number[0] == '-' && number[1] >= '2' && number[1] <= '0'+maxJVMs)
}

// inject makes the patch.
func (m *mutation) inject() {
	spec := m.pod.spec()
	if m.wishes.attach == attach.ProcessNamespace && m.pod.Spec.ShareProcessNamespace == nil {
		m.patch.add("/spec/shareProcessNamespace", true)
	}
	for _, v := range m.volumes() {
		m.patch.push(spec, "/spec", "volumes", v)
	}
	for _, name := range m.wishes.container.pullSecrets {
		if secret := (corev1.LocalObjectReference{Name: name}); !slices.Contains(m.pod.Spec.ImagePullSecrets, secret) {
			m.patch.push(spec, "/spec", "imagePullSecrets", secret)
		}
	}
	resources := m.resources()
	for _, j := range m.jvms {
		m.patch.push(spec, "/spec", "initContainers", m.sidecar(j, resources))
	}
	for _, j := range m.jvms {
		m.changeJVM(j)
	}
	m.annotate()
}

// changeJVM adds to the container of a JVM what it needs.
func (m *mutation) changeJVM(j *jvm) {
	at := item("/spec/containers", j.index)
	tree := m.pod.spec()["containers"].([]any)[j.index].(map[string]any)
	m.patch.push(tree, at, "volumeMounts", corev1.VolumeMount{Name: j.logVolume(), MountPath: logDir})
	if j.ownTmp && j.tmp != nil {
		m.patch.push(tree, at, "volumeMounts", *j.tmp)
	}
	m.patch.raiseLimit(j, &m.wishes, tree, at)
	m.addOptions(j, tree, at)
	for _, v := range m.wishes.eventsEnv(j.Container) {
		m.patch.push(tree, at, "env", v)
	}
}
