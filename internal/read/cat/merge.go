package cat

import (
	"bytes"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/ullage/ullage/internal/line/ul"
)

// maxOpen is how many series are open at a time. openBytes is how much they hold in memory in
// all, unless a single series holds more. A sidecar's frames, which have at most 1 MiB, stay
// within that limit and usually take a third of it; other frames may take ten times as much.
// Beyond these limits, the series whose turn is last are parked. A parked series keeps some of
// the bytes that it has read, so that a frame need not be read again for each of its lines. All
// series together keep at most keepAll bytes.
const (
	maxOpen   = 16
	openBytes = maxOpen * 3 << 20
	keepAll   = 16 << 20
)

// turn says when the next line of a series is printed.
type turn struct {
	key   int64 // microseconds since the epoch; the lowest possible value if the time is unknown
	order int   // the position among all series
	idle  bool  // there is no line for now
}

// merging is a heap of series. The first is the series whose next line is the earliest; if
// several have the same time, it is the series that was found first.
type merging []*series

func (m merging) Len() int           { return len(m) }
func (m merging) Less(i, j int) bool { return m[i].before(m[j]) }
func (m merging) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merging) Push(s any)        { *m = append(*m, s.(*series)) }
func (m *merging) Pop() any {
	last := len(*m) - 1
	s := (*m)[last]
	*m = (*m)[:last]
	return s
}

// second returns the series whose turn comes after the first one, or nil.
func (m merging) second() *series {
	switch {
	case len(m) < 2:
		return nil
	case len(m) > 2 && m.Less(2, 1):
		return m[2]
	}
	return m[1]
}

// merge prints the lines of several series chronologically. The lines of a series stay in
// their order, whatever their times. Series without times come first.
func (p *Printer) merge(ctx context.Context, all []*series) error {
	var m merging
	p.keep = p.keepAll / max(1, len(all))
	for i, s := range all {
		s.order = i
		more, err := s.next(ctx)
		if err != nil {
			return err
		}
		if more {
			m = append(m, s)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		more, err := m[0].printUntil(ctx, m.second())
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return nil
}

// printUntil prints lines of the series until it is the other series' turn. It returns false if
// the series has no more lines for now.
func (s *series) printUntil(ctx context.Context, other *series) (more bool, err error) {
	for {
		if err := s.emit(); err != nil {
			return false, err
		}
		more, err := s.next(ctx)
		if err != nil || !more {
			return false, err
		}
		if s.cur.First && s.pick.line.Kind != ul.Continuation && other != nil && other.before(s) {
			return true, nil
		}
	}
}

// before reports whether s comes before o.
func (s *series) before(o *series) bool {
	return s.key < o.key || s.key == o.key && s.order < o.order
}

// setKey sets the turn of the series from its next line.
func (s *series) setKey() {
	s.key = math.MinInt64
	if at := s.pick.line.Time; !at.IsZero() {
		s.key = at.UnixMicro()
	}
}

// makeRoom adds s, which is about to read or has just read, to the open series. It parks
// others until neither their number nor their memory exceeds the limit.
func (p *Printer) makeRoom(s *series) {
	if !slices.Contains(p.open, s) {
		p.open = append(p.open, s)
	}
	for len(p.open) > maxOpen || len(p.open) > 1 && held(p.open) > openBytes {
		last := -1
		for i, o := range p.open {
			if o != s && (last < 0 || o.idle || !p.open[last].idle && p.open[last].before(o)) {
				last = i
			}
		}
		p.open[last].park()
		p.open = slices.Delete(p.open, last, last+1)
	}
}

// held returns how many bytes the open series hold in memory.
func held(open []*series) (n int) {
	for _, s := range open {
		n += s.source.Held()
	}
	return n
}

// park frees the memory of the frame that the series has read, but keeps part of the rest of
// the frame.
func (s *series) park() {
	// A slices.Clone of zero bytes would keep the frame in memory.
	s.cur.Text = bytes.Clone(s.cur.Text)
	s.source.Park(s.p.keep)
}
