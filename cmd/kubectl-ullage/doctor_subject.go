package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/podmeta"
)

// subject is what the doctor is asked about: a pod, or a workload and its newest
// pod.
type subject struct {
	namespace string
	pod       *pod      // nil: a workload without pods
	workload  *workload // nil: a pod that nothing but itself stands for, or its owner is not known

	// template is what a webhook is shown, as JSON: the pod, or the workload's
	// template. meta is a part of it.
	template map[string]any
	meta     metadata
}

// workload is what makes pods of a template.
type workload struct {
	kind string // as kubectl takes it: deployment
	meta metadata
	spec map[string]any
}

func (w *workload) String() string { return w.kind + "/" + w.meta.Name }

// kinds are the workloads, by every name that kubectl knows for them.
var kinds = map[string][]string{
	"pod":         {"pods", "po"},
	"deployment":  {"deployments", "deploy"},
	"statefulset": {"statefulsets", "sts"},
	"daemonset":   {"daemonsets", "ds"},
	"replicaset":  {"replicasets", "rs"},
	"job":         {"jobs"},
	"cronjob":     {"cronjobs", "cj"},
}

// parseTarget reads web-0, pod/web-0 or deploy/web.
func parseTarget(arg string) (kind, name string, err error) {
	given, name, found := strings.Cut(arg, "/")
	if !found {
		given, name = "pod", arg
	}
	for kind, others := range kinds {
		if (given == kind || slices.Contains(others, given)) && dnsName.MatchString(name) {
			return kind, name, nil
		}
	}
	return "", "", fmt.Errorf("%q is neither the name of a pod nor that of a workload: write it like web-0 or deploy/web", arg)
}

// subject gets what the doctor is asked about.
func (c cluster) subject(ctx context.Context, kind, name string) (subject, error) {
	out, err := c.run(ctx, maxPods, "get", kind+"/"+name, "--output=json")
	if err != nil {
		return subject{}, fmt.Errorf("get %s/%s: %w", kind, name, err)
	}
	if kind != "pod" {
		return c.workloadSubject(ctx, kind, out)
	}
	s := subject{pod: new(pod)}
	if err := decodeBoth(out, s.pod, &s.template); err != nil {
		return subject{}, err
	}
	s.meta, s.namespace = s.pod.Metadata, s.pod.Metadata.Namespace
	// Not everybody may get it, and not every owner is a workload of ours.
	if kind, name := s.meta.owner(); kinds[kind] != nil {
		if out, err := c.in(s.namespace).run(ctx, maxPods, "get", kind+"/"+name, "--output=json"); err == nil {
			s.workload, _ = parseWorkload(kind, out)
		}
	}
	return s, nil
}

func (c cluster) workloadSubject(ctx context.Context, kind string, text []byte) (subject, error) {
	w, err := parseWorkload(kind, text)
	if err != nil {
		return subject{}, err
	}
	s := subject{workload: w, namespace: w.meta.Namespace, template: w.template()}
	if err := recode(s.template["metadata"], &s.meta); err != nil {
		return subject{}, err
	}
	pods, err := c.podsOf(ctx, w)
	if err != nil {
		return subject{}, err
	}
	for i, p := range pods {
		if s.pod == nil || p.Metadata.Created.After(s.pod.Metadata.Created) {
			s.pod = &pods[i]
		}
	}
	return s, nil
}

// podsOf returns the pods of a workload; none, if it does not say which. Another
// workload may have pods with the same labels.
func (c cluster) podsOf(ctx context.Context, w *workload) ([]pod, error) {
	var selector labelSelector
	if err := recode(w.spec["selector"], &selector); err != nil {
		return nil, err
	}
	many := c.in(w.meta.Namespace)
	if many.selector = selector.String(); many.selector == "" {
		return nil, nil
	}
	pods, err := many.pods(ctx, nil)
	return slices.DeleteFunc(pods, func(p pod) bool { return !w.owns(p.Metadata) }), err
}

// owns reports whether a pod with such metadata is one of the workload's.
func (w *workload) owns(m metadata) bool {
	kind, name := m.controller()
	if kind == w.kind && name == w.meta.Name {
		return true
	}
	kind, name = m.owner()
	return kind == w.kind && name == w.meta.Name
}

func parseWorkload(kind string, text []byte) (*workload, error) {
	var got struct {
		Metadata metadata       `json:"metadata"`
		Spec     map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return nil, fmt.Errorf("decode the output of kubectl: %w", err)
	}
	return &workload{kind: kind, meta: got.Metadata, spec: got.Spec}, nil
}

// template is the pod template.
func (w *workload) template() map[string]any {
	at := []string{"template"}
	if w.kind == "cronjob" {
		at = []string{"jobTemplate", "spec", "template"}
	}
	t, _ := dig(w.spec, at...).(map[string]any)
	return t
}

// controller returns the object that has made a pod; empty: nobody has.
func (m metadata) controller() (kind, name string) {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return strings.ToLower(o.Kind), o.Name
		}
	}
	return "", ""
}

// owner returns the object that a person has made for a pod.
func (m metadata) owner() (kind, name string) {
	kind, name = m.controller()
	return podmeta.Owner(kind, name, m.Labels)
}

// manifest is a pod for a dry run: the subject as somebody would create it now.
func (s subject) manifest() []byte {
	spec, _ := s.template["spec"].(map[string]any)
	created := map[string]any{}
	for key, value := range spec {
		if !slices.Contains([]string{"nodeName", "hostname", "priority", "preemptionPolicy", "ephemeralContainers"}, key) {
			created[key] = value // the others are set later, and refused in a new pod
		}
	}
	annotations := map[string]string{}
	for name, value := range s.meta.Annotations {
		if name != podmeta.InjectedAnnotation {
			annotations[name] = value
		}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": created,
		"metadata": map[string]any{"name": fmt.Sprintf("ullage-doctor-%d", time.Now().UnixMilli()), "labels": s.meta.Labels, "annotations": annotations},
	})
	if err != nil {
		return nil // it was JSON
	}
	return text
}

// dig returns what is at a path of names.
func dig(from map[string]any, names ...string) any {
	for _, name := range names[:len(names)-1] {
		from, _ = from[name].(map[string]any)
	}
	return from[names[len(names)-1]]
}

// recode reads part of a tree into a type.
func recode(tree, into any) error {
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("decode the output of kubectl: %w", err)
	}
	return nil
}

// decodeBoth reads one text twice. Numbers of the tree stay as they are written.
func decodeBoth(text []byte, typed, tree any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(tree); err != nil {
		return fmt.Errorf("decode the output of kubectl: %w", err)
	}
	return recode(tree, typed)
}
