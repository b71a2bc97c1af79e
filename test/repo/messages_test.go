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

// sections are the sections of docs/messages.md, in order.
var sections = []string{
	"The source", "The JVMs", "Events", "Pressure", "Hindsight", "The destination", "The checkpoint",
	"Sinks", "Log levels", "Admin HTTP", "The injector",
}

// docs/messages.md lists each warning and error of the programs, and messages at info that an operator may look for.
// The explanation is in a comment above the call that logs the message:
//
//	// messages.md#the-source: The next poll, within a second, tries again.
//	log.Warn("scanning the source failed", "error", err)
//
// `go test ./test/repo -run LogMessages -update` writes the tables.
func TestDocsListTheLogMessages(t *testing.T) {
	m := newMessages()
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
	page := read(t, path)
	begin, end := strings.Index(page, "## "), strings.Index(page, "<!-- end of messages -->")
	if begin < 0 || end < begin {
		t.Fatalf("%s has no tables of messages", path)
	}
	want := page[:begin] + m.tables() + page[end:]
	switch {
	case want == page:
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not have the comments above the calls; write it with: go test ./test/repo -run LogMessages -update\n%s", path, cmp.Diff(page, want))
	}
}

func TestMessagesAreFoundAndJudged(t *testing.T) {
	m := newMessages()
	err := m.file("a/x.go", `package a
func (s *S) once(key, msg string, args ...any) { s.log.Warn(msg, args...) }
func f(s *S, log *slog.Logger, n int) {
	// A comment for readers of the code.
	//
	// messages.md#the-destination: Make
	// room | wait.
	s.once("k", "disk is full", "n", n)
	log.Info("draining", "n", n)
	log.ErrorContext(ctx, "destination failed", "hint", "wait")
	// messages.md#elsewhere: Wait.
	log.Log(ctx, level, "source is missing")
	// messages.md#the-destination: Make room.
	log.Warn("disk is full")
	// messages.md#the-source: This is no call that logs.
	n++
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
	severe := map[string]bool{}
	for text, found := range m.found {
		severe[text] = found.severe
	}
	if diff := cmp.Diff(map[string]bool{"disk is full": true, "draining": false, "destination failed": true, "source is missing": true,
		"disk is full; waiting": true, "Disk is full": true, "JVM ended": false}, severe); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := m.tables(), "## The destination\n\n| message | meaning, and what to do |\n|---|---|\n| `disk is full` | Make room \\| wait. |\n\n"; got != want {
		t.Errorf("got the tables\n%s\nwant\n%s", got, want)
	}
	slices.Sort(m.problems)
	if diff := cmp.Diff([]string{
		`a/x.go:10: no comment "messages.md#section: ..." above the call explains "destination failed"`,
		`a/x.go:12: docs/messages.md has no section "elsewhere"`,
		`a/x.go:14: "disk is full" is explained a second time`,
		`a/x.go:16: this comment for docs/messages.md is not above a call that logs`,
		`a/x.go:17: the message is not constant`,
		`a/x.go:18: "disk is full; waiting" is not one short clause in lower case`,
		`a/x.go:18: no comment "messages.md#section: ..." above the call explains "disk is full; waiting"`,
		`a/x.go:19: "Disk is full" is not one short clause in lower case`,
		`a/x.go:19: no comment "messages.md#section: ..." above the call explains "Disk is full"`,
		`a/x.go:20: "err" is no key of an attribute: use lower case, and "error" for errors`,
		`a/x.go:20: "raised to" is no key of an attribute: use lower case, and "error" for errors`,
	}, m.problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// messages are the log messages of some source files.
type messages struct {
	found    map[string]*message          // by text
	comments map[string]*ast.CommentGroup // comments with an explanation, by the place of the line below them
	wrappers map[string]wrapper           // by directory and function: "internal/ship/tail.warnOnce"
	calls    []call
	problems []string
}

// message is a message of one call or of several.
type message struct {
	place            string // of the first call
	severe           bool   // it is, or can be, a warning or an error
	section, meaning string // of docs/messages.md
}

func newMessages() *messages {
	return &messages{found: map[string]*message{}, comments: map[string]*ast.CommentGroup{}, wrappers: map[string]wrapper{}}
}

// tables returns the tables of docs/messages.md, each under the heading of its section.
func (m *messages) tables() string {
	var b strings.Builder
	for _, section := range sections {
		var rows []string
		for text, found := range m.found {
			if found.section == anchor(section) {
				rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", text, strings.ReplaceAll(found.meaning, "|", `\|`)))
			}
		}
		if len(rows) == 0 {
			continue
		}
		slices.Sort(rows)
		fmt.Fprintf(&b, "## %s\n\n| message | meaning, and what to do |\n|---|---|\n%s\n", section, strings.Join(rows, ""))
	}
	return b.String()
}

// anchor returns the name of a section in links.
func anchor(section string) string {
	return strings.ReplaceAll(strings.ToLower(section), " ", "-")
}

// wrapper is a function that logs a message that it gets as a parameter.
type wrapper struct {
	at     int // the parameter's index
	severe bool
}

// call is a call in a directory. If it logs, message is the index of the message among its arguments; otherwise it is
// -1.
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
	parsed, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range parsed.Comments {
		if explanation.MatchString(group.Text()) {
			m.comments[fmt.Sprintf("%s:%d", path, set.Position(group.End()).Line+1)] = group
		}
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

// logs returns the index of the message in a call of a [slog.Logger]'s method, or -1 for other calls, and whether the
// level can be a warning or worse.
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

// parameter returns which parameter of the surrounding function a call logs, or -1.
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

// clause matches the form of a message: words, without punctuation.
var clause = regexp.MustCompile(`^([a-z][\w'-]*|[A-Z]{2,})( [\w'.-]*[\w'])*$`)

const longestClause = 60

var attribute = regexp.MustCompile(`^[a-z][a-z_]*$`)

// judge evaluates the messages of all calls once all files are read.
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
		m.take(c, text)
		if len(text) > longestClause || !clause.MatchString(text) {
			m.problems = append(m.problems, fmt.Sprintf("%s: %q is not one short clause in lower case", c.place, text))
		}
		for i := c.message + 1; i < len(c.Args); i += 2 {
			if key, ok := literal(c.Args[i]); ok && (key == "err" || !attribute.MatchString(key)) {
				m.problems = append(m.problems, fmt.Sprintf("%s: %q is no key of an attribute: use lower case, and \"error\" for errors", c.place, key))
			}
		}
	}
	for text, found := range m.found {
		if found.severe && found.section == "" {
			m.problems = append(m.problems, fmt.Sprintf("%s: no comment \"messages.md#section: ...\" above the call explains %q", found.place, text))
		}
	}
	for place := range m.comments {
		m.problems = append(m.problems, place+": this comment for docs/messages.md is not above a call that logs")
	}
}

// explanation matches a comment for docs/messages.md, which is above the call that logs the message.
var explanation = regexp.MustCompile(`(?ms)^messages\.md#([a-z-]+): (.*)`)

// take records the message of a call, and its explanation if the comment above has one.
func (m *messages) take(c call, text string) {
	found := m.found[text]
	if found == nil {
		found = &message{place: c.place}
		m.found[text] = found
	}
	found.severe = found.severe || c.severe
	group := m.comments[c.place]
	if group == nil {
		return
	}
	delete(m.comments, c.place)
	parts := explanation.FindStringSubmatch(group.Text())
	switch {
	case found.section != "":
		m.problems = append(m.problems, fmt.Sprintf("%s: %q is explained a second time", c.place, text))
		return
	case !slices.ContainsFunc(sections, func(s string) bool { return anchor(s) == parts[1] }):
		m.problems = append(m.problems, fmt.Sprintf("%s: docs/messages.md has no section %q", c.place, parts[1]))
	}
	found.section, found.meaning = parts[1], strings.Join(strings.Fields(parts[2]), " ")
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
