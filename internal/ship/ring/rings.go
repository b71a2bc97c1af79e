package ring

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/mark"
)

const (
	// errorPace is the time until the next look at a ring that waits for its turn or for its JVM to end. noPace is
	// the time if there is no ring: Wake ends that wait.
	errorPace = 20 * time.Millisecond
	noPace    = time.Hour

	// tickInterval is how often Run checks whether JVMs are gone.
	tickInterval = time.Second

	// lastWords is how long Run continues after the end of its context while a ring has a writer. The drain of
	// the source waits a little longer than that, to read the lines of such a ring.
	lastWords = 400 * time.Millisecond

	// maxRings is how many rings are read at a time. Each has four descriptors, for which package tail leaves room. A
	// JVM does not create a ring if there are already eight.
	maxRings = 16

	// errorPause is the time from an error of a ring to the next attempt.
	errorPause = 100 * time.Millisecond

	// roomPause is the time until the next attempt on a full tmpfs. Meanwhile reading frees memory, and the ring
	// fills up: half of a ring of 4 MiB has room for the warnings of a quarter of a second.
	roomPause = 5 * time.Millisecond

	// roomPart is the divisor for the part of the file system, or of the budget, that a text leaves free. A text that
	// takes less than that part leaves as much free as it takes. Pressure begins to free memory a little earlier, so that
	// a text never waits permanently.
	roomPart = 8
)

// Rings takes events out of the rings of one source. Create it with [New]. Run, Open, Wake and
// Status may be called concurrently.
type Rings struct {
	log     *slog.Logger
	metrics *metrics
	calls   *calls
	budget  atomic.Int64  // bytes of the source, see SetRoom; 0: all of the file system
	spool   atomic.Int64  // the part of the budget that the spool takes
	woken   chan struct{} // the source has rings

	mu     sync.Mutex
	work   *workspace // nil: no source is open
	drains map[name]*running
	seen   changes
	kept   []*text        // open until the process ends
	raised loggers.Levels // levels that the JVMs are asked for

	buffers buffers

	refused map[name]string // why rings could not be opened at the last listing
	logged  map[string]bool // reasons that have been logged
}

// running is a drain and the time of its next turn.
type running struct {
	*drain
	busy   time.Time       // when the ring had its last event
	after  time.Time       // the earliest time of the next step, after an error
	failed bool            // the ring is not read any more, and stays until its JVM is gone
	why    error           // the error of the last step, or nil
	logged map[string]bool // reasons that have been logged
}

// changes is the last known state of the source directory.
type changes struct {
	modified  unix.Timespec // the time of the last change; zero if a later change may have the same time
	unsettled bool          // there is a ring that its JVM has not completed
	asked     bool          // a listing is due
	after     time.Time     // the earliest time of that listing
	ticked    time.Time
}

// New returns a Rings without a source. The Rings passes each mark about a ring to note, while it holds its lock.
func New(reg prometheus.Registerer, log *slog.Logger, note func(mark.Mark)) *Rings {
	return &Rings{log: log, metrics: newMetrics(reg, note), calls: &calls{}, woken: make(chan struct{}, 1),
		drains: map[name]*running{}, logged: map[string]bool{}}
}

// SetRoom sets the budget of the source and how many bytes of it the spool takes. A text waits for room
// before all texts together have used up the rest. Until SetRoom is called, the texts may take all of the file system.
// SetRoom may be called concurrently and does not wait.
func (r *Rings) SetRoom(budget, spool int64) { r.budget.Store(budget); r.spool.Store(spool) }

// Open closes the rings of the previous source and begins with the rings in the directory source, whose state
// directory is state. It does not keep the two files. Before it returns, it opens the texts that an
// earlier process has left unfinished, so that tail does not treat them as finished.
func (r *Rings) Open(source, state *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	w := &workspace{calls: r.calls, metrics: r.metrics, buffers: &r.buffers}
	var err1, err2 error
	w.source, err1 = duplicate(source)
	w.state, err2 = duplicate(state)
	if err := errors.Join(err1, err2); err != nil {
		// messages.md#events: Most likely the sidecar has run out of file descriptors. No events
		// are read, and their rings fill up. Restart the sidecar with more descriptors.
		r.log.Warn("opening the source for events failed", "error", err, "hint", "no events are read")
		return
	}
	r.work = w
	r.removeJournals()
	r.list(time.Now())
	r.Wake()
}

// Wake reports that the source has rings. It may be called whenever rings are found: Run then lists them
// unless it already knows all of them. Wake does not wait.
func (r *Rings) Wake() {
	if r.mu.TryLock() {
		known := r.work != nil && !r.seen.unsettled && len(r.refused) == 0 && !r.changed()
		r.mu.Unlock()
		if known {
			return
		}
	}
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

func duplicate(dir *os.File) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s again: %w", dir.Name(), err)
	}
	return os.NewFile(uintptr(fd), dir.Name()), nil
}

// Raise asks the JVMs for events of loggers at the given levels and above, whatever their own settings are, until it
// is called again or Run ends. The zero value asks for nothing. If a ring cannot be written now, the request is
// retried every second.
func (r *Rings) Raise(to loggers.Levels) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raised = to
	for _, d := range r.drains {
		_ = d.raise(r.raised)
	}
}

// raise asks the JVM for levels unless the JVM is gone.
func (d *running) raise(to loggers.Levels) error {
	if d.failed || d.gone {
		return nil
	}
	return d.file.raise(to)
}

// leave closes everything.
func (r *Rings) leave() {
	for n := range r.drains {
		r.end(n)
	}
	if r.work != nil {
		r.work.source.Close()
		r.work.state.Close()
		r.work = nil
	}
	r.seen = changes{}
}

func (r *Rings) end(n name) {
	r.drains[n].close()
	delete(r.drains, n)
	r.metrics.cuts.end(n)
	r.gauge()
}

func (r *Rings) gauge() {
	var bytes uint64
	for _, d := range r.drains {
		bytes += d.file.capacity
	}
	r.metrics.rings.WithLabelValues().Set(float64(len(r.drains)))
	r.metrics.bytes.WithLabelValues().Set(float64(bytes))
}
