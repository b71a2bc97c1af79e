package sidecar

import (
	"slices"
	"sync"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/line/ul"
)

// recent keeps the last gaps, to show them to people. Its methods may be called concurrently.
// The zero value has no gaps.
type recent struct {
	mu   sync.Mutex
	gaps []admin.Gap // the oldest first
}

// gap records a gap. The writer passes the gaps of a stream in their order, but may pass a gap
// again after a failure.
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
	if slices.ContainsFunc(r.gaps, same) {
		return
	}
	if len(r.gaps) == admin.MaxGaps {
		r.gaps = slices.Delete(r.gaps, 0, 1)
	}
	r.gaps = append(r.gaps, one)
}

// answer returns the last events, for /recent. If jvms is nil, no pauses are seen: their list is null.
func (r *recent) answer(jvms *insight.Insight) admin.Recent {
	var events admin.Recent
	if jvms != nil {
		events.Pauses = pausesOf(jvms.Recent())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	events.Gaps = append([]admin.Gap{}, r.gaps...)
	return events
}
