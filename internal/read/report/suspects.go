package report

import (
	"slices"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	maxSuspected = 20  // stops
	recentLines  = 512 // that are kept: a stop may be reported long after its lines
	around       = 2   // lines before and after those of a stop
)

// recent holds the last lines of a stream, and the stops that lack lines behind them. The
// zero value has none.
type recent struct {
	lines [recentLines]keptLine // by their number
	open  []following
}

// following is a stop and the number of its last line.
type following struct {
	to   *view.Stop
	last uint64
}

// add takes the next line.
func (r *recent) add(number uint64, line []byte) {
	k := &r.lines[number%recentLines]
	k.number = number
	k.text = append(k.text[:0], line[:min(len(line), view.KeptBytes)]...)
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
	out.Totals.Suspected++
	if suspicion == pause.Idle || suspicion == pause.Outside {
		st.sum.waited++
	}
	i := slices.IndexFunc(out.Suspected, func(s *view.Stop) bool { return s.Length < p.Duration })
	if i < 0 {
		i = len(out.Suspected)
	}
	if i >= maxSuspected {
		return
	}
	to := &view.Stop{Length: p.Duration, Duration: seconds(p.Duration)}
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
