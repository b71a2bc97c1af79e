package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestReadmeTable compares the README's table of values with the comments in values.yaml. `go test ./test/chart -run
// ReadmeTable -update` writes it.
func TestReadmeTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	table := "| value | default | |\n|---|---|---|\n" + rows(t, "", doc.Content[0])
	path := filepath.Join(chartDir, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?s)(<!-- values: .*? -->\n).*?(<!-- end of values -->)`)
	if !section.Match(readme) {
		t.Fatal("the chart's README has no section for its values")
	}
	checkFile(t, path, section.ReplaceAllString(string(readme), "${1}"+strings.ReplaceAll(table, "$", "$$")+"${2}"))
}

// TestTheNamesElsewhereLeadToValues checks that values.yaml has the names in the last column of the README's table
// for users of other charts.
func TestTheNamesElsewhereLeadToValues(t *testing.T) {
	values := readValues(t)
	readme, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(readme), "| vault-k8s | cert-manager | here |")
	table, _, _ = strings.Cut(table, "\n\n")
	names := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(row), "|")
		for _, name := range names.FindAllStringSubmatch(cells[max(0, len(cells)-2)], -1) {
			var at any = values
			for key := range strings.SplitSeq(name[1], ".") {
				m, _ := at.(map[string]any)
				at = m[key]
			}
			if at == nil {
				t.Errorf("%s is not in values.yaml", name[1])
			}
		}
	}
	if !found || strings.Count(table, "\n") < 10 {
		t.Error("the README has no table of the names in other charts, or a shorter one, want at least 10 lines")
	}
}

// rows describes the values of a mapping, one row each. A value that itself contains commented values gets one row
// for each of these instead.
func rows(t *testing.T, prefix string, mapping *yaml.Node) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name, comment := prefix+key.Value, about(key)
		group := value.Kind == yaml.MappingNode && commented(value)
		if comment == "" && !group {
			t.Errorf("%s has no comment in values.yaml", name)
		}
		if !group {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, compact(t, value), comment)
			continue
		}
		if comment != "" {
			fmt.Fprintf(&b, "| **`%s`** | | **%s** |\n", name, comment)
		}
		b.WriteString(rows(t, name+".", value))
	}
	return b.String()
}

// commented reports whether a mapping has values with comments.
func commented(mapping *yaml.Node) bool {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if about(key) != "" || value.Kind == yaml.MappingNode && commented(value) {
			return true
		}
	}
	return false
}

// about returns the comment above a key as one line.
func about(key *yaml.Node) string {
	var words []string
	for line := range strings.Lines(key.HeadComment) {
		words = append(words, strings.Fields(strings.TrimPrefix(line, "#"))...)
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", `\|`)
}

// compact writes a value on one line; an empty text is left out.
func compact(t *testing.T, node *yaml.Node) string {
	t.Helper()
	if node.Kind == yaml.ScalarNode {
		if node.Value == "" {
			return ""
		}
		return "`" + node.Value + "`"
	}
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return "`" + string(text) + "`"
}
