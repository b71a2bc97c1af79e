package main

import (
	"fmt"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines returns n lines for the body of a function.
func lines(n int) string { return strings.Repeat("\t_ = 0\n", n) }

func TestWhatIsTooLong(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"a function at the limit", "func f() {\n" + lines(maxLines-2) + "}", ""},
		{"a function over it", "func f() {\n" + lines(maxLines-1) + "}", "a/x.go:2: f has 101 lines, at most 100 are allowed"},
		{"a method of a generic type", "func (t *T[P]) f() {\n" + lines(maxLines-1) + "}", "a/x.go:2: f has 101 lines, at most 100 are allowed"},
		{"its comment does not count", "// f\n//\n// is.\nfunc f() {\n" + lines(maxLines-2) + "}", ""},
	} {
		found := tree{types: map[string]*kind{}}
		if err := found.file("a/x.go", "package a\n"+c.src); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(found.long, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Fields, methods and exported methods are counted, including those of embedded types.
func TestMembersAreCounted(t *testing.T) {
	found := tree{types: map[string]*kind{}}
	for path, src := range map[string]string{
		"a/x.go":      "package a\ntype (\n\tT struct {\n\t\tx, y int\n\t\tEmbedded\n\t}\n\tI interface { F(); g() }\n\tAlias = T\n)\nfunc (t T) F() {}",
		"a/y.go":      "package a\nfunc (t *T) g() {}\nfunc (t *(T)) H() {}\nfunc (s *Pair[K, V]) F() {}",
		"a/x_test.go": "package a\nfunc (t *T) inATest() {}",
		"b/x.go":      "package b\ntype T struct{}",
		"c/x.go": `package c
import ("testing"; "` + module + `a"; other "` + module + `b"; "example.com/d")
type (
	Chain struct { link }
	link struct { *last; x int }
	last struct { a.T; other.T; testing.TB; y int }
	Wide interface { a.I; h() }
	Circle struct { *Circle; d.Foreign }
	Many struct { *a.Pair[int, string] }
)
func (l *link) F() {}
func (l *last) z() {}`,
	} {
		if err := found.file(path, src); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for name := range found.types {
		is := found.size(name)
		got[name] = fmt.Sprint(is.fields, is.methods, is.exported)
	}
	want := map[string]string{
		"a.T": "3 4 2", "a.I": "0 2 1", "a.Pair": "0 1 1", "b.T": "0 0 0",
		// c.last declares T (twice), TB and y, and gets x and Embedded from a.T. c.link adds last; a.T has an x too.
		"c.last": "5 5 2", "c.link": "6 5 2", "c.Chain": "7 5 2",
		"c.Wide": "0 3 1", "c.Circle": "2 0 0", "c.Many": "1 1 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArrowsAreNamesOfOtherFiles(t *testing.T) {
	found, err := within(token.NewFileSet(), nil, "a", map[string]any{
		"a/top.go":    "package a\nfunc Top(t *T) int { t.method(); return t.field + base }",
		"a/type.go":   "package a\ntype T struct { part; own int }\nfunc (t *T) method() { base := t.own; _ = base }",
		"a/part.go":   "package a\ntype part struct { field int }",
		"a/bottom.go": "package a\nconst base = 1\nvar number = Top(nil)",
		"a/alone.go":  "package a\nfunc alone() { type T int; var t T; _ = t }",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := arrows{
		"top.go":    {"type.go": {"T": true, "method": true}, "part.go": {"field": true}, "bottom.go": {"base": true}},
		"type.go":   {"part.go": {"part": true}},
		"part.go":   {},
		"bottom.go": {"top.go": {"Top": true}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// drawn makes arrows from a text such as "a>b a>c".
func drawn(text string) arrows {
	a := arrows{}
	for _, arrow := range strings.Fields(text) {
		from, to, _ := strings.Cut(arrow, ">")
		a.add(from, to, "name")
	}
	return a
}

func TestTheOrderOfFilesLeavesFewArrowsBack(t *testing.T) {
	for _, c := range []struct{ arrows, order, up string }{
		{"", "", ""},
		{"c>b b>a c>a", "c b a", ""},
		{"a>b b>a", "a b", "b → a: name"},
		{"a>b b>c c>a", "a b c", "c → a: name"},
		// Two circles share m: one arrow of each runs back up.
		{"a>m m>b b>a c>m m>d d>c", "a c m d b", "d → c: name; b → a: name"},
		// Each file uses the base, and the base uses one of them.
		{"a>base b>base c>base base>c", "a b base c", "c → base: name"},
		{"z>y y>x x>w w>z z>x y>w", "z y x w", "w → z: name"},
	} {
		a := drawn(c.arrows)
		order := a.order()
		if got := strings.Join(order, " "); got != c.order {
			t.Errorf("%s: order %s, want %s", c.arrows, got, c.order)
		}
		if got := strings.Join(a.up(order), "; "); got != c.up {
			t.Errorf("%s: %s run back up, want %s", c.arrows, got, c.up)
		}
	}
}

func TestJudgement(t *testing.T) {
	for _, c := range []struct {
		name string
		is   measure
		list string // of exceptions
		want string // empty: nothing
	}{
		{"at the limit", size{fields: maxFields}.measures("a.T")[0], "", ""},
		{"too many fields", size{fields: 21}.measures("a.T")[0], "", "a.T has 21 fields, at most 20 are allowed"},
		{"too many methods", size{methods: 31}.measures("a.T")[1], "", "a.T has 31 methods, at most 30 are allowed"},
		{"too many exported ones", size{methods: 21, exported: 21}.measures("a.T")[2], "", "a.T has 21 exported methods, at most 20 are allowed"},
		{"too tangled", measure{of: "a", what: "up", is: 3, limit: 2, meaning: "arrows", details: []string{"x → y: z"}}, "",
			"a has 3 arrows, at most 2 are allowed\n\tx → y: z"},
		{"excepted", size{fields: 23}.measures("a.T")[0], "a.T fields 23\n", ""},
		{"grown", size{fields: 24}.measures("a.T")[0], "a.T fields 23\n", "a.T has 24 fields, at most 23 are allowed"},
		{"shrunk", size{fields: 22}.measures("a.T")[0], "a.T fields 23\n", `a.T has 22 fields, fewer than test/lint/exceptions.txt says: write "a.T fields 22" there`},
		{"fixed", size{fields: 20}.measures("a.T")[0], "a.T fields 23\n", `a.T has 20 fields, within the limit: delete "a.T fields 23" from test/lint/exceptions.txt`},
		{"gone", size{fields: 20}.measures("a.U")[0], "a.T fields 23\n", `"a.T fields 23" in test/lint/exceptions.txt names nothing that exists: delete it`},
	} {
		excepted, err := exceptions(c.list)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(judge([]measure{c.is}, excepted), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestExceptionsAreSorted(t *testing.T) {
	for _, bad := range []string{"b up 16\na up 16\n", "a up 16\na up 17\n", "a up\n", "a up many\n"} {
		if got, err := exceptions(bad); err == nil {
			t.Errorf("exceptions(%q) returned %v, want an error", bad, got)
		}
	}
}
