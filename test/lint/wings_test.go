package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wings are the directories of internal, each with the other directories that its packages may import. A directory
// comes after all directories that it uses.
var wings = []struct {
	name string
	uses []string
}{
	{"base", nil},
	{"line", []string{"base"}},
	{"segment", []string{"base", "line"}},
	{"ship", []string{"base", "line", "segment"}},
	{"sink", []string{"base", "line", "segment"}},
	{"jvm", []string{"base", "line"}},
	{"read", []string{"base", "line", "segment", "sink"}},
	{"sidecar", []string{"base", "line", "segment", "ship", "sink", "jvm"}},
	{"kube", []string{"base", "line", "ship", "sink", "jvm", "sidecar"}},
}

// The directories of internal import each other exactly as the table says, and the table has no cycles.
func TestImportsPointDown(t *testing.T) {
	allowed := map[string][]string{}
	for _, w := range wings {
		for _, used := range w.uses {
			if _, below := allowed[used]; !below {
				t.Errorf("%s uses %s, which does not come before it in this table", w.name, used)
			}
		}
		allowed[w.name] = w.uses
	}
	used := map[string]map[string]bool{}
	for wing := range allowed {
		used[wing] = map[string]bool{}
	}
	const root = "../../internal"
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		wing := wingOf(strings.TrimPrefix(path, root+"/"))
		for _, spec := range parsed.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			name, ours := strings.CutPrefix(name, "github.com/ullage/ullage/internal/")
			if name == "ship/source" && !strings.HasPrefix(path, root+"/ship/tail/") {
				t.Errorf("%s imports %s: ship/tail alone uses the table of source files", path, name)
			}
			if other := wingOf(name); ours && other != wing {
				used[wing][other] = true
				if !slices.Contains(allowed[wing], other) {
					t.Errorf("%s imports %s: %s may use %v", path, name, wing, allowed[wing])
				}
				if name == "segment/store" && wing != "ship" {
					t.Errorf("%s imports %s: ship alone writes segments", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wings {
		if unused := slices.DeleteFunc(slices.Clone(w.uses), func(u string) bool { return used[w.name][u] }); len(unused) > 0 {
			t.Errorf("%s does not use %v: remove that from the table", w.name, unused)
		}
	}
}

// Each directory of internal is in the table, and a comment says what it is.
func TestEachDirectoryOfInternalSaysWhatItIs(t *testing.T) {
	entries, err := os.ReadDir("../../internal")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range entries {
		found[e.Name()] = true
		if _, err := os.Stat(filepath.Join("../../internal", e.Name(), "doc.go")); err != nil {
			t.Errorf("internal/%s has no doc.go", e.Name())
		}
	}
	want := map[string]bool{}
	for _, w := range wings {
		want[w.name] = true
	}
	if !maps.Equal(found, want) {
		t.Errorf("internal has %v, want %v", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(want)))
	}
}

// A directory's comment names the packages in it, so that a reader finds a package from the top.
func TestTheCommentOfADirectoryNamesItsPackages(t *testing.T) {
	const root = "../../internal"
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" {
			return filepath.SkipDir
		}
		found, _ := filepath.Glob(filepath.Join(path, "*.go"))
		if len(found) == 0 || filepath.Dir(path) == root {
			return nil
		}
		above := filepath.Join(filepath.Dir(path), "doc.go")
		parsed, err := parser.ParseFile(token.NewFileSet(), above, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		if !regexp.MustCompile(`\b` + d.Name() + `\b`).MatchString(parsed.Doc.Text()) {
			t.Errorf("the package comment in %s does not name %s, want a sentence about it", above, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wingOf returns the directory of internal with which a path below it begins.
func wingOf(path string) string {
	wing, _, _ := strings.Cut(path, "/")
	return wing
}
