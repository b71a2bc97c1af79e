package ship

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/tail"
)

// view is what the reader shows of the source to others. It copies; nobody
// else touches the source.
type view struct {
	mu        sync.Mutex
	sourceErr error
	restored  bool // the destination has confirmed the checkpoint, or the reader began again
	claims    bool // see [tail.Start.Claims]
	budget    int64
	dropping  string
	usage     tail.Usage
	used      int64 // of the budget
	source    tail.Stats

	turn chan struct{} // closed once no other sidecar owns the source
	once sync.Once
}

// myTurn notes that no other sidecar owns the source.
func (v *view) myTurn() { v.once.Do(func() { close(v.turn) }) }

func (v *view) setSource(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sourceErr = err
}

func (v *view) setBudget(bytes int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.budget = bytes
}

func (v *view) setDropping(reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dropping = reason
}

func (v *view) setRestored() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.restored = true
}

func (v *view) isRestored() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.restored
}

func (v *view) update(src *tail.Source) {
	usage, used, source, claims := src.Relief.Usage(), src.Relief.Memory(), src.Stats(), src.Start.Claims()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.usage, v.used, v.source, v.claims = usage, used, source, claims
}

// unconfirmed reports whether lines of the source are durable only by what the checkpoint
// claims, since the destination has not confirmed it.
func (v *view) unconfirmed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.restored && v.claims
}

// sawGone reports whether the reader has seen that a refused stream has no files any more.
// False also means that the reader has yet to look, or to learn of the refusal: the view is
// up to a second old.
func (v *view) sawGone(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, gone := v.source.Gone[name]
	return gone
}

var errNotRestored = errors.New("finding where the last run ended")

func (v *view) notReady() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.sourceErr != nil:
		return v.sourceErr
	case !v.restored:
		return errNotRestored
	}
	return nil
}

// unreadable says what of the source could not be read at all, or nil.
func (v *view) unreadable() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if errors.Is(v.sourceErr, statedir.ErrOwned) {
		return nil // its owner ships it
	}
	if v.sourceErr != nil && !errors.Is(v.sourceErr, fs.ErrNotExist) {
		return fmt.Errorf("nothing was read: %w", v.sourceErr)
	}
	for _, reason := range []string{tail.IgnoredPermission, tail.IgnoredTooMany, tail.IgnoredError} {
		if n := v.source.Ignored[reason]; n > 0 {
			return fmt.Errorf("%d files of the source were not read (%s)", n, reason)
		}
	}
	return nil
}

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
	st.LastFailure, st.LastFailed = s.link.lastError(time.Now())
	st.Failures = s.link.errors()
	if s.link.held != nil {
		st.Held = s.link.held.Stats()
	}
	if failure := s.link.current(); failure != nil {
		st.Failure = failure.Error()
	}
	s.link.mu.Lock()
	st.LastCommit = s.link.lastCommit
	refused := s.link.refused
	marks := maps.Clone(s.link.marks)
	s.link.mu.Unlock()
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
