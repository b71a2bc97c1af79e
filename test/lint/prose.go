package main

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
)

// A phrase is a pattern of words at which a native reader stops, and what to write instead. Most of these phrases are
// grammatical, and no pattern knows what a word means: even where a match is the right word, use another one, so that
// the number of matches can be zero.
type phrase struct {
	name    string
	pattern *regexp.Regexp
	instead string
	excuse  func(before, after string) bool // nil: no excuse
}

var phrases = []phrase{
	{"behind", words(`behind`), "after, past", leftBehind},
	{"beside", words(`beside`), "as well as, alongside, next to", nil},
	{"is-none", words(`(?:is|are|was|were) none`), "isn't one, without", thereIsNone},
	{"from-on", regexp.MustCompile(`(?i)\bfrom (?:[\w.*=-]+ ){1,3}on(?:[,.;:)]|$)`), "X or later, at X and above", afterNow},
	{"stands", words(`stands?|stood`), "is in, precedes, is left", standsStill},
	{"counts", regexp.MustCompile(`(?i)\b(?:what|which|that|one|number|newest|higher|latest|record|slot|seq) counts?(?:[.,;:)]| only\b| \||$)`), "wins, is valid, is used", nil},
	{"somebody", words(`somebody|nobody|anybody|whoever`), "the passive voice, or the name of who acts", nil},
	{"give-back", regexp.MustCompile(`(?i)\b(?:gives?|giving|given|gave)(?: [^\s.;:]+){0,5} back\b`), "free, reclaim, return", nil},
	{"phrase", words(`not concerned|for ever|in the order of time|as far as|tried`), "unaffected, permanently, chronologically, if, tested", triedAgain},
	{"pronoun", words(`those that|the one that|what it has|who asks`), "a noun", nil},
	{"comma-and", regexp.MustCompile(`, and [a-z]+s (?:the|an?|it|its|them|each|no|what)\b`), "no comma before and with the same subject", inAList},
}

func words(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`)
}

// afterNow excuses "from then on" and "from now on", which are English.
func afterNow(_, match string) bool {
	return strings.HasPrefix(strings.ToLower(match), "from then ") || strings.HasPrefix(strings.ToLower(match), "from now ")
}

var (
	leaves = regexp.MustCompile(`(?i)\b(?:leaves?|leaving|left|falls?|fallen|fell|far|lags?)(?: \S+){0,3} $`)
	stands = regexp.MustCompile(`(?i)^\w+ (?:still|for|alone|out|by)\b`)
)

// leftBehind excuses things that are left behind, and those that fall or are far behind.
func leftBehind(before, _ string) bool { return leaves.MatchString(before) }

// thereIsNone excuses "there is none" and "is none of".
func thereIsNone(before, match string) bool {
	return strings.HasSuffix(strings.ToLower(before), "there ") || strings.Contains(match, "none of")
}

// standsStill excuses something that stands still, for something or alone, and things as they stand.
func standsStill(before, match string) bool {
	return stands.MatchString(match) || strings.HasSuffix(before, "as it ") || strings.HasSuffix(before, "as they ")
}

// triedAgain excuses "tried again", which is about a retry and not about a test.
func triedAgain(_, match string) bool {
	return strings.HasPrefix(strings.ToLower(match), "tried again")
}

// inAList excuses the comma before the last of three items, where it is right.
func inAList(before, _ string) bool {
	clause := before[strings.LastIndexAny(before, ".;:|(")+1:]
	return strings.Contains(clause, ",")
}

// found returns the places of the phrase in a text.
func (p phrase) found(text string) (places []int) {
	for _, at := range p.pattern.FindAllStringIndex(text, -1) {
		if p.excuse == nil || !p.excuse(text[:at[0]], text[at[0]:min(len(text), at[1]+8)]) {
			places = append(places, at[0])
		}
	}
	return places
}

// prose records where phrases were found.
type prose struct {
	places map[string][]string // by kind of text and name of the phrase, as in "comment behind"
}

func (p *prose) find(kind, place, text string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, ph := range phrases {
		for _, at := range ph.found(text) {
			key := kind + " " + ph.name
			p.places[key] = append(p.places[key], fmt.Sprintf("%s: …%s… (instead: %s)", place, text[max(0, at-30):min(len(text), at+50)], ph.instead))
		}
	}
}

// readProse finds phrases in the documents below root and in the Go files of its directories.
func readProse(root string, dirs []string) (*prose, error) {
	p := &prose{places: map[string][]string{}}
	for _, dir := range dirs {
		if err := filepath.WalkDir(filepath.Join(root, dir), p.goFile); err != nil {
			return nil, err
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"charts", "docs", "java", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.Name() == "benchmarks" { // made from the texts of programs, as they were at the recorded run
				return filepath.SkipDir
			}
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		p.page(page, string(text))
	}
	return p, nil
}

var (
	codeSpan   = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
)

// page finds the phrases of a document, but not in its code and links.
func (p *prose) page(path, text string) {
	inCode := false
	for n, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inCode = !inCode
		} else if !inCode {
			line = linkTarget.ReplaceAllString(codeSpan.ReplaceAllString(line, "`x`"), "]")
			p.find("document", fmt.Sprintf("%s:%d", path, n+1), line)
		}
	}
}

// goFile is a [fs.WalkDirFunc].
func (p *prose) goFile(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() && (d.Name() == "testdata" || filepath.ToSlash(path) == "test/lint") { // test/lint names the phrases
		return filepath.SkipDir
	}
	if d.IsDir() || !strings.HasSuffix(path, ".go") {
		return nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		p.find("comment", set.Position(group.Pos()).String(), group.Text())
	}
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
				p.find("text", set.Position(lit.Pos()).String(), text)
			}
		}
		return true
	})
	return nil
}

// all returns every place.
func (p *prose) all() (lines []string) {
	for key, places := range p.places {
		for _, place := range places {
			lines = append(lines, key+": "+place)
		}
	}
	slices.Sort(lines)
	return lines
}
