package inject

import (
	"strconv"
	"strings"
)

// Op is one operation of a JSON patch (RFC 6902): an add, or a test with the
// replace that it guards.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"` // a JSON pointer (RFC 6901)
	Value any    `json:"value"`
}

// patch collects operations. It keeps the lists and objects that it adds to up
// to date, so that a later operation finds what an earlier one has made.
type patch struct{ ops []Op }

func (p *patch) add(path string, value any) {
	p.ops = append(p.ops, Op{Op: "add", Path: path, Value: value})
}

// push appends value to the list parent[key], which it makes if need be. Path
// is that of parent.
func (p *patch) push(parent map[string]any, path, key string, value any) {
	path = child(path, key)
	if list, ok := parent[key].([]any); ok {
		parent[key] = append(list, value)
		p.add(path+"/-", value)
		return
	}
	parent[key] = []any{value}
	p.add(path, []any{value})
}

// put sets the member name of the object parent[key], which it makes if need
// be. Path is that of parent.
func (p *patch) put(parent map[string]any, path, key, name string, value any) {
	path = child(path, key)
	if object, ok := parent[key].(map[string]any); ok {
		object[name] = value
		p.add(child(path, name), value)
		return
	}
	parent[key] = map[string]any{name: value}
	p.add(path, map[string]any{name: value})
}

// change replaces a value that must be old.
func (p *patch) change(path string, old, value any) {
	p.ops = append(p.ops, Op{Op: "test", Path: path, Value: old}, Op{Op: "replace", Path: path, Value: value})
}

// child returns the pointer to a member of what path points to.
func child(path, key string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// item returns the pointer to an element of the list that path points to.
func item(path string, index int) string { return path + "/" + strconv.Itoa(index) }
