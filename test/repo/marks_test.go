package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/read-logs.md lists the kinds of marks, with the comments of their constants.
// `go test ./test/repo -run DocsListTheMarks -update` writes the table.
func TestDocsListTheMarks(t *testing.T) {
	const source, path = "../../internal/line/mark/mark.go", "../../docs/read-logs.md"
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	table := marksTable(t, file)
	page := read(t, path)
	section := regexp.MustCompile(`(?s)(<!-- marks: .*? -->\n).*?(<!-- end of marks -->)`)
	if !section.MatchString(page) {
		t.Fatalf("%s has no table of marks", path)
	}
	want := section.ReplaceAllString(page, "${1}"+table+"${2}")
	switch {
	case want == page:
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not have the comments of %s; write it with: go test ./test/repo -run DocsListTheMarks -update\n%s", path, source, cmp.Diff(page, want))
	}
}

// explained is the comment of a kind: what the mark means, then its details.
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
			t.Errorf("the comment of the kind %q does not end with its details: \"Details: stream, pid.\"", kind)
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
		t.Error("no kinds were found")
	}
	return b.String()
}
