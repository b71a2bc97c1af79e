// Package manifest injects the pods and the pod templates in a YAML file, just as the webhook injects
// pods.
package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/kube/inject"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

// Note says what was done with one object in a manifest that is a pod or has a pod template.
type Note struct {
	Object   string // such as "Deployment shop/web"
	Injected bool
	Text     string   // why the object was not injected
	Warnings []string // as in [inject.Result]
}

// templates are the paths of the pods in objects, by the group and kind of the
// object.
var templates = map[string]string{
	"/Pod":                   "",
	"/PodTemplate":           "template",
	"/ReplicationController": "spec.template",
	"apps/Deployment":        "spec.template",
	"apps/StatefulSet":       "spec.template",
	"apps/DaemonSet":         "spec.template",
	"apps/ReplicaSet":        "spec.template",
	"batch/Job":              "spec.template",
	"batch/CronJob":          "spec.jobTemplate.spec.template",
	"argoproj.io/Rollout":    "spec.template",
}

// refused says why some kinds of objects are not injected: their controller accepts
// no sidecar in the template. The webhook injects their pods instead.
var refused = map[string]string{
	"serving.knative.dev/Service":       knative,
	"serving.knative.dev/Configuration": knative,
}

const knative = "Knative accepts no native sidecar in a template"

// separator is a line that begins a document of a YAML file.
var separator = regexp.MustCompile(`(?m)^---(?:[ \t\r]|$)`)

// Inject injects every pod and pod template in a YAML file that is labelled ullage.dev/inject:
// "true". The file may have several documents and lists. A document in which nothing is
// injected is returned byte for byte. A changed document keeps its comments and the order of
// its keys, but not its blank lines and the width of its indentation. cfg must be valid; its
// OnError is ignored. Inject returns an error if an object can't be injected, if the text is
// not YAML, or if an object asks for a sidecar that it would not get, because its kind is unknown or
// the label is not on its pods.
func Inject(text []byte, cfg wish.Config) ([]byte, []Note, error) {
	cfg.OnError = wish.Deny
	cfg.Defaults = yielding(cfg.Defaults)
	m := manifest{cfg: cfg}
	var out []byte
	for _, document := range split(text) {
		m.number++
		changed, err := m.document(document)
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", m.number, err)
		}
		out = append(out, changed...)
	}
	if len(m.missed) > 0 {
		return nil, nil, errors.New(strings.Join(m.missed, "; "))
	}
	return out, m.notes, nil
}

// offlineYield is how long a sidecar from a manifest waits for the first log. No injector repairs
// a pod that is made from a manifest. If another webhook strips its sidecar's restartPolicy, the
// JVM starts offlineYield later. If no webhook strips it, and pulling the JVM's image takes longer
// than offlineYield, the sidecar is restarted once.
const offlineYield = "1m"

// yielding adds yield-after to the defaults: the sidecar exits after that time,
// so that a JVM that waits for the exit can start.
func yielding(defaults map[string]string) map[string]string {
	all := map[string]string{wish.YieldAfter: offlineYield}
	maps.Copy(all, defaults)
	return all
}

// directive is a line that comes before the separator of its document.
var directive = regexp.MustCompile(`(?m)^%`)

// split cuts a file before every separator, except a separator at the beginning of
// the file or after directives.
func split(text []byte) [][]byte {
	var documents [][]byte
	begin := 0
	for _, at := range separator.FindAllIndex(text, -1) {
		before := text[begin:at[0]]
		if len(before) > 0 && (separator.Match(before) || !directive.Match(before)) {
			documents = append(documents, before)
			begin = at[0]
		}
	}
	return append(documents, text[begin:])
}

type manifest struct {
	cfg    wish.Config
	notes  []Note
	missed []string // objects that ask for a sidecar that they would not get
	number int      // number of the document, starting at 1
	isJSON bool     // the document is JSON
}

// document returns the document after the injection.
func (m *manifest) document(text []byte) ([]byte, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	switch err := d.Decode(&root); {
	case err == io.EOF:
		return text, nil
	case err != nil:
		return nil, fmt.Errorf("read it: %w", err)
	}
	if len(root.Content) == 0 {
		return text, nil
	}
	if err := d.Decode(new(yaml.Node)); err != io.EOF {
		return nil, errors.New(`read it: there is more text after the end marker "...": write --- between documents`)
	}
	m.isJSON = root.Content[0].Style&yaml.FlowStyle != 0
	changed, err := m.object(root.Content[0])
	if err != nil || !changed {
		return text, err
	}
	var out bytes.Buffer
	if separator.Match(text) {
		out.WriteString("---\n")
	}
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if isCompact(&root) {
		e.CompactSeqIndent()
	}
	if err := errors.Join(e.Encode(&root), e.Close()); err != nil {
		return nil, fmt.Errorf("write it: %w", err)
	}
	return out.Bytes(), nil
}

// isCompact reports whether list items have the same indentation as their key, as kubectl
// writes them. It looks only at the first list.
func isCompact(n *yaml.Node) bool {
	column, found := 0, false
	var look func(n *yaml.Node)
	look = func(n *yaml.Node) {
		for i, c := range n.Content {
			if found {
				return
			}
			if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.SequenceNode && c.Style&yaml.FlowStyle == 0 && len(c.Content) > 0 {
				column, found = c.Column-n.Content[i-1].Column, true
			}
			look(c)
		}
	}
	look(n)
	return column == 0
}

// object injects one object, or each object of a list.
func (m *manifest) object(n *yaml.Node) (changed bool, err error) {
	kind := scalar(n, "kind")
	group, _, ok := strings.Cut(scalar(n, "apiVersion"), "/")
	if !ok {
		group = ""
	}
	if group == "" && kind == "List" {
		items := member(n, "items")
		if items == nil || items.Kind != yaml.SequenceNode {
			return false, nil
		}
		for i, item := range items.Content {
			one, err := m.object(item)
			if err != nil {
				return false, fmt.Errorf("item %d: %w", i+1, err)
			}
			changed = changed || one
		}
		return changed, nil
	}
	metadata := member(n, "metadata")
	namespace := scalar(metadata, "namespace")
	name := kind + " " + strings.TrimPrefix(namespace+"/"+scalar(metadata, "name"), "/")
	path, ok := templates[group+"/"+kind]
	if !ok {
		if where := asks(n, ""); where != "" {
			why := cmp.Or(refused[group+"/"+kind], "this program does not know where objects of its kind have their pods")
			m.miss(n, name, where+" asks for a sidecar, and "+why+": install the injector's webhook, which injects pods of all kinds of objects")
		}
		return false, nil
	}
	for _, miss := range misses(n, path) {
		m.miss(n, name, miss.Text+": "+miss.Hint)
	}
	note, err := m.inject(n, path, namespace)
	if err != nil {
		return false, fmt.Errorf("%s (line %d): %w", printable.Text(name, wish.MaxText), n.Line, err)
	}
	note.Object = printable.Text(name, wish.MaxText)
	m.notes = append(m.notes, note)
	return note.Injected, nil
}

// miss records that an object asks for a sidecar that it would not get.
func (m *manifest) miss(n *yaml.Node, name, why string) {
	m.missed = append(m.missed, printable.Text(fmt.Sprintf("document %d: %s (line %d): %s", m.number, name, n.Line, why), 2*wish.MaxText))
}

// misses returns the places where an object, whose pod is at the path, asks for a sidecar
// without effect.
func misses(n *yaml.Node, path string) []ask.Miss {
	pod := n
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		if pod = member(pod, name); pod == nil {
			return nil
		}
	}
	var object map[string]string
	if pod != n {
		object = texts(member(member(n, "metadata"), "labels"))
	}
	metadata := member(pod, "metadata")
	return ask.Misses(texts(member(metadata, "labels")), texts(member(metadata, "annotations")), object, "the object")
}

// texts returns the keys and values of a mapping of strings.
func texts(n *yaml.Node) map[string]string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	all := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		all[n.Content[i].Value] = n.Content[i+1].Value
	}
	return all
}

// asks returns the path of a label that asks for a sidecar in an object of an
// unknown kind, such as spec.template.metadata.labels, or "". The object's own
// labels do not matter: they are not on its pods.
func asks(n *yaml.Node, at string) string {
	if n == nil {
		return ""
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if where := asks(item, at); where != "" {
				return where
			}
		}
		return ""
	}
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		where := strings.TrimPrefix(at+"."+key, ".")
		if label := scalar(value, ask.InjectLabel); key == "labels" && label != "" && label != "false" && where != "metadata.labels" {
			return where
		}
		if found := asks(value, where); found != "" {
			return found
		}
	}
	return ""
}

// inject injects the pod at the path, which consists of names separated by dots.
func (m *manifest) inject(n *yaml.Node, path, namespace string) (Note, error) {
	var claimed []string
	if claims := member(member(n, "spec"), "volumeClaimTemplates"); claims != nil {
		for _, c := range claims.Content {
			claimed = append(claimed, scalar(member(c, "metadata"), "name"))
		}
	}
	if via := hidden(n, path); via != nil {
		return Note{}, errAnchor(via)
	}
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		if n.Anchor != "" {
			return Note{}, errAnchor(n)
		}
		if n = member(n, name); n == nil {
			return Note{Text: "it has no " + path}, nil
		}
	}
	if label := scalar(member(member(n, "metadata"), "labels"), ask.InjectLabel); label != "true" {
		return Note{Text: fmt.Sprintf("its pods do not have the label %s: \"true\"", ask.InjectLabel)}, nil
	}
	text, err := yaml.Marshal(n)
	if err != nil {
		return Note{}, fmt.Errorf("read its pod: %w", err)
	}
	// kubectl reads YAML with the same library, so both read the same pod.
	pod, err := sigsyaml.YAMLToJSON(text)
	if err != nil {
		return Note{}, fmt.Errorf("read its pod (aliases of anchors elsewhere must be written out): %w", err)
	}
	res, err := inject.Template(pod, namespace, claimed, m.cfg)
	switch {
	case err != nil:
		return Note{}, err
	case res.Denied != "":
		return Note{}, errors.New(res.Denied)
	}
	note := Note{Injected: res.Injected, Warnings: res.Warnings}
	if !res.Injected {
		if len(res.Warnings) == 0 {
			note.Text = "it is already injected, or opts out"
		}
		return note, nil
	}
	for _, op := range res.Patch {
		if err := apply(n, op, m.isJSON); err != nil {
			return Note{}, fmt.Errorf("change its pod at %s: %w", op.Path, err)
		}
	}
	return note, nil
}
