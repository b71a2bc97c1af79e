package sidecar

import (
	"slices"
	"sync"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/ul"
)

// recent keeps the last events for people who look at the sidecar. Its methods may be
// called concurrently. The zero value has none.
type recent struct {
	mu     sync.Mutex
	pauses []admin.Pause // the oldest first
	gaps   []admin.Gap
}

// gap notes a gap. The writer may hand over a gap again after a failure, and appends
// the gaps of a stream in their order.
func (r *recent) gap(stream string, g ul.Gap) {
	one := admin.Gap{Stream: stream, First: g.First, Last: g.Last, Lines: int64(g.Total()), Bytes: int64(g.Bytes), ByLevel: map[string]int64{}}
	for _, levels := range g.Lines {
		for level, n := range levels {
			if n > 0 {
				one.ByLevel[ul.Level(level).String()] += int64(n)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	same := func(o admin.Gap) bool {
		return o.Stream == stream && o.First.Equal(one.First) && o.Last.Equal(one.Last) && o.Bytes == one.Bytes
	}
	if !slices.ContainsFunc(r.gaps, same) {
		r.gaps = push(r.gaps, one, admin.MaxGaps)
	}
}

// answer returns a copy, for /recent.
func (r *recent) answer() admin.Recent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return admin.Recent{Pauses: append([]admin.Pause{}, r.pauses...), Gaps: append([]admin.Gap{}, r.gaps...)}
}

// push appends an event, and drops the oldest where there are more than most.
func push[T any](events []T, one T, most int) []T {
	if len(events) >= most {
		events = slices.Delete(events, 0, len(events)-most+1)
	}
	return append(events, one)
}
