package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/base/printable"
)

const (
	maxCompared  = 20  // number of flags that differ
	comparedText = 40  // bytes of the name and of the value of each flag
	cutMark      = "…" // at the end of flags that were cut
)

// flags writes the flags of each run. Consecutive runs with the same flags share one entry.
func (p *printer) flags() {
	all, first := p.r.Runs, true
	for i := 0; i < len(all); {
		from, r := i, &all[i]
		for i < len(all) && all[i].Flags == r.Flags && all[i].Stream == r.Stream {
			i++
		}
		if r.Flags == "" {
			continue
		}
		if first {
			p.heading("Flags of JVMs")
			first = false
		}
		name := fmt.Sprintf("run %d", r.Number)
		if i > from+1 {
			name = fmt.Sprintf("runs %d to %d", r.Number, all[i-1].Number)
		}
		fmt.Fprintf(p, "%s, %s: %s\n", printable.Text(r.Stream, 40), name, printable.Text(r.Flags, MaxFlags))
	}
}

// flags lists the flags of a run.
func (r *Run) flags() g.Node {
	if r.Flags == "" {
		return nil
	}
	return h.Details(h.Summary(g.Text("flags")), h.Ul(g.Map(strings.Fields(r.Flags), func(f string) g.Node { return h.Li(g.Text(f)) })))
}

// flagSet maps the name of each flag of a report's runs to its value.
type flagSet struct {
	values map[string]string
	cut    bool // there are more flags
}

// flagSet returns the flags of all runs whose flags are known. The value of a flag with
// several values is the word "several".
func (r *Report) flagSet() flagSet {
	set, runs := flagSet{values: map[string]string{}}, 0
	seen := map[string]int{}
	for i := range r.Runs {
		if r.Runs[i].Flags == "" {
			continue
		}
		runs++
		one := flagSet{values: map[string]string{}}
		one.add(r.Runs[i].Flags)
		set.cut = set.cut || one.cut
		for name, value := range one.values {
			if seen[name]++; seen[name] > 1 && set.values[name] != value {
				value = "several"
			}
			set.values[name] = value
		}
	}
	for name, n := range seen {
		if n < runs {
			set.values[name] = "several"
		}
	}
	return set
}

// add adds the flags of a text. As in a JVM, the last flag with a name wins.
func (s *flagSet) add(text string) {
	text, s.cut = strings.CutSuffix(text, cutMark)
	all := strings.Fields(text)
	if s.cut && len(all) > 0 {
		all = all[:len(all)-1] // the value of the last flag may have been cut
	}
	for _, flag := range all {
		name, value := splitFlag(flag)
		s.values[name] = value
	}
}

// splitFlag splits "-Xmx2g", "-XX:Name=value", "-XX:+Name" and "-Xshare:auto" into name and value.
func splitFlag(flag string) (name, value string) {
	switch rest, xx := strings.CutPrefix(flag, "-XX:"); {
	case xx && strings.HasPrefix(rest, "+"):
		return "-XX:" + rest[1:], "on"
	case xx && strings.HasPrefix(rest, "-"):
		return "-XX:" + rest[1:], "off"
	case xx:
		name, value, _ = strings.Cut(flag, "=")
		return name, value
	case len(flag) > 4 && slices.Contains([]string{"-Xms", "-Xmx", "-Xmn", "-Xss"}, flag[:4]):
		return flag[:4], flag[4:]
	}
	name, value, _ = strings.Cut(flag, ":")
	return name, value
}

// compareFlags returns a row for each flag that differs, provided that the flags of both
// reports are known.
func compareFlags(a, b *Report) (rows [][]string) {
	x, y := a.flagSet(), b.flagSet()
	if len(x.values) == 0 || len(y.values) == 0 {
		return nil
	}
	names := maps.Clone(x.values)
	maps.Copy(names, y.values)
	more := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, inA := x.values[name]
		after, inB := y.values[name]
		change := "changed"
		switch {
		case inA && inB && before == after, !inA && x.cut, !inB && y.cut:
			continue
		case !inA:
			before, change = none, "added"
		case !inB:
			after, change = none, "removed"
		}
		if len(rows) == maxCompared {
			more++
			continue
		}
		rows = append(rows, []string{printable.Text(name, comparedText), printable.Text(before, comparedText), printable.Text(after, comparedText), change})
	}
	if more > 0 {
		rows = append(rows, []string{Plural(more, "further flag"), none, none, "changed"})
	}
	return rows
}
