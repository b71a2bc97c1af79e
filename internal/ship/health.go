package ship

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/segment"
)

// health is the state that the writer shows to others: whether the destination and the checkpoint
// take lines, and how far they are.
type health struct {
	mu         sync.Mutex
	lastCommit time.Time
	marks      map[string]segment.Mark // committed
	refused    map[string]error        // streams, and why; never changed in place

	failure     error     // why lines are not taken now
	waiting     time.Time // when the oldest line that waits for the end of the failure was read
	failures    int64
	lastFailure string
	lastFailed  time.Time
	maintenance string // last error of maintaining the segments
}

// setFailure notes why lines are not taken, or nil when they are taken again, and
// since when the oldest line waits. It reports whether that is news.
func (h *health) setFailure(err error, oldest time.Time) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news = (err == nil) != (h.failure == nil) || err != nil && errorKind(err) != errorKind(h.failure)
	if err == nil || h.failure == nil {
		h.waiting = oldest
	}
	if err == nil && h.failure != nil {
		h.lastFailed = time.Now() // the failure has lasted until now
	}
	h.failure = err
	if err != nil {
		h.noteError(err)
	}
	return news
}

// failed notes an error of the destination, as setFailure does, and logs it if it is news.
func (h *health) failed(err error, oldest time.Time, log *slog.Logger, dest string, backoff time.Duration) {
	if h.setFailure(fmt.Errorf("destination: %w", err), oldest) {
		// messages.md#the-destination: See [The sidecar is not
		// ready](troubleshooting.md#the-sidecar-is-not-ready). Logged when the error is new;
		// retried with fresh descriptors.
		log.Error("destination failed", "kind", errorKind(err), "dest", dest, "retry", backoff.String(), "error", err,
			"hint", "the backlog stays on the source")
	}
}

// noteError counts an error, with mu held.
func (h *health) noteError(err error) {
	h.failures++
	h.lastFailure, h.lastFailed = err.Error(), time.Now()
}

// errorMemory is how long the last error is shown after it is over. The metrics show
// it longer.
const errorMemory = time.Hour

// show adds the state of the destination to a status that lists the streams.
func (h *health) show(st *admin.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	st.LastCommit, st.DestinationErrors = h.lastCommit, h.errors(time.Now())
	for i := range st.Streams {
		one := &st.Streams[i]
		if at := h.marks[one.Name]; !at.Gone { // otherwise the stream has no segment, or only older ones
			one.Segment, one.SegmentBytes = at.Segment, at.Offset
		}
		if err := h.refused[one.Name]; err != nil {
			one.Refused = err.Error()
		}
	}
}

// errors returns the number of errors, with mu held, and the last error until that one has
// been over for errorMemory.
func (h *health) errors(now time.Time) admin.Errors {
	if h.failure == nil && now.Sub(h.lastFailed) > errorMemory {
		return admin.Errors{Count: h.failures}
	}
	return admin.Errors{Count: h.failures, Last: h.lastFailure, LastAt: h.lastFailed}
}

// lastErrorSeconds returns the time of the last error as a metric; 0 if there was no error.
func (h *health) lastErrorSeconds() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lastFailed.IsZero() {
		return 0
	}
	return float64(h.lastFailed.UnixMilli()) / 1000
}

// setMaintenance notes an error that costs no line and reports whether it is
// news.
func (h *health) setMaintenance(err error) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news = err.Error() != h.maintenance
	h.maintenance = err.Error()
	h.noteError(err)
	return news
}

// current returns why lines are not taken now, or nil.
func (h *health) current() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure
}

// waitingSince returns when the oldest line that waits for the end of a failure was
// read, or the zero time if no line waits.
func (h *health) waitingSince() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// committed notes where committed segments end.
func (h *health) committed(marks map[string]segment.Mark, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastCommit = now
	maps.Copy(h.marks, marks)
}

// forget forgets streams that have ended.
func (h *health) forget(streams []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range streams {
		delete(h.marks, name)
	}
}

// setRefused notes which streams are refused, and why.
func (h *health) setRefused(errs map[string]error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = errs
}

// refusal returns how many streams are refused, with the reason of the first,
// or nil.
func (h *health) refusal() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(h.refused)))
	return fmt.Errorf("streams refused: %d; the others become durable: %w", len(h.refused), h.refused[first])
}
