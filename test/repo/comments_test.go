package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// commentTables are tables of pages that are made from the comments of constants, or from the comments of a struct's
// fields with their JSON names. The type "" stands for strings without a type of their own.
var commentTables = []struct{ page, name, header, source, typ, prefix string }{
	{"levels.md", "attach-errors", "| kind | meaning, and what to do |", "internal/jvm/attach/error.go", "Kind", ""},
	{"pods.md", "annotations", "| annotation | |", "internal/kube/inject/wish/names.go", "", "ullage.dev/"},
	{"pods.md", "live", "| annotation | |", "internal/jvm/ask/annotations.go", "", "ullage.dev/"},
	{"read-logs.md", "gaps", "| kind | meaning |", "internal/read/cat/gaps.go", "gapKind", ""},
	{"report.md", "comparison", "| key | |", "internal/read/report/view/fleet.go", "Fleet", ""},
	{"report.md", "keys", "| key | |", "internal/read/report/view/report.go", "Report", ""},
	{"report.md", "problems", "| problem | |", "internal/read/report/view/problem.go", "ProblemKind", ""},
	{"stalls.md", "suspicions", "| suspicion | the stop |", "internal/line/pause/suspect.go", "Suspicion", ""},
	{"stalls.md", "verdicts", "| verdict | what grew, and what to do |", "internal/jvm/insight/judge.go", "Verdict", ""},
	{"troubleshooting.md", "refusals", "| reason | meaning |", "internal/jvm/ask/status.go", "Reason", ""},
}

// `go test ./test/repo -run DocsListTheComments -update` writes the tables.
func TestDocsListTheComments(t *testing.T) {
	for _, c := range commentTables {
		t.Run(c.page+"/"+c.name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "../../"+c.source, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			rows := commentRows(file, c.typ, c.prefix)
			if len(rows) < 2 {
				t.Fatalf("%s has %d commented constants or fields of %q, want at least 2", c.source, len(rows), c.typ)
			}
			holdTable(t, c.page, c.name, "DocsListTheComments", c.header+"\n|---|---|\n"+strings.Join(rows, ""))
		})
	}
}

// commentRows returns a row for each commented constant or field of a type.
func commentRows(file *ast.File, typ, prefix string) (rows []string) {
	row := func(name string, comments ...*ast.CommentGroup) {
		for _, comment := range comments {
			if text := strings.Join(strings.Fields(comment.Text()), " "); text != "" {
				rows = append(rows, fmt.Sprintf("| `%s%s` | %s |\n", prefix, name, strings.ReplaceAll(text, "|", `\|`)))
				return
			}
		}
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		of := "" // the type of the preceding constant, which later constants of an iota share
		for _, spec := range group.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				if s.Type != nil || s.Values != nil {
					of = lastName(s.Type)
				}
				if group.Tok == token.CONST && of == typ && len(s.Names) == 1 {
					if name, ok := constantText(s); ok {
						row(name, s.Doc, s.Comment)
					}
				}
			case *ast.TypeSpec:
				if fields, ok := s.Type.(*ast.StructType); ok && s.Name.Name == typ {
					for _, f := range fields.Fields.List {
						if f.Tag != nil {
							tag, _ := strconv.Unquote(f.Tag.Value)
							row(reflect.StructTag(tag).Get("json"), f.Doc, f.Comment)
						} else if len(f.Names) == 0 { // embedded: its fields are keys of the same object
							rows = append(rows, commentRows(file, lastName(f.Type), prefix)...)
						}
					}
				}
			}
		}
	}
	return rows
}

// constantText returns the string value of a constant. If it has a String method instead, it returns the constant's
// name in lower case.
func constantText(s *ast.ValueSpec) (string, bool) {
	if len(s.Values) == 1 {
		if text, ok := literal(s.Values[0]); ok {
			return text, true
		}
		if _, number := s.Values[0].(*ast.Ident); !number { // iota
			return "", false
		}
	}
	return strings.ToLower(s.Names[0].Name), true
}

// holdTable compares the table of a page, between the comments that name it, with the table that is made from its
// source.
func holdTable(t *testing.T, page, name, test, table string) {
	t.Helper()
	path := "../../docs/" + page
	text := read(t, path)
	section := regexp.MustCompile(`(?s)(<!-- ` + name + `: .*? -->\n).*?(<!-- end of ` + name + ` -->)`)
	if !section.MatchString(text) {
		t.Fatalf("docs/%s has no table %q", page, name)
	}
	want := section.ReplaceAllString(text, "${1}"+strings.ReplaceAll(table, "$", "$$")+"${2}")
	switch {
	case want == text:
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/%s does not have the comments of the code; write it with: go test ./test/repo -run %s -update\n%s", page, test, cmp.Diff(text, want))
	}
}

func TestRowsAreCommentsOfOneType(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x

// Kind is one.
type Kind string

const (
	// A is the first
	// kind | of two.
	A Kind = "a-1"
	B Kind = "b" // the second one
	C Kind = "c"

	d = "d" // of no type
	e = 7   // a number
)

const (
	None State = iota
	Idle       // at rest
)

type Report struct {
	A int `+"`json:\"alpha\"`"+` // the first field
	B int `+"`json:\"beta\"`"+`
	C int // has no name
	Part
}

type Part struct {
	D int `+"`json:\"delta\"`"+` // of the part
}
`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for typ, want := range map[string][]string{
		"Kind":   {"| `a-1` | A is the first kind \\| of two. |\n", "| `b` | the second one |\n"},
		"":       {"| `d` | of no type |\n"},
		"State":  {"| `idle` | at rest |\n"},
		"Report": {"| `alpha` | the first field |\n", "| `delta` | of the part |\n"},
	} {
		if diff := cmp.Diff(want, commentRows(file, typ, "")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", typ, diff)
		}
	}
}
