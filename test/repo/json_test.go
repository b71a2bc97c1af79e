package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// printed are the JSON objects of the commands. Each %s stands for the fields of the type at the same position. The
// fields for a type "" are written out in the source, as in `,"level":"`.
var printed = []struct {
	commands, what string
	fields         [][2]string // source file and type
}{
	{"`ullage logs`", "an object a line: %s", [][2]string{{"internal/read/cat/json.go", ""}}},
	{"`ullage logs --gaps`", "an object a line: %s", [][2]string{{"internal/read/cat/json.go", "gapObject"}}},
	{"`ullage logs --marks`", "an object a line: %s", [][2]string{{"internal/read/cat/marks.go", "markObject"}}},
	{"`ullage check`, `kubectl ullage check POD`", "an object a line, each with `kind`. `run`: %s. `stream`: `complete` and %s. `total`: %s",
		[][2]string{{"internal/read/check/report.go", "Run"}, {"internal/read/check/report.go", "Stream"}, {"internal/read/check/report.go", "Total"}}},
	{"`ullage report`, `pauses`, `kubectl ullage report`, `pauses`", "[one object](report.md#json): a report, or with `--compare` or `-l` a comparison", nil},
	{"`ullage levels`", "an array, an object for each output, ring, and socket without a process: %s; of a `ring`: %s",
		[][2]string{{"cmd/ullage/levels_list.go", "listedJSON"}, {"cmd/ullage/levels_list.go", "ringJSON"}}},
	{"`ullage status`, `/status`", "one object: %s", [][2]string{{"internal/base/admin/status.go", "Status"}}},
	{"`kubectl ullage status`, `top`, `levels TARGET`", "an array, an object for each sidecar: %s", [][2]string{{"cmd/kubectl-ullage/json.go", "answerJSON"}}},
	{"`kubectl ullage doctor`", "an array: %s; a `mark` is `ok`, `note`, `problem` or `unknown`", [][2]string{{"cmd/kubectl-ullage/doctor.go", "findingJSON"}}},
	{"`ullage prune`", "an object a line, for each directory: %s; a `state` is `removed`, `would remove`, `in use`, `young`, `kept`, `foreign` or `failed`",
		[][2]string{{"cmd/ullage/prune.go", "prunedJSON"}}},
	{"`ullage version`, `kubectl ullage version`", "one object: %s", [][2]string{{"internal/base/build/build.go", "Info"}}},
}

// `go test ./test/repo -run DocsListTheJSON -update` writes the table.
func TestDocsListTheJSON(t *testing.T) {
	var b strings.Builder
	b.WriteString("| command | prints |\n|---|---|\n")
	for _, p := range printed {
		var lists []any
		for _, f := range p.fields {
			names := jsonFields(t, f[0], f[1])
			if len(names) < 2 {
				t.Fatalf("%s: %q has the fields %q, want at least 2", f[0], f[1], names)
			}
			lists = append(lists, "`"+strings.Join(names, "`, `")+"`")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", p.commands, fmt.Sprintf(p.what, lists...))
	}
	holdTable(t, "reference.md", "json", "DocsListTheJSON", b.String())
}

// writtenOut matches the name of a field in JSON that the source writes out.
var writtenOut = regexp.MustCompile("`[{,]?\"(\\w+)\":[\"\\[]*`")

// jsonFields returns the names of a type's fields in JSON, including those of structs in its file that it embeds.
func jsonFields(t *testing.T, source, typ string) (names []string) {
	t.Helper()
	if typ == "" {
		for _, m := range writtenOut.FindAllStringSubmatch(read(t, "../../"+source), -1) {
			names = append(names, m[1])
		}
		return names
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../"+source, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	structs := map[string]*ast.StructType{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			structs[spec.Name.Name], _ = spec.Type.(*ast.StructType)
		}
		return true
	})
	var add func(typ string)
	add = func(typ string) {
		if structs[typ] == nil {
			t.Fatalf("%s has no struct %q", source, typ)
		}
		for _, f := range structs[typ].Fields.List {
			if f.Tag == nil {
				if len(f.Names) == 0 {
					add(lastName(f.Type)) // embedded
				}
				continue
			}
			tag, _ := strconv.Unquote(f.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			names = append(names, name)
		}
	}
	add(typ)
	return names
}
