package main

import (
	"fmt"
	"math"
	"strings"
)

// results has, by the name of an experiment, the function that answers its question from its rows. For other
// experiments, the answer is the spread of the plotted column. If an old record lacks a figure, the answer is
// shorter.
var results = map[string]func(*experiment) string{
	"frozen":    (*experiment).frozenResult,
	"hello":     (*experiment).helloResult,
	"stopped":   (*experiment).stoppedResult,
	"saturated": (*experiment).stoppedResult,
	"long":      (*experiment).stoppedResult,
	"traced":    (*experiment).tracedResult,
	"million":   (*experiment).millionResult,
	"lines":     growthResult("line a second"),
	"files":     growthResult("file"),
	"length":    (*experiment).lengthResult,
	"jvms":      growthResult("JVM"),
	"soak":      (*experiment).soakResult,
	"injector":  (*experiment).injectorResult,
	"report":    (*experiment).reportResult,
	"tried":     (*experiment).triedResult,
	"hindsight": (*experiment).hindsightResult,
}

// value returns the median of a column of a contestant, or 0 if there is no value.
func (e *experiment) value(contestant, key string) float64 {
	v, _, _, _ := e.find(contestant).of(key)
	return v
}

// find returns the row of a contestant, or an empty row.
func (e *experiment) find(contestant string) *row {
	for _, r := range e.Rows {
		if r.Contestant == contestant {
			return r
		}
	}
	return &row{}
}

// extent renders the range of the medians of a column.
func (e *experiment) extent(key string) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, r := range e.Rows {
		if v, _, _, ok := r.of(key); ok {
			least, most = min(least, v), max(most, v)
		}
	}
	return figure(least) + " to " + figure(most)
}

func (e *experiment) frozenResult() string {
	parts := []string{e.spread()}
	var crashed []string
	for _, r := range e.Rows {
		if _, _, most, _ := r.of("crashed"); most > 0 {
			crashed = append(crashed, r.Contestant)
		}
	}
	if crashed != nil {
		parts = append(parts, "Exited without a signal and was not restarted: "+strings.Join(crashed, "; ")+".")
	}
	if v := e.value("ullage, zstd", "spooled"); v > 0 {
		parts = append(parts, fmt.Sprintf("At the end of the freeze, a byte of the spool of `ullage` held %s bytes of lines.", figure(v)))
	}
	return strings.Join(append(parts, "Peak memory is "+e.extent("peak")+" MiB."), " ")
}

// helloResult describes the cost of each place for each way to log.
func (e *experiment) helloResult() string {
	var parts, drops []string
	for _, r := range e.Rows {
		if group, ok := strings.CutSuffix(r.Contestant, ", "+places[0]); ok {
			walls := make([]string, len(places))
			for i, place := range places {
				walls[i] = figure(e.value(group+", "+place, "wall"))
			}
			parts = append(parts, group+": "+strings.Join(walls, " / ")+" s")
		}
		if _, _, most, _ := r.of("dropped"); most > 0 {
			drops = append(drops, fmt.Sprintf("%s (%s)", r.Contestant, figure(most)))
		}
	}
	dropped := "HotSpot dropped no line."
	if drops != nil {
		dropped = "HotSpot dropped lines in: " + strings.Join(drops, "; ") + "."
	}
	return "Wall time with the log on the disk / on tmpfs / on tmpfs with `ullage`: " + strings.Join(parts, "; ") + ". " + dropped
}

// stoppedResult compares, for each group of rows, the longest hiccups with the longest hiccup
// without a log.
func (e *experiment) stoppedResult() string {
	var parts []string
	for _, group := range (&record{Experiments: []*experiment{e}}).groups(e.Name) {
		off := e.value(group+": "+loggings[0].name, "longest")
		times := func(name string) string {
			v := e.value(group+": "+name, "longest")
			return fmt.Sprintf("%s ms (%s times)", figure(v), figure(v/max(off, 1e-3)))
		}
		waited := false
		for _, r := range e.Rows {
			v, _, _, _ := r.of("longest")
			waited = waited || strings.HasPrefix(r.Contestant, group+": ") && v > 2*off
		}
		text := fmt.Sprintf("%s: the longest hiccup is %s ms with logging off, %s with the log on the disk, and %s with `ullage`", group, figure(off), times("log on the disk"), times(shippedLogging))
		if !waited {
			text += ". No row of this group has more than twice that without a log: here the disk did not stop the application"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ". ") + "."
}

// tracedResult says how many writes waited, and how many of these inside a pause.
func (e *experiment) tracedResult() string {
	var parts []string
	for _, r := range e.Rows {
		v := func(key string) string { return figure(e.value(r.Contestant, key)) }
		parts = append(parts, fmt.Sprintf("%s: %s stalls, %s of them in a pause (the longest write takes %s ms)", r.Contestant, v("stalls"), v("proven"), v("longest")))
	}
	return strings.Join(parts, "; ") + "."
}

func (e *experiment) millionResult() string {
	ring := e.find(millionRing)
	of := func(key string) string { v, _, _, _ := ring.of(key); return figure(v) }
	text := fmt.Sprintf("The ring took %s events/s and lost %s. A call took %s µs at p99.99, and %s ms at the longest; a direct call into the ring waits for no disk and no sidecar, only for a core.",
		of("ops"), of("lost"), of("p9999"), of("longest"))
	for _, r := range e.Rows {
		if _, flood, ok := strings.Cut(r.Contestant, "; a flood, "); ok {
			lost, _, _, _ := r.of("lost")
			written, _, _, _ := r.of("written")
			text += fmt.Sprintf(" In the flood (%s) it refused %.0f %%.", flood, 100*lost/max(1, written))
		}
	}
	return text
}

// growthResult returns a function that describes the cost of one more unit of the quantity that
// grows.
func growthResult(unit string) func(*experiment) string {
	return func(e *experiment) string {
		if len(e.Rows) < 2 {
			return ""
		}
		first, last := e.Rows[0].Contestant, e.Rows[len(e.Rows)-1].Contestant
		by := numberIn(last) - numberIn(first)
		return fmt.Sprintf("From %s to %s, an additional %s costs %s of a core and %s of memory. %s", first, last, unit,
			amount(e.slope("cpu", by)/100, "s", 1e3, "ms", "µs", "ns"), amount(e.slope("rss", by), "MiB", 1024, "KiB", "bytes"), e.spread())
	}
}

// numberIn returns the digits in a name as one number.
func numberIn(name string) (n float64) {
	for _, c := range name {
		if c >= '0' && c <= '9' {
			n = 10*n + float64(c-'0')
		}
	}
	return n
}

func (e *experiment) lengthResult() string {
	if len(e.Rows) < 2 {
		return ""
	}
	first, last := e.Rows[0], e.Rows[len(e.Rows)-1]
	short, _, _, _ := first.of("cpu")
	long, _, _, _ := last.of("cpu")
	verdict := "No"
	if long > short {
		verdict = "Yes"
	}
	return fmt.Sprintf("%s: in lines of %s the same bytes cost %s %% of a core, and in lines of %s %s %%. %s Resident memory is %s MiB, over all lengths.",
		verdict, first.Contestant, figure(short), last.Contestant, figure(long), e.spread(), e.extent("rss"))
}
