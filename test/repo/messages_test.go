package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An operator finds each warning and error of the programs in one table, and
// nothing in that table that the programs no longer log.
func TestDocsListTheLogMessages(t *testing.T) {
	m := messages{clauses: map[string]bool{}, wrappers: map[string]wrapper{}}
	for _, dir := range []string{"../../cmd", "../../internal"} {
		if err := m.read(dir); err != nil {
			t.Fatal(err)
		}
	}
	m.judge()
	for _, p := range m.problems {
		t.Error(p)
	}
	const path = "../../docs/messages.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	listed := documented(string(page))
	for clause, severe := range m.clauses {
		if severe && !slices.Contains(listed, clause) {
			t.Errorf("%s has no row for %q", path, clause)
		}
	}
	for i, clause := range listed {
		if _, ok := m.clauses[clause]; !ok {
			t.Errorf("%s: nothing logs %q", path, clause)
		}
		if slices.Contains(listed[:i], clause) {
			t.Errorf("%s: %q has two rows", path, clause)
		}
	}
}

func TestMessagesAreFoundAndJudged(t *testing.T) {
	m := messages{clauses: map[string]bool{}, wrappers: map[string]wrapper{}}
	err := m.file("a/x.go", `package a
func (s *S) once(key, msg string, args ...any) { s.log.Warn(msg, args...) }
func f(s *S, log *slog.Logger, n int) {
	s.once("k", "disk is full", "n", n)
	log.Info("draining", "n", n)
	log.ErrorContext(ctx, "destination failed", "hint", "wait")
	log.Log(ctx, level, "source is missing")
	log.Warn("dropping " + what)
	log.Warn("disk is full; waiting")
	log.Warn("Disk is full")
	log.Debug("JVM ended", "raised to", n, "err", err)
	wg.Error("not: a log")
}`)
	if err != nil {
		t.Fatal(err)
	}
	m.judge()
	if diff := cmp.Diff(map[string]bool{"disk is full": true, "draining": false, "destination failed": true, "source is missing": true,
		"disk is full; waiting": true, "Disk is full": true, "JVM ended": false}, m.clauses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	slices.Sort(m.problems)
	if diff := cmp.Diff([]string{
		`a/x.go:10: "Disk is full" is not one short clause in lower case`,
		`a/x.go:11: "err" is no key of an attribute: use lower case, and "error" for errors`,
		`a/x.go:11: "raised to" is no key of an attribute: use lower case, and "error" for errors`,
		`a/x.go:8: the message is not constant`,
		`a/x.go:9: "disk is full; waiting" is not one short clause in lower case`,
	}, m.problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// documented returns the first cells of the tables' rows.
func documented(page string) []string {
	var clauses []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1) {
		clauses = append(clauses, row[1])
	}
	return clauses
}

// messages are the log messages of some source files.
type messages struct {
	clauses  map[string]bool    // whether it is, or can be, a warning or an error
	wrappers map[string]wrapper // by directory and function: "internal/ship/tail.warnOnce"
	calls    []call
	problems []string
}

// wrapper is a function that logs what it gets as a parameter.
type wrapper struct {
	at     int // the parameter's index
	severe bool
}

// call is a call in a directory. Of a call that logs, message is the index of
// the message among its arguments; of any other it is -1.
type call struct {
	*ast.CallExpr
	place, dir, name string
	message          int
	severe           bool
	parameters       []string // of the function that the call is in
}

func (m *messages) read(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return m.file(path, nil)
	})
}

func (m *messages) file(path string, src any) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		var parameters []string
		if f, ok := decl.(*ast.FuncDecl); ok {
			for _, field := range f.Type.Params.List {
				for _, name := range field.Names {
					parameters = append(parameters, name.Name)
				}
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			expr, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := set.Position(expr.Pos())
			c := call{CallExpr: expr, place: fmt.Sprintf("%s:%d", path, at.Line), dir: filepath.ToSlash(filepath.Dir(path)), parameters: parameters}
			c.name = lastName(expr.Fun)
			c.message, c.severe = logs(expr)
			m.calls = append(m.calls, c)
			if p := c.parameter(); p >= 0 {
				m.wrappers[c.dir+"."+decl.(*ast.FuncDecl).Name.Name] = wrapper{p, c.severe}
			}
			return true
		})
	}
	return nil
}

// logs returns the index of the message in a call of a [slog.Logger]'s method,
// which is -1 for other calls, and whether the level can be a warning or worse.
func logs(expr *ast.CallExpr) (message int, severe bool) {
	method, ok := expr.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"log", "logger", "slog"}, strings.ToLower(lastName(method.X))) {
		return -1, false
	}
	level, context := strings.CutSuffix(method.Sel.Name, "Context")
	switch level {
	case "Log", "LogAttrs":
		return 2, true
	case "Debug", "Info", "Warn", "Error":
		if context {
			message = 1
		}
		return message, level == "Warn" || level == "Error"
	}
	return -1, false
}

// lastName returns c of a.b.c.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// parameter returns which parameter of the function around it a call logs, or
// -1.
func (c call) parameter() int {
	if c.message < 0 || c.message >= len(c.Args) {
		return -1
	}
	name, ok := c.Args[c.message].(*ast.Ident)
	if !ok {
		return -1
	}
	return slices.Index(c.parameters, name.Name)
}

// clause is what a message looks like: words, and no punctuation.
var clause = regexp.MustCompile(`^([a-z][\w'-]*|[A-Z]{2,})( [\w'.-]*[\w'])*$`)

const longestClause = 60

var attribute = regexp.MustCompile(`^[a-z][a-z_]*$`)

// judge takes in the messages of all calls, once all files are read.
func (m *messages) judge() {
	for _, c := range m.calls {
		if w, ok := m.wrappers[c.dir+"."+c.name]; ok && c.message < 0 {
			c.message, c.severe = w.at, w.severe
		} else if c.message < 0 || c.parameter() >= 0 {
			continue
		}
		text, ok := literal(c.Args[c.message])
		if !ok {
			m.problems = append(m.problems, c.place+": the message is not constant")
			continue
		}
		m.clauses[text] = m.clauses[text] || c.severe
		if len(text) > longestClause || !clause.MatchString(text) {
			m.problems = append(m.problems, fmt.Sprintf("%s: %q is not one short clause in lower case", c.place, text))
		}
		for i := c.message + 1; i < len(c.Args); i += 2 {
			if key, ok := literal(c.Args[i]); ok && (key == "err" || !attribute.MatchString(key)) {
				m.problems = append(m.problems, fmt.Sprintf("%s: %q is no key of an attribute: use lower case, and \"error\" for errors", c.place, key))
			}
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
