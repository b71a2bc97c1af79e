package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject/patch"
)

// member returns the value of a mapping's key, or nil.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// scalar returns the text of a mapping's key, or "".
func scalar(n *yaml.Node, key string) string {
	if v := member(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// maxAliases bounds how many aliases are followed: an anchor may contain itself.
const maxAliases = 32

// follow returns the value of a mapping's key, also if it comes through an alias or a merge key. via is
// then the alias or the value of the merge key; otherwise it is nil. Nothing may be changed there.
func follow(n *yaml.Node, key string, depth int) (value, via *yaml.Node) {
	switch {
	case n == nil || depth > maxAliases:
		return nil, nil
	case n.Kind == yaml.AliasNode:
		value, _ = follow(n.Alias, key, depth+1)
		return value, n
	}
	if value = member(n, key); value != nil {
		return value, nil
	}
	merged := member(n, "<<")
	if merged == nil {
		return nil, nil
	}
	sources := []*yaml.Node{merged}
	if merged.Kind == yaml.SequenceNode {
		sources = merged.Content
	}
	for _, source := range sources {
		if value, _ = follow(source, key, depth+1); value != nil {
			return value, merged
		}
	}
	return nil, nil
}

// hidden returns the alias or the merge key through which the pod at the path has the label that asks
// for a sidecar, or nil.
func hidden(n *yaml.Node, path string) *yaml.Node {
	var first *yaml.Node
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
	for _, name := range append(names, "metadata", "labels", ask.InjectLabel) {
		var via *yaml.Node
		if n, via = follow(n, name, 0); first == nil {
			first = via
		}
	}
	if n != nil && n.Kind == yaml.AliasNode {
		n, first = n.Alias, cmp.Or(first, n)
	}
	if n == nil || n.Value != "true" {
		return nil
	}
	return first
}

func errAnchor(n *yaml.Node) error {
	return fmt.Errorf("line %d has a YAML anchor or an alias, so a change there would also change other places: write the value out", n.Line)
}

// apply applies one operation to a tree of nodes, in a JSON or a YAML document.
// It does not change a node that has an anchor or is an alias.
func apply(n *yaml.Node, op patch.Op, isJSON bool) error {
	names := strings.Split(op.Path, "/")[1:]
	for i := range names {
		names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(names[i])
	}
	last := names[len(names)-1]
	for _, name := range names[:len(names)-1] {
		if n.Anchor != "" {
			return errAnchor(n)
		}
		if n = step(n, name); n == nil {
			return errors.New("nothing is there; does an alias or a merge key (<<) hide it?")
		}
	}
	old := step(n, last)
	for _, node := range []*yaml.Node{n, old} {
		if node != nil && (node.Kind == yaml.AliasNode || node.Anchor != "") {
			return errAnchor(node)
		}
	}
	if op.Op == "test" {
		if old == nil || old.Value != fmt.Sprint(op.Value) {
			return errors.New("the value has changed")
		}
		return nil
	}
	key, value, err := newNodes(last, op.Value, isJSON)
	if err != nil {
		return err
	}
	return place(n, old, key, value)
}

// place puts value in place of old, or at the end of n under the key.
func place(n, old, key, value *yaml.Node) error {
	switch {
	case old != nil:
		value.HeadComment, value.LineComment, value.FootComment = old.HeadComment, old.LineComment, old.FootComment
		*old = *value
		return nil
	case n.Kind == yaml.SequenceNode && key.Value == "-":
		n.Content = append(n.Content, value)
	case n.Kind == yaml.MappingNode:
		n.Content = append(n.Content, key, value)
	default:
		return errors.New("it is neither a list nor a mapping")
	}
	if len(n.Content) <= 2 && n.Style&yaml.FlowStyle != 0 { // it may have been [] or {}
		n.Style &^= yaml.FlowStyle
		n.Content[0].HeadComment, n.LineComment = n.LineComment, ""
	}
	return nil
}

// step returns the named child of n, or nil if n has no such child or is an alias.
func step(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		return member(n, name)
	}
	if i, err := strconv.Atoi(name); err == nil && n.Kind == yaml.SequenceNode && i >= 0 && i < len(n.Content) {
		return n.Content[i]
	}
	return nil
}

// newNodes returns a key and a value as nodes, in JSON or in the YAML that people
// usually write.
func newNodes(key string, value any, isJSON bool) (k, v *yaml.Node, err error) {
	text, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return nil, nil, fmt.Errorf("encode a value: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, nil, fmt.Errorf("encode a value: %w", err)
	}
	if !isJSON {
		relax(root.Content[0])
	}
	return root.Content[0].Content[0], root.Content[0].Content[1], nil
}

// plain matches a text that needs no quotes in any version of YAML. It also matches the
// reserved words, which do need quotes: booleans and null in YAML 1.1, which kubectl reads.
var (
	plain    = regexp.MustCompile("^(-?[A-Za-z/$]" + inPlain + "( -?[A-Za-z0-9/$]" + inPlain + ")*|[0-9]+(Ki|Mi|Gi|Ti|m|s|h))$")
	colon    = regexp.MustCompile(`:( |$)`)
	reserved = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

const inPlain = "[^\\s#'\"{}\\[\\]&!|>@`]*"

// relax removes unnecessary braces and quotes.
func relax(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Kind == yaml.ScalarNode && n.Style == yaml.DoubleQuotedStyle {
		switch {
		case plain.MatchString(n.Value) && !colon.MatchString(n.Value) && !slices.Contains(reserved, strings.ToLower(n.Value)):
			n.Style = 0
		case strings.Contains(n.Value, `"`) && !strings.ContainsAny(n.Value, "'\n\t\r"):
			n.Style = yaml.SingleQuotedStyle
		}
	}
	if n.Kind != yaml.ScalarNode && len(n.Content) == 0 {
		n.Style |= yaml.FlowStyle
	}
	for _, c := range n.Content {
		relax(c)
	}
}
