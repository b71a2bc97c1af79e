package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits. Members of an embedded type count as the type's own if this project declares the embedded type. A
// method belongs to its type in all files of a package.
const (
	maxLines    = 100 // of a function
	maxFields   = 20  // of a struct, embedded ones included
	maxMethods  = 30
	maxExported = 20 // methods
	maxUp       = 15 // arrows between the files of a package that run back up
)

// exceptionsFile names what is still over a limit, one a line:
//
//	internal/x.T fields 23
//	internal/x up 20
//
// Each number is the current one. A higher number fails. A lower number fails too until it is in the file, so that
// the numbers can only fall. The lines are sorted.
//
//go:embed exceptions.txt
var exceptionsFile string

// measure is one number that has a limit.
type measure struct {
	of      string // "internal/x.T", or "internal/x"
	what    string // a word of exceptionsFile
	is      int
	limit   int
	meaning string   // the number's unit, for a sentence
	details []string // what the number consists of
}

func (m measure) key() string { return m.of + " " + m.what }

// measures returns the numbers of a type.
func (s size) measures(name string) []measure {
	return []measure{
		{of: name, what: "fields", is: s.fields, limit: maxFields, meaning: "fields"},
		{of: name, what: "methods", is: s.methods, limit: maxMethods, meaning: "methods"},
		{of: name, what: "exported", is: s.exported, limit: maxExported, meaning: "exported methods"},
	}
}

// measure returns the number of a package's arrows that run back up.
func (a arrows) measure(dir string) measure {
	up := a.up(a.order())
	return measure{
		of: dir, what: "up", is: len(up), limit: maxUp,
		meaning: "arrows between its files that run back up", details: up,
	}
}

// exceptions reads the numbers of exceptionsFile, by [measure.key].
func exceptions(text string) (map[string]int, error) {
	known := map[string]int{}
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		var of, what string
		var is int
		if n, err := fmt.Sscanf(line, "%s %s %d", &of, &what, &is); n != 3 {
			return nil, fmt.Errorf("exceptions.txt: %q: %w", line, err)
		}
		key := of + " " + what
		if _, twice := known[key]; twice || line < before {
			return nil, fmt.Errorf("exceptions.txt: %q is not sorted, or there twice", line)
		}
		known[key], before = is, line
	}
	return known, nil
}

// judge reports each number that is over its limit without an exception, and each exception that is out of date.
func judge(measures []measure, excepted map[string]int) (problems []string) {
	unused := maps.Clone(excepted)
	slices.SortStableFunc(measures, func(a, b measure) int { return cmp.Compare(a.of, b.of) })
	for _, m := range measures {
		allowed, except := excepted[m.key()]
		delete(unused, m.key())
		switch {
		case except && m.is <= m.limit:
			problems = append(problems, fmt.Sprintf("%s has %d %s, within the limit: delete %q from test/lint/exceptions.txt", m.of, m.is, m.meaning, fmt.Sprint(m.key(), " ", allowed)))
		case except && m.is < allowed:
			problems = append(problems, fmt.Sprintf("%s has %d %s, fewer than test/lint/exceptions.txt says: write %q there", m.of, m.is, m.meaning, fmt.Sprint(m.key(), " ", m.is)))
		case m.is > max(m.limit, allowed):
			problems = append(problems, fmt.Sprintf("%s has %d %s, at most %d are allowed", m.of, m.is, m.meaning, max(m.limit, allowed)))
			for _, d := range m.details {
				problems = append(problems, "\t"+d)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unused)) {
		problems = append(problems, fmt.Sprintf("%q in test/lint/exceptions.txt names nothing that exists: delete it", fmt.Sprint(key, " ", unused[key])))
	}
	return problems
}
