package ring

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/loggers"
)

const (
	// errorPace is when a ring that has not had its turn, or that is waited for, is looked at again, and noPace
	// when there is none: Wake comes before.
	errorPace = 20 * time.Millisecond
	noPace    = time.Hour

	// Whether a JVM is gone is asked once in a tick.
	tickInterval = time.Second

	// lastWords is for how long Run goes on after the end of its context while a ring has a writer. Draining
	// waits a little longer for what comes of that.
	lastWords = 400 * time.Millisecond

	// maxRings are read at a time: each has four descriptors, for which package tail leaves room. A JVM begins
	// no ring where there are eight.
	maxRings = 16

	// errorPause is from an error of a ring to the next try.
	errorPause = 100 * time.Millisecond
)

// Rings takes the rings of one source out. Create it with [New]. Run, Open, Wake and Status may be
// called at the same time.
type Rings struct {
	log     *slog.Logger
	metrics *metrics
	calls   *calls
	woken   chan struct{} // the source has rings

	mu     sync.Mutex
	work   *workspace // nil: no source is open
	drains map[name]*running
	seen   changes
	kept   []*text        // open until the process ends
	raised loggers.Levels // what the JVMs are asked for

	buffers buffers

	refused map[name]string // reasons why rings could not be opened, as of the last listing
	logged  map[string]bool // the ones in the log
}

// running is a drain, and when it is its turn.
type running struct {
	*drain
	busy   time.Time       // it had an event last
	after  time.Time       // not before, since there was an error
	failed bool            // it is not read any more, and waits until its JVM is gone
	why    error           // the last error. Nil: the last step had none
	logged map[string]bool // reasons that are in the log
}

// changes is what was last seen of the source directory.
type changes struct {
	modified  unix.Timespec // zero: what comes may have the same time
	unsettled bool          // there is a ring that its JVM has not completed
	asked     bool          // a listing is due ...
	after     time.Time     // ... but not before
	ticked    time.Time
}

// New returns a Rings without a source.
func New(reg prometheus.Registerer, log *slog.Logger) *Rings {
	return &Rings{log: log, metrics: newMetrics(reg), calls: &calls{}, woken: make(chan struct{}, 1),
		drains: map[name]*running{}, logged: map[string]bool{}}
}

// Open begins with the rings of a source, and leaves those of an earlier one: it takes the directory and
// its state directory, which it does not keep. Before it returns it has opened the texts that an
// earlier process has left unfinished, for the sake of who reads them next.
func (r *Rings) Open(source, state *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	w := &workspace{calls: r.calls, metrics: r.metrics, buffers: &r.buffers}
	var err1, err2 error
	w.source, err1 = duplicate(source)
	w.state, err2 = duplicate(state)
	if err := errors.Join(err1, err2); err != nil {
		// messages.md#events: Most likely there are no descriptors left. No events are read; their
		// rings fill up. Restart the sidecar with more descriptors.
		r.log.Warn("opening the source for events failed", "error", err, "hint", "no events are read")
		return
	}
	r.work = w
	r.removeJournals()
	r.list(time.Now())
	r.Wake()
}

// Wake says that the source has rings, as often as they are found there: Run lists them then, unless it has
// all of them. It does not wait.
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

// Raise asks the JVMs for events of loggers at their levels and above, whatever their own settings say, until it is called
// again or Run ends. The zero value asks for nothing. A ring that cannot be written now is tried again every
// second.
func (r *Rings) Raise(to loggers.Levels) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raised = to
	for _, d := range r.drains {
		_ = d.raise(r.raised)
	}
}

// raise asks the JVM for what is wanted, if there is one.
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
