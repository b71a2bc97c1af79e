package report

import (
	"fmt"
	"slices"

	"github.com/ullage/ullage/internal/pause"
	"github.com/ullage/ullage/internal/printable"
)

const (
	maxSuspected = 20  // stops
	recentLines  = 512 // that are kept: a stop may be reported long after its lines
	around       = 2   // lines before and after those of a stop
)

// suspicions says what the name of a suspicion means.
var suspicions = map[string]string{
	pause.Idle.String():      "for at least half of the pause no thread was on a CPU, as with a disk, swapping or a CPU quota",
	pause.Uneven.String():    "one thread may have worked alone",
	pause.Operation.String(): "the operation itself may have been long",
	pause.Outside.String():   "the safepoint went on long before or after its pauses, as when a write of the log waits for a disk",
	pause.Reaching.String():  "the threads were long in coming to a stop",
}

// recent holds the last lines of a stream, and the stops that lack lines behind them. The
// zero value has none.
type recent struct {
	lines [recentLines]keptLine // by their number
	open  []following
}

// following is a stop and the number of its last line.
type following struct {
	to   *Stop
	last uint64
}

// add takes the next line.
func (r *recent) add(number uint64, line []byte) {
	k := &r.lines[number%recentLines]
	k.number = number
	k.text = append(k.text[:0], line[:min(len(line), keptBytes)]...)
	if len(r.open) > 0 {
		r.open = slices.DeleteFunc(r.open, func(f following) bool {
			if number > f.last {
				f.to.After = append(f.to.After, string(k.text))
			}
			return len(f.to.After) >= around
		})
	}
}

// between returns the lines with numbers from one to another, both included, that are
// still kept.
func (r *recent) between(from, to uint64) (texts []string) {
	for n := max(from, 1); n <= to; n++ {
		if k := &r.lines[n%recentLines]; k.number == n {
			texts = append(texts, string(k.text))
		}
	}
	return texts
}

// suspect offers a stop to the list of the longest that are suspected.
func (st *stream) suspect(p *pause.Stop, why cause, start pause.Clock, suspicion pause.Suspicion) {
	out := &st.sum.out
	out.Totals.suspects++
	i := slices.IndexFunc(out.Suspected, func(s *Stop) bool { return s.length < p.Duration })
	if i < 0 {
		i = len(out.Suspected)
	}
	if i >= maxSuspected {
		return
	}
	to := &Stop{length: p.Duration, Duration: seconds(p.Duration)}
	last := st.tell(to, p, why, start, suspicion)
	first := p.Lines[0]
	to.Before = st.recent.between(first-min(first, around), first-1)
	to.After = st.recent.between(last+1, min(last+around, st.out.Lines))
	if len(to.After) < around {
		st.recent.open = append(st.recent.open, following{to, max(last, st.out.Lines)})
	}
	out.Suspected = slices.Insert(out.Suspected, i, to)
	out.Suspected = out.Suspected[:min(len(out.Suspected), maxSuspected)]
}

// suspected writes each suspected stop between the lines around it. Its own have a mark.
func (p *printer) suspected() {
	r := p.r
	if len(r.Suspected) == 0 {
		return
	}
	p.heading("Suspected stalls, from " + Duration(r.Floor) + " on, and the lines around them")
	for i, s := range r.Suspected {
		at := none
		if s.At != nil {
			at = r.When(*s.At)
		}
		fmt.Fprintf(p, "%2d. %s  at %s  %s\n", i+1, p.paint("1", Duration(s.Duration)), at, printable.Text(s.Cause, 100))
		fmt.Fprintf(p, "    %s\n", p.paint("33", s.suspected()))
		for _, part := range []struct {
			mark  string
			lines []string
		}{{" ", s.Before}, {">", s.Lines}, {" ", s.After}} {
			for _, line := range part.lines {
				fmt.Fprintf(p, "  %s %s\n", part.mark, printable.Text(line, keptBytes))
			}
		}
	}
	if more := r.Totals.suspects - uint64(len(r.Suspected)); more > 0 {
		fmt.Fprintf(p, "    and %s\n", plural(more, "shorter one"))
	}
}

// suspected says what is suspected.
func (s *Stop) suspected() string {
	if meaning := suspicions[s.Suspicion]; meaning != "" {
		return "suspected: " + s.Suspicion + ": " + meaning
	}
	return "suspected: " + s.Suspicion
}
