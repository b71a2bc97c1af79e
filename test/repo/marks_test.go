package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// docs/read-logs.md lists the kinds of marks, with the comments of their constants.
// `go test ./test/repo -run DocsListTheMarks -update` writes the table.
func TestDocsListTheMarks(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/line/mark/mark.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	holdTable(t, "read-logs.md", "marks", "DocsListTheMarks", marksTable(t, file))
}

// explained splits the comment of a kind: what the mark means, then its details.
var explained = regexp.MustCompile(`^(.+)\. Details: (.+)\.$`)

func marksTable(t *testing.T, file *ast.File) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| kind | details | meaning |\n|---|---|---|\n")
	before := b.Len()
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || lastName(spec.Type) != "Kind" {
			return true
		}
		kind, _ := literal(spec.Values[0])
		parts := explained.FindStringSubmatch(strings.Join(strings.Fields(spec.Doc.Text()), " "))
		if parts == nil {
			t.Errorf("the comment of the kind %q does not end with its details, want an end like \"Details: stream, pid.\"", kind)
			return true
		}
		details := parts[2]
		if !strings.Contains(details, " as ") {
			details = "`" + strings.ReplaceAll(details, ", ", "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind, details, parts[1])
		return true
	})
	if b.Len() == before {
		t.Error("got no kinds of marks, want at least one")
	}
	return b.String()
}
