package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
)

// trial is the result of creating a pod in a dry run.
type trial struct {
	err      error
	pod      *pod
	injected *ask.Status // nil: the injector left no status
}

// try asks the API server to create the pod in a dry run, which calls all webhooks.
func (c cluster) try(ctx context.Context, manifest []byte) trial {
	out, err := c.runWith(ctx, bytes.NewReader(manifest), maxPods, "create", "--dry-run=server", "--output=json", "--filename=-")
	if err != nil {
		return trial{err: err}
	}
	t := trial{pod: new(pod)}
	if err := json.Unmarshal(out, t.pod); err != nil {
		return trial{err: fmt.Errorf("decode the output of kubectl: %w", err)}
	}
	if s, err := ask.ParseStatus(t.pod.Metadata.Annotations[ask.InjectedAnnotation]); err == nil {
		t.injected = &s
	}
	return t
}

// namespaceOf gets a namespace.
func (c cluster) namespaceOf(ctx context.Context, name string) (*metadata, error) {
	out, err := c.run(ctx, maxStatus, "get", "namespace/"+name, "--output=json")
	if err != nil {
		return nil, err
	}
	var ns struct {
		Metadata metadata `json:"metadata"`
	}
	if err := json.Unmarshal(out, &ns); err != nil {
		return nil, fmt.Errorf("decode the output of kubectl: %w", err)
	}
	return &ns.Metadata, nil
}

// lastWords are messages that a JVM prints if it refuses its options.
var lastWords = []string{"Unrecognized option", "Unrecognized VM option", "Invalid -Xlog option", "Could not create the Java Virtual Machine", "Error occurred during initialization of VM"}

// deaths looks for lastWords in the logs of containers that are not running or have restarted.
func (c cluster) deaths(ctx context.Context, p pod) []finding {
	var all []finding
	for _, st := range p.Status.ContainerStatuses {
		if st.State.Running != nil && st.RestartCount == 0 || sidecarName.MatchString(st.Name) {
			continue
		}
		args := []string{"logs", "pod/" + p.Metadata.Name, "--container=" + st.Name, "--tail=30"}
		if st.RestartCount > 0 {
			args = append(args, "--previous")
		}
		out, err := c.run(ctx, maxStatus, args...)
		if err != nil {
			continue // the container has not started, or the user lacks the right
		}
		for line := range strings.Lines(string(out)) {
			if slices.ContainsFunc(lastWords, func(words string) bool { return strings.Contains(line, words) }) {
				all = append(all, finding{markProblem, fmt.Sprintf("a JVM of container %s did not start: %s", st.Name, printable.Clip(printable.Line(strings.TrimSpace(line)), maxProblems)),
					"the injector supports JDK 11, 17, 21 and 25 (JDK 8: see " + build.Docs + "pods.md#jdk-8): check ullage.dev/xlog, or opt out with the label " + ask.InjectLabel + `: "false"`})
				break
			}
		}
	}
	return all
}

// subjectFindings judges what is known about the subject.
func (d *doctor) subjectFindings() []finding {
	all := d.wishFindings()
	switch {
	case len(d.answers) > 0:
		all = append(all, d.sidecarFindings()...)
	case d.trial.err != nil:
		all = append(all, finding{markUnknown, "whether a new pod would get a sidecar: " + d.trial.err.Error(), ""})
	case d.trial.injected == nil && len(all) > 0: // the other findings say why
	default:
		all = append(all, d.trialFindings()...)
	}
	if d.subject.pod != nil {
		all = append(all, d.subject.pod.ends(d.answers)...)
	}
	return append(append(all, d.adoptedFindings()...), d.deaths...)
}

// adoptedFindings returns the findings about containers that adopt a JVM of the pod.
func (d *doctor) adoptedFindings() []finding {
	var all []finding
	if d.subject.pod == nil {
		return nil
	}
	name := d.subject.pod.Metadata.Name
	for _, st := range d.subject.pod.Status.EphemeralContainerStatuses {
		switch {
		case !adopterName.MatchString(st.Name):
		case st.State.Running != nil:
			all = append(all, finding{markNote, fmt.Sprintf("container %s is adopting a JVM of pod %s, or is holding its copy", st.Name, name), "'kubectl ullage adopt " + name + "' waits for the container and fetches the lines"})
		case st.State.Terminated != nil:
			all = append(all, finding{markNote, fmt.Sprintf("container %s adopted a JVM of pod %s, and ended with exit code %d", st.Name, name, st.State.Terminated.ExitCode), ""})
		case st.State.Waiting != nil:
			all = append(all, finding{markNote, fmt.Sprintf("container %s will adopt a JVM of pod %s, but is waiting: %s", st.Name, name, st.State.Waiting.Reason), ""})
		}
	}
	return all
}

// wishFindings judges how the pod or its namespace asks for a sidecar, if at all.
func (d *doctor) wishFindings() []finding {
	var all []finding
	m, problem := d.subject.meta, func(text, hint string) { all = append(all, finding{markProblem, text, hint}) }
	label := m.Labels[ask.InjectLabel]
	var workload map[string]string
	if d.subject.workload != nil {
		workload = d.subject.workload.meta.Labels
	}
	for _, miss := range ask.Misses(m.Labels, m.Annotations, workload, fmt.Sprint(d.subject.workload)) {
		problem(miss.Text, miss.Hint)
	}
	if w := d.subject.workload; w != nil {
		for _, name := range slices.Sorted(maps.Keys(w.meta.Annotations)) {
			if _, placed := m.Annotations[name]; !placed && strings.HasPrefix(name, ask.Prefix) {
				problem(fmt.Sprintf("the annotation %s is on %s, not on the template of its pods, so it has no effect", name, w),
					"put it into spec.template.metadata.annotations")
			}
		}
	}
	if label == "false" {
		problem("the label "+ask.InjectLabel+`: "false" opts out`, `remove it, or set it to "true"`)
	}
	all = append(all, d.namespaceFindings(label)...)
	if len(d.answers) == 0 && len(all) == 0 && label != "true" && d.namespace != nil && d.namespace.Labels[ask.NamespaceLabel] != ask.NamespaceEnabled {
		problem("neither the pod nor its namespace asks for a sidecar",
			fmt.Sprintf("%s, or label the namespace %s: %s", ask.Place, ask.NamespaceLabel, ask.NamespaceEnabled))
	}
	return all
}

// namespaceFindings judges the namespace and whether the webhook selects the pod.
func (d *doctor) namespaceFindings(label string) []finding {
	if d.namespaceErr != nil {
		return []finding{{markUnknown, "the labels of the namespace: " + d.namespaceErr.Error(), ""}}
	}
	if d.namespace == nil {
		return nil
	}
	var all []finding
	value, labelled := d.namespace.Labels[ask.NamespaceLabel]
	if labelled && value != ask.NamespaceEnabled {
		all = append(all, finding{markProblem, fmt.Sprintf("the label %s of the namespace is %q, which has no effect", ask.NamespaceLabel, value), "write " + ask.NamespaceEnabled})
	}
	if _, wrong := d.namespace.Labels[ask.InjectLabel]; wrong {
		all = append(all, finding{markProblem, fmt.Sprintf("the namespace has the label %s, which is for pods", ask.InjectLabel),
			fmt.Sprintf("label it %s: %s", ask.NamespaceLabel, ask.NamespaceEnabled)})
	}
	asks := label == "true" || label != "false" && value == ask.NamespaceEnabled
	if asks && len(d.hooks.configs) > 0 && !d.hooks.configs[0].selects(d.namespace.Labels, d.subject.meta.Labels) {
		text := "the selectors of the injector's webhook exclude the pod"
		if d.subject.namespace == d.hooks.namespaceName() || d.subject.namespace == "kube-system" {
			text = "no pod in namespace " + d.subject.namespace + " is ever injected"
		}
		all = append(all, finding{markProblem, text, "kubectl describe mutatingwebhookconfiguration " + d.hooks.configs[0].Metadata.Name})
	}
	return all
}

// selects reports whether an API server calls one of the webhooks for a pod.
func (config hookConfig) selects(namespace, pod map[string]string) bool {
	return slices.ContainsFunc(config.Webhooks, func(w hook) bool {
		return w.NamespaceSelector.matches(namespace) && w.ObjectSelector.matches(pod)
	})
}

// trialFindings reports whether a new pod would get a sidecar, and if so why this pod has none.
func (d *doctor) trialFindings() []finding {
	switch s := d.trial.injected; {
	case s == nil:
		return []finding{{markProblem, "a new pod would get no sidecar: the API server does not call the injector, or gets no answer", "if no cause is shown above, see the log of the API server"}}
	case s.Refused != "":
		return []finding{{markProblem, "the injector refuses the pod: " + strings.Join(s.Errors, "; "), ""}}
	}
	all := []finding{{markOK, "a new pod would get a sidecar", ""}}
	for _, text := range d.trial.injected.Warnings {
		all = append(all, finding{markNote, "the injector would warn: " + text, ""})
	}
	if p := d.subject.pod; p != nil {
		hint := "recreate it: kubectl delete pod " + p.Metadata.Name
		if d.subject.workload != nil && slices.Contains([]string{"deployment", "statefulset", "daemonset"}, d.subject.workload.kind) {
			hint = "kubectl rollout restart " + d.subject.workload.String()
		}
		all = append(all, finding{markProblem, "pod " + p.Metadata.Name + " has none: it was created before one was requested, or while no injector answered", hint})
	}
	return all
}

// silence is how many seconds a sidecar may wait for the first line of a JVM before the silence is
// reported.
const silence = 30

// sidecarFindings judges the sidecars of the pod.
func (d *doctor) sidecarFindings() []finding {
	var all []finding
	p := d.subject.pod
	s, _ := ask.ParseStatus(p.Metadata.Annotations[ask.InjectedAnnotation])
	for _, a := range d.answers {
		switch {
		case a.err != nil && a.of.ended:
			all = append(all, finding{markOK, fmt.Sprintf("pod %s has ended, and so has its sidecar", a.of), ""})
		case a.err != nil:
			all = append(all, finding{markProblem, fmt.Sprintf("the sidecar of %s: %s", a.of, a.err), "kubectl describe pod " + p.Metadata.Name})
		case problems(a) != "-":
			all = append(all, finding{markProblem, fmt.Sprintf("the sidecar of %s: %s", a.of, problems(a)), ""})
		default:
			all = append(all, finding{markOK, fmt.Sprintf("pod %s has a sidecar, version %s, which has persisted %d lines", a.of, a.status.Version, a.status.Persisted.Lines), ""})
		}
		if l := a.status.Levels; l != nil {
			for _, file := range l.OtherLogs {
				all = append(all, finding{markProblem, "a JVM logs outside the source, to a disk that it waits for: " + file, "write that log below /var/log/jvm, which is shipped"})
			}
		}
		if a.err == nil && a.status.Read.Lines == 0 && len(a.status.Streams) == 0 && a.status.UptimeSeconds > silence {
			all = append(all, finding{markProblem, fmt.Sprintf("the sidecar of %s has waited %.0f s, and no JVM has written a log", a.of, a.status.UptimeSeconds),
				"check that the JVM is in the container that the injector chose, and that its launcher keeps the options from the environment"})
		}
	}
	memory := p.footprints()
	for _, text := range s.Warnings {
		// Skip a warning of the injector that ends with the hint of a memory finding: both are about the same sum.
		if !slices.ContainsFunc(memory, func(f finding) bool { return f.hint != "" && strings.HasSuffix(text, f.hint) }) {
			all = append(all, finding{markNote, text, ""})
		}
	}
	return append(all, memory...)
}
