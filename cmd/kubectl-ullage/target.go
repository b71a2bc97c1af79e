package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// target is the object of a command: a pod, or a workload with its pods.
type target struct{ kind, name string }

// podKind is the kind of a target that is itself a pod.
const podKind = "pod"

func (t target) String() string {
	if t.kind == podKind {
		return t.name
	}
	return t.kind + "/" + t.name
}

// arg returns the target in kubectl's syntax. Several projects have an object called rollout, so kinds that are not
// Kubernetes' own are named with their group.
func (t target) arg() string {
	if group := kinds[t.kind].group; strings.Contains(group, ".") {
		return t.kind + "." + group + "/" + t.name
	}
	return t.kind + "/" + t.name
}

// kinds are the pod and the workloads, with all their names in kubectl.
var kinds = map[string]struct{ plural, short, group string }{
	podKind:       {"pods", "po", ""},
	"deployment":  {"deployments", "deploy", "apps"},
	"statefulset": {"statefulsets", "sts", "apps"},
	"daemonset":   {"daemonsets", "ds", "apps"},
	"replicaset":  {"replicasets", "rs", "apps"},
	"job":         {"jobs", "job", "batch"},
	"cronjob":     {"cronjobs", "cj", "batch"},
	"rollout":     {"rollouts", "ro", "argoproj.io"},
}

// parseTarget reads web-0, pod/web-0 or deploy/web. The kind may be followed by the group, or by the version and
// the group, as in deployments.apps/web.
func parseTarget(arg string) (target, error) {
	given, name, found := strings.Cut(arg, "/")
	if !found {
		given, name = podKind, arg
	}
	resource, group, _ := strings.Cut(given, ".")
	_, versioned, _ := strings.Cut(group, ".")
	for kind, k := range kinds {
		inGroup := group == "" || group == k.group || versioned != "" && versioned == k.group
		if slices.Contains([]string{kind, k.plural, k.short}, resource) && inGroup && dnsName.MatchString(name) {
			return target{kind, name}, nil
		}
	}
	return target{}, fmt.Errorf("%q is not the name of a pod or workload: write it like web-0 or deploy/web", arg)
}

// errNoTarget is the error for a command that needs a target and got none.
var errNoTarget = errors.New("no pod given: name a pod that 'kubectl get pods' shows, a workload such as deploy/web, or -l SELECTOR")

// errNameAndLabel is the error for a command that got both a name and a label.
var errNameAndLabel = errors.New("a name cannot be combined with -l: use one or the other")

// workload is an object that creates pods from a template.
type workload struct {
	kind string // in the form that kubectl accepts: deployment
	meta metadata
	spec map[string]any
}

func (w *workload) String() string { return w.kind + "/" + w.meta.Name }

// get returns the target as JSON from kubectl.
func (c cluster) get(ctx context.Context, t target) ([]byte, error) {
	out, err := c.run(ctx, maxPods, "get", t.arg(), "--output=json")
	if err != nil {
		return nil, fmt.Errorf("get %s/%s: %w", t.kind, t.name, err)
	}
	return out, nil
}

// workload gets a workload.
func (c cluster) workload(ctx context.Context, t target) (*workload, error) {
	out, err := c.get(ctx, t)
	if err != nil {
		return nil, err
	}
	var got struct {
		Metadata metadata       `json:"metadata"`
		Spec     map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, fmt.Errorf("decode the output of kubectl: %w", err)
	}
	return &workload{kind: t.kind, meta: got.Metadata, spec: got.Spec}, nil
}

// template returns the pod template.
func (w *workload) template() map[string]any {
	at := []string{"template"}
	if w.kind == "cronjob" {
		at = []string{"jobTemplate", "spec", "template"}
	}
	t, _ := dig(w.spec, at...).(map[string]any)
	return t
}

// podsOf returns the pods of a workload, or nothing if it has no selector. Pods of another workload with the same
// labels are left out.
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

// owns reports whether a pod with this metadata belongs to the workload.
func (w *workload) owns(m metadata) bool {
	kind, name := m.controller()
	if kind == w.kind && name == w.meta.Name {
		return true
	}
	kind, name = m.owner()
	return kind == w.kind && name == w.meta.Name
}

// errNoPods is the error for a target without a running pod.
var errNoPods = errors.New("no matching pod is running")

// members returns the pods of a workload that have not ended. There is at least one.
func (c cluster) members(ctx context.Context, t target) ([]pod, error) {
	w, err := c.workload(ctx, t)
	if err != nil {
		return nil, err
	}
	if w.spec["selector"] == nil {
		return nil, fmt.Errorf("%s has no selector for its pods: name a pod", t)
	}
	pods, err := c.podsOf(ctx, w)
	if err != nil {
		return nil, err
	}
	if pods = slices.DeleteFunc(pods, pod.ended); len(pods) == 0 {
		return nil, fmt.Errorf("%s: %w", t, errNoPods)
	}
	return pods, nil
}

// labelled returns the pods that -l selects and that have not ended. There is at least one.
func (c cluster) labelled(ctx context.Context) ([]pod, error) {
	pods, err := c.pods(ctx, nil)
	if err != nil {
		return nil, err
	}
	if pods = slices.DeleteFunc(pods, pod.ended); len(pods) == 0 {
		return nil, fmt.Errorf("-l %s: %w", c.selector, errNoPods)
	}
	return pods, nil
}

// best returns the pod for a command that takes one pod: the oldest ready pod whose sidecar runs or, if without is set,
// the oldest ready pod that has no sidecar. If there is no such pod, it is the pod that comes closest. pods must not be
// empty.
func (c cluster) best(pods []pod, without bool) pod {
	merit := func(p pod) (points int) {
		found := c.sidecars(p)
		if (len(found) > 0) != without {
			points += 4
		}
		if !slices.ContainsFunc(found, func(s sidecar) bool { return s.down != "" }) {
			points += 2
		}
		if p.ready() {
			points++
		}
		return points
	}
	return slices.MinFunc(pods, func(a, b pod) int {
		return cmp.Or(-cmp.Compare(merit(a), merit(b)), a.Metadata.Created.Compare(b.Metadata.Created), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
}
