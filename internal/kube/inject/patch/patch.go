// Package patch writes the plan for a pod as a JSON patch (RFC 6902).
package patch

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/plan"
)

// Op is one operation of a JSON patch (RFC 6902): an add, a test, or a replace that a test
// precedes.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"` // a JSON pointer (RFC 6901)
	Value any    `json:"value"`
}

// writer collects operations on a pod. It also applies its additions to the tree, so that a
// later operation finds the lists and objects that an earlier operation has created.
type writer struct {
	tree map[string]any // the pod's
	ops  []Op
}

// Write returns the patch of the pod whose JSON is in tree. It changes tree. The plan must be for this
// pod.
func Write(tree map[string]any, p plan.Plan) []Op {
	w := writer{tree: tree}
	spec, _ := tree["spec"].(map[string]any)
	if p.SharesProcesses {
		w.add("/spec/shareProcessNamespace", true)
	}
	for _, v := range p.Volumes {
		w.push(spec, "/spec", "volumes", v)
	}
	for _, name := range p.PullSecrets {
		w.push(spec, "/spec", "imagePullSecrets", corev1.LocalObjectReference{Name: name})
	}
	for _, c := range p.Sidecars {
		w.push(spec, "/spec", "initContainers", c)
	}
	for _, c := range p.Changes {
		w.change(c)
	}
	for _, r := range p.Restarts {
		w.restart(r)
	}
	if p.Labelled {
		w.put("labels", ask.InjectedLabel, "true")
	}
	for _, a := range p.Annotations {
		w.put("annotations", a.Name, a.Value)
	}
	return w.ops
}

// container returns the element of one of the lists of containers, and its path.
func (w *writer) container(list string, index int) (tree map[string]any, path string) {
	return w.tree["spec"].(map[string]any)[list].([]any)[index].(map[string]any), "/spec/" + list + "/" + strconv.Itoa(index)
}

// change makes the planned change of a JVM's container.
func (w *writer) change(c plan.Change) {
	tree, at := w.container("containers", c.Container)
	for _, m := range c.Mounts {
		w.push(tree, at, "volumeMounts", m)
	}
	for _, list := range c.Memory.Lists() {
		old := tree["resources"].(map[string]any)[list].(map[string]any)["memory"]
		w.replace(at+"/resources/"+list+"/memory", old, c.Memory.Limit)
	}
	w.options(tree, at, c.Options)
	for _, v := range c.Env {
		w.push(tree, at, "env", v)
	}
}

// options adds or changes the variable with the JVMs' options.
func (w *writer) options(tree map[string]any, at string, o plan.Options) {
	switch {
	case o.Name == "":
		return
	case o.Index < 0:
		w.push(tree, at, "env", corev1.EnvVar{Name: o.Name, Value: o.Value})
		return
	}
	path := at + "/env/" + strconv.Itoa(o.Index) + "/value"
	if _, ok := tree["env"].([]any)[o.Index].(map[string]any)["value"].(string); ok {
		w.replace(path, o.Old, o.Value)
	} else {
		w.add(path, o.Value)
	}
}

// restart restores the restartPolicy of a sidecar.
func (w *writer) restart(r plan.Restart) {
	tree, at := w.container("initContainers", r.Container)
	w.add(at+"/restartPolicy", corev1.ContainerRestartPolicyAlways)
	for _, v := range r.Env {
		w.push(tree, at, "env", v)
	}
}

func (w *writer) add(path string, value any) {
	w.ops = append(w.ops, Op{Op: "add", Path: path, Value: value})
}

// replace replaces a value, after a test that the value equals old.
func (w *writer) replace(path string, old, value any) {
	w.ops = append(w.ops, Op{Op: "test", Path: path, Value: old}, Op{Op: "replace", Path: path, Value: value})
}

// push appends value to the list parent[key], which it creates if necessary. path
// is the path of parent.
func (w *writer) push(parent map[string]any, path, key string, value any) {
	path += "/" + key
	if list, ok := parent[key].([]any); ok {
		parent[key] = append(list, value)
		w.add(path+"/-", value)
		return
	}
	parent[key] = []any{value}
	w.add(path, []any{value})
}

// put sets a label or an annotation of the pod. It creates the metadata and the object in it if necessary.
func (w *writer) put(key, name, value string) {
	meta, ok := w.tree["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		w.tree["metadata"] = meta
		w.add("/metadata", map[string]any{})
	}
	path := "/metadata/" + key
	if object, ok := meta[key].(map[string]any); ok {
		object[name] = value
		w.add(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), value)
		return
	}
	meta[key] = map[string]any{name: value}
	w.add(path, map[string]any{name: value})
}
