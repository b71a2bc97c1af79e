package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// Limits of the documents: readers of the README do not know yet whether they need ullage, and all pages can be read
// within a day.
const (
	maxReadme  = 800    // words as wc counts them, tables included
	maxDocs    = 22_000 // words written by hand, of all pages in docs
	maxPicture = 200_000
)

// generated is a section of a page that a program writes.
var generated = regexp.MustCompile(`(?s)<!-- (?:evidence|[a-z0-9-]+): .*?<!-- end of [a-z0-9-]+ -->`)

func TestDocumentsAreShort(t *testing.T) {
	if n := len(strings.Fields(read(t, "../../README.md"))); n > maxReadme {
		t.Errorf("README.md has %d words, want at most %d", n, maxReadme)
	}
	n := 0
	for _, page := range glob(t, "../../docs/*.md") { // docs/benchmarks is generated as a whole
		for _, word := range strings.Fields(generated.ReplaceAllString(read(t, page), "")) {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				n++
			}
		}
	}
	t.Logf("%d words by hand", n)
	if n > maxDocs || n < maxDocs/4 {
		t.Errorf("the pages in docs have %d words by hand, want at most %d, and at least a quarter of that", n, maxDocs)
	}
}

// nextSentence is the end of a sentence with another one after it.
var nextSentence = regexp.MustCompile("[a-z0-9`)\"][.!?] +[A-Z`]")

// leadIn matches what may precede the sentence of a line: a number, or text in bold.
var leadIn = regexp.MustCompile(`^(?:#+ )?\d+\. |\*\*[^*]+\*\*`)

// One sentence a line keeps the difference between two versions readable. A row of a table is one line.
func TestDocumentsHaveOneSentenceALine(t *testing.T) {
	pages := append(glob(t, "../../*.md"), glob(t, "../../docs/*.md")...)
	for _, page := range append(pages, "../../java/README.md", "../../charts/ullage/README.md") {
		code := false
		for i, line := range strings.Split(generated.ReplaceAllStringFunc(read(t, page), blankLines), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			if code || strings.HasPrefix(line, "|") || strings.Contains(line, "<img") {
				continue
			}
			if at := nextSentence.FindString(leadIn.ReplaceAllString(line, "")); at != "" {
				t.Errorf("%s:%d: got two sentences in a line, at %q, want one", page, i+1, at)
			}
		}
	}
}

// blankLines returns as many newlines as text has, so that the lines after text keep their numbers.
func blankLines(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }

func TestPicturesAreSmall(t *testing.T) {
	for _, file := range append(glob(t, "../../docs/pictures/*"), glob(t, "../../docs/benchmarks/*.svg")...) {
		if stat, err := os.Stat(file); err != nil || stat.Size() > maxPicture {
			t.Errorf("%s: %d bytes, %v, want at most %d", file, stat.Size(), err, maxPicture)
		}
	}
}

// glob returns the files that match a pattern. It fails the test if there is no such file.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %d files, %v, want some", pattern, len(found), err)
	}
	return found
}
