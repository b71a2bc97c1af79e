package report

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/ullage/ullage/internal/mark"
	"github.com/ullage/ullage/internal/printable"
)

const (
	argumentsTag = "arguments"
	maxFlags     = 1024 // bytes of the flags of a run
	maxCompared  = 20   // flags that differ
	comparedText = 40   // bytes of the name and of the value of each
	cutMark      = "…"  // at the end of flags that were longer
)

// arguments reads the command line that a JVM logs before anything else of its run, with
// -Xlog:arguments. JDK 25 does so, and JDK 17 does not. The zero value has read none.
type arguments struct {
	tag   *Share // of the lines with its tag; nil: there was none
	flags string // of the run that begins next
	given bool   // a run has begun
}

// line takes the message of a line with the tag arguments. What follows a line end inside an
// argument is in no line of its own.
func (a *arguments) line(message []byte) {
	if args, ok := bytes.CutPrefix(message, []byte("jvm_args: ")); ok {
		a.flags = printable.Escaped(mark.Flags(string(args)), maxFlags)
	}
}

// give gives what was read to the run that begins.
func (a *arguments) give(r *run) {
	if a.flags != "" {
		r.Flags = a.flags
	}
	a.flags, a.given = "", true
}

// start returns when the JVM of a run started, on an axis of dates, or 0: by its uptimes or,
// where it has none, by its first line. Another JVM may start a second later.
func (r *run) start() float64 {
	switch first := r.first; {
	case first.Wall.IsZero() || r.mixed:
		return 0
	case first.HasUptime:
		return axis(first.Wall.Add(-first.Uptime).UnixNano())
	case r.Started:
		return axis(first.Wall.UnixNano())
	}
	return 0
}

// meet reads a mark about a JVM, and completes the runs of this JVM: in each of its streams
// the one that started when the mark says, to two seconds. What the log has itself comes first.
func (s *sum) meet(k mark.Mark) {
	const near = 2 * time.Second
	up, err := time.ParseDuration(k.Get("uptime"))
	if err != nil {
		return
	}
	born, best := axis(k.Time.Add(-up).UnixNano()), map[string]*Run{}
	away := func(r *Run) float64 { return math.Abs(r.born - born) }
	streams := strings.Split(k.Get("stream"), ",")
	for i := range s.out.Runs {
		r := &s.out.Runs[i]
		if r.born == 0 || away(r) > near.Seconds() || !slices.Contains(streams, r.Stream) {
			continue
		}
		if other := best[r.Stream]; other == nil || away(r) < away(other) {
			best[r.Stream] = r
		}
	}
	for _, r := range best {
		fillIn(&r.Collector, k.Get("collector"))
		fillIn(&r.Version, k.Get("version"))
		fillIn(&r.Flags, k.Get("flags"))
	}
}

// fillIn sets what is empty.
func fillIn(text *string, value string) {
	if *text == "" {
		*text = value
	}
}

// flags writes the flags of each run, once for runs that follow each other and have the same.
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
		fmt.Fprintf(p, "%s, %s: %s\n", printable.Text(r.Stream, 40), name, printable.Text(r.Flags, maxFlags))
	}
}

// flags lists the flags of a run.
func (r *Run) flags() g.Node {
	if r.Flags == "" {
		return nil
	}
	return h.Details(h.Summary(g.Text("flags")), h.Ul(g.Map(strings.Fields(r.Flags), func(f string) g.Node { return h.Li(g.Text(f)) })))
}

// flagSet is the value of each flag of a report's runs, by its name.
type flagSet struct {
	values map[string]string
	cut    bool // there are more
}

// flagSet returns the flags of all runs whose flags are known. One with several values has
// that word as its value.
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

// add adds the flags of a text. As for a JVM, the last of a name counts.
func (s *flagSet) add(text string) {
	text, s.cut = strings.CutSuffix(text, cutMark)
	all := strings.Fields(text)
	if s.cut && len(all) > 0 {
		all = all[:len(all)-1] // its value may go on
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

// compareFlags returns a row for each flag that differs, if both reports know theirs.
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
		rows = append(rows, []string{plural(more, "further flag"), none, none, "changed"})
	}
	return rows
}
