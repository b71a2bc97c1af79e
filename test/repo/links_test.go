package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`(?:\]\(|\bsrc(?:set)?=")([^)"\s]+)[)"]`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	omitted = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks that the documents' links lead to existing files and to headings in them. An anchor is a heading
// in lower case, without punctuation, with hyphens for spaces.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"charts", "docs", "test"} {
		err := filepath.WalkDir("../../"+dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range pages {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(path); err != nil || anchor != "" && !anchors(read(t, path))[anchor] {
				t.Errorf("%s: %s leads nowhere", page, found[1])
			}
		}
	}
}

// docsURL is a URL of a page in the text of a program.
var docsURL = regexp.MustCompile("build\\.Docs ?\\+ ?[\"`]([a-z-]+\\.md)(?:#([a-z0-9-]+))?")

// TestLinksOfPrograms checks the URLs of pages in help, hints and warnings against the pages.
func TestLinksOfPrograms(t *testing.T) {
	checked := 0
	for _, dir := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			for _, found := range docsURL.FindAllStringSubmatch(read(t, path), -1) {
				page, anchor := "../../docs/"+found[1], found[2]
				if _, err := os.Stat(page); err != nil || anchor != "" && !anchors(read(t, page))[anchor] {
					t.Errorf("%s: %s leads nowhere", path, found[0])
				}
				checked++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked == 0 {
		t.Error("no program names a page: the pattern of this test is out of date")
	}
}

func anchors(page string) map[string]bool {
	all := make(map[string]bool)
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		all[strings.ReplaceAll(omitted.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")] = true
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
