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

// health is the state that the writer shows to other parts: whether the destination and the
// checkpoint accept lines, and how far lines have been committed.
type health struct {
	mu         sync.Mutex
	lastCommit time.Time
	marks      map[string]segment.Mark // of committed segments
	refused    map[string]error        // refused streams, and why; never changed in place

	failure     error     // why lines are not accepted now
	waiting     time.Time // when the oldest line that waits for the end of the failure was read
	failures    int64
	lastFailure string
	lastFailed  time.Time
	maintenance string // last error of maintaining the segments
}

// setFailure records why lines are not accepted, or nil when they are accepted again. It also
// records how long the oldest line has been waiting. It reports whether the failure is new.
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

// failed records an error of the destination, as setFailure does, and logs the error if it
// is new.
func (h *health) failed(err error, oldest time.Time, log *slog.Logger, dest string, backoff time.Duration) {
	if h.setFailure(fmt.Errorf("destination: %w", err), oldest) {
		// messages.md#the-destination: See [The sidecar is not
		// ready](troubleshooting.md#the-sidecar-is-not-ready). Logged when the error is new; ullage
		// retries with fresh file descriptors.
		log.Error("destination failed", "kind", errorKind(err), "dest", dest, "retry", backoff.String(), "error", err,
			"hint", "the backlog stays on the source")
	}
}

// noteError counts an error, with mu held.
func (h *health) noteError(err error) {
	h.failures++
	h.lastFailure, h.lastFailed = err.Error(), time.Now()
}

// errorMemory is how long the last error is still shown after it has ended. The metrics
// show it longer.
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

// errors returns the number of errors, and the last error unless that one ended more than
// errorMemory ago. The caller holds mu.
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

// setMaintenance records an error that costs no line, and reports whether the error is new.
func (h *health) setMaintenance(err error) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news = err.Error() != h.maintenance
	h.maintenance = err.Error()
	h.noteError(err)
	return news
}

// current returns why lines are not accepted now, or nil.
func (h *health) current() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure
}

// waitingSince returns when the oldest line that waits for the end of a failure was read.
// It returns the zero time if no line waits.
func (h *health) waitingSince() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// committed records where committed segments end.
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

// setRefused records which streams are refused, and why.
func (h *health) setRefused(errs map[string]error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = errs
}

// refusal returns an error with the number of refused streams and the reason of the first
// one, or nil.
func (h *health) refusal() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(h.refused)))
	return fmt.Errorf("streams refused: %d; the other streams are unaffected: %w", len(h.refused), h.refused[first])
}
