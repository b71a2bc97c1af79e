package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lines returns n lines that a function's body can consist of.
func lines(n int) string { return strings.Repeat("\t_ = 0\n", n) }

func TestWhatIsTooLong(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"a function at the limit", "func f() {\n" + lines(maxLines-2) + "}", ""},
		{"a function over it", "func f() {\n" + lines(maxLines-1) + "}", "a/x.go:2: f has 81 lines, at most 80 are allowed"},
		{"a method of a generic type", "func (t *T[P]) f() {\n" + lines(maxLines-1) + "}", "a/x.go:2: f has 81 lines, at most 80 are allowed"},
		{"its comment does not count", "// f\n//\n// is.\nfunc f() {\n" + lines(maxLines-2) + "}", ""},
	} {
		found := tree{types: map[string]*size{}}
		if err := found.file("a/x.go", "package a\n"+c.src); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(found.long, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFieldsAndMethodsAreCounted(t *testing.T) {
	found := tree{types: map[string]*size{}}
	for path, src := range map[string]string{
		"a/x.go":      "package a\ntype (\n\tT struct {\n\t\tx, y int\n\t\tEmbedded\n\t}\n\tI interface { F(); g() }\n\tAlias = T\n)\nfunc (t T) F() {}",
		"a/y.go":      "package a\nfunc (t *T) g() {}\nfunc (t *(T)) H() {}\nfunc (s *Pair[K, V]) F() {}",
		"a/x_test.go": "package a\nfunc (t *T) inATest() {}",
		"b/x.go":      "package b\ntype T struct{}",
	} {
		if err := found.file(path, src); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for name, s := range found.types {
		got[name] = fmt.Sprint(s.fields, s.methods, s.exported)
	}
	want := map[string]string{"a.T": "3 4 2", "a.I": "0 2 1", "a.Alias": "0 0 0", "a.Pair": "0 1 1", "b.T": "0 0 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATypeIsHeldToTheLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		is   size
		want string // empty: nothing
	}{
		{"at the limits", size{maxFields, maxMethods, maxExported}, ""},
		{"too many fields", size{fields: 21}, "a.T has 21 fields, at most 20 are allowed"},
		{"too many methods", size{methods: 31}, "a.T has 31 methods, at most 30 are allowed"},
		{"too many exported ones", size{methods: 21, exported: 21}, "a.T has 21 exported methods, at most 20 are allowed"},
	} {
		if got := strings.Join(judge(map[string]*size{"a.T": &c.is}), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
