package ship

import (
	"maps"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/tail"
)

// Stats is how a Shipper is doing. Sizes are in bytes.
type Stats struct {
	Usage          tail.Usage
	Budget         int64
	BudgetUsed     int64 // memory of the source files and of the spool
	QueueUsed      int
	QueueCapacity  int
	Reclaim        string       // mode in effect
	Stranger       *kernel.User // as of [tail.Stats]
	Lag            time.Duration
	LastCommit     time.Time
	Failures       int64  // of the destination
	LastFailure    string // the last one. Empty: it has been over for an hour, or there was none
	LastFailed     time.Time
	Failure        string          // what keeps lines from becoming durable now
	Dropping       string          // the reason for which lines are dropped now. Empty: none are
	Held           hindsight.Stats // what is held in hindsight; the zero value if nothing is
	Ignored        map[string]int
	Streams        []Stream
	Unpersisted    tail.Unpersisted // as it was at SeenAt
	SeenAt         time.Time        // zero: the source was not opened yet
	StreamsOmitted int              // beyond the bound on Streams
}

// Stream is one stream and its newest committed segment.
type Stream struct {
	tail.StreamStats
	Segment      string
	SegmentBytes int64
	Refused      string // why the destination does not take it, while it takes others
}

// Stats returns a copy that is at most about a second old.
func (s *Shipper) Stats() Stats {
	st := Stats{QueueUsed: s.link.queue.Bytes(), QueueCapacity: s.link.queue.Capacity(), Lag: s.link.lag(time.Now())}
	st.LastFailure, st.LastFailed = s.link.health.lastError(time.Now())
	if s.detail.held != nil {
		st.Held = s.detail.held.Stats()
	}
	if failure := s.link.health.current(); failure != nil {
		st.Failure = failure.Error()
	}
	s.link.health.mu.Lock()
	st.LastCommit, st.Failures = s.link.health.lastCommit, s.link.health.failures
	refused := s.link.health.refused
	marks := maps.Clone(s.link.health.marks)
	s.link.health.mu.Unlock()
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	st.Usage, st.Budget, st.BudgetUsed = s.view.usage, s.view.budget, s.view.used
	st.Reclaim, st.Ignored = s.view.source.Reclaim, s.view.source.Ignored
	st.Stranger = s.view.source.Stranger
	st.Dropping = s.view.dropping
	st.StreamsOmitted = s.view.source.Omitted
	st.Unpersisted, st.SeenAt = s.view.source.Unpersisted, s.view.source.At
	for _, stream := range s.view.source.Streams {
		mark := marks[stream.Name]
		if mark.Gone {
			mark = segment.Mark{} // it has none, or an older one
		}
		show := Stream{StreamStats: stream, Segment: mark.Segment, SegmentBytes: mark.Offset}
		if err := refused[stream.Name]; err != nil {
			show.Refused = err.Error()
		}
		st.Streams = append(st.Streams, show)
	}
	return st
}
