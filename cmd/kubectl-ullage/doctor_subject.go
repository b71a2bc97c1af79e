package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// subject is what the doctor examines: a pod, or a workload with its newest pod.
type subject struct {
	namespace string
	pod       *pod      // nil: the workload has no pods
	workload  *workload // nil: the pod has no owner, or its owner is unknown

	// template is what a webhook would see, as JSON: the pod, or the workload's template. meta is its metadata.
	template map[string]any
	meta     metadata
}

// subject gets the objects that the doctor examines.
func (c cluster) subject(ctx context.Context, t target) (subject, error) {
	if t.kind != podKind {
		return c.workloadSubject(ctx, t)
	}
	out, err := c.get(ctx, t)
	if err != nil {
		return subject{}, err
	}
	s := subject{pod: new(pod)}
	if err := decodeBoth(out, s.pod, &s.template); err != nil {
		return subject{}, err
	}
	s.meta, s.namespace = s.pod.Metadata, s.pod.Metadata.Namespace
	// Not every user may get the owner, and not every owner's kind is known.
	kind, name := s.meta.owner()
	if _, known := kinds[kind]; known {
		s.workload, _ = c.in(s.namespace).workload(ctx, target{kind, name})
	}
	return s, nil
}

func (c cluster) workloadSubject(ctx context.Context, t target) (subject, error) {
	w, err := c.workload(ctx, t)
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

// controller returns the object that has created a pod, or nothing.
func (m metadata) controller() (kind, name string) {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return strings.ToLower(o.Kind), o.Name
		}
	}
	return "", ""
}

// owner returns the object that a person created and that led to the pod.
func (m metadata) owner() (kind, name string) {
	kind, name = m.controller()
	return ask.Owner(kind, name, m.Labels)
}

// manifest returns a pod for a dry run: the subject as it would be created now.
func (s subject) manifest() []byte {
	spec, _ := s.template["spec"].(map[string]any)
	created := map[string]any{}
	for key, value := range spec {
		// The listed fields belong to the existing pod, not to a new one.
		if !slices.Contains([]string{"nodeName", "hostname", "priority", "preemptionPolicy", "ephemeralContainers"}, key) {
			created[key] = value
		}
	}
	annotations := map[string]string{}
	for name, value := range s.meta.Annotations {
		if name != ask.InjectedAnnotation && name != ask.WarningsAnnotation {
			annotations[name] = value
		}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": created,
		"metadata": map[string]any{"name": fmt.Sprintf("ullage-doctor-%d", time.Now().UnixMilli()), "labels": s.meta.Labels, "annotations": annotations},
	})
	if err != nil {
		return nil // cannot happen: it was read from JSON
	}
	return text
}

// dig returns the value at a path of names.
func dig(from map[string]any, names ...string) any {
	for _, name := range names[:len(names)-1] {
		from, _ = from[name].(map[string]any)
	}
	return from[names[len(names)-1]]
}

// recode reads a part of a tree into a type.
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

// decodeBoth reads a text into a tree and the tree into a type. Numbers in the tree stay as they are written.
func decodeBoth(text []byte, typed, tree any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(tree); err != nil {
		return fmt.Errorf("decode the output of kubectl: %w", err)
	}
	return recode(tree, typed)
}
