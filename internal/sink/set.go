package sink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink/address"
)

// Set holds all sinks of a sidecar. Create it with [New], then call [Set.Run] once. All methods
// except Run return at once and may be called from any goroutine.
type Set struct {
	dest    string
	formats format.Rules
	log     *slog.Logger
	workers []*worker

	mu    sync.Mutex
	begun bool                    // marks has every stream that may grow
	marks map[string]segment.Mark // how far streams are committed; a missing stream cannot grow
}

// New creates the sinks of a valid cfg, for the segments in dest.
func New(cfg Config, kinds map[string]Kind, dest string, reg prometheus.Registerer, log *slog.Logger) (*Set, error) {
	s := &Set{dest: dest, formats: cfg.Formats, log: log, marks: map[string]segment.Mark{}}
	if len(cfg.URLs) == 0 {
		return s, nil
	}
	m := newMetrics(reg)
	all, bad := address.ParseAll(cfg.URLs, schemes(kinds))
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	for _, a := range all {
		t, kind, shown := cfg.target(a), kinds[a.URL.Scheme], address.Redact(a.Text)
		sink, err := kind.Open(t)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--sink %s: %w", shown, err), s.close())
		}
		s.workers = append(s.workers, newWorker(s, t.Name, shown, kind, sink, m.of(t.Name), log.With("sink", t.Name)))
	}
	reg.MustRegister(newGauges(s))
	return s, nil
}

// Committed records how far streams are durable, and which streams have ended and no longer grow.
// The first call must name every stream that may grow. Nothing is delivered before that call.
func (s *Set) Committed(marks map[string]segment.Mark, ended []string) {
	s.mu.Lock()
	s.begun = true
	maps.Copy(s.marks, marks)
	for _, stream := range ended {
		delete(s.marks, stream)
	}
	s.mu.Unlock()
	for _, w := range s.workers {
		w.expect(marks, ended)
	}
}

// committed is as in [segment.FollowOptions].
func (s *Set) committed(stream string) (mark segment.Mark, growing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark, growing = s.marks[stream]
	return mark, growing || !s.begun
}

// hasBegun reports whether Committed was called.
func (s *Set) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// Needs reports whether a sink has not acknowledged all of a segment yet.
func (s *Set) Needs(info segment.Info) bool {
	for _, w := range s.workers {
		if w.needs(info) {
			return true
		}
	}
	return false
}

// Deleted records that retention has deleted a segment. A sink that needs the segment skips it.
func (s *Set) Deleted(info segment.Info) {
	for _, w := range s.workers {
		if w.needs(info) {
			w.skip(info)
		}
	}
}

// Run feeds the sinks until ctx ends, and then until they have everything that is committed or stop
// ends. The error says how much they still lack at the end. A sink that cannot be fed does not end
// Run.
func (s *Set) Run(ctx, stop context.Context) error {
	if len(s.workers) == 0 {
		return nil
	}
	switch dir, err := (files{s.dest}).dir(true); {
	case errors.Is(err, fs.ErrNotExist): // the destination does not exist yet; each later write creates the directory
	case err != nil:
		// messages.md#sinks: The sinks work, but begin again after a restart. Look at `.ullage` in
		// the destination.
		s.log.Error("creating the directory of the cursors failed", "error", err, "hint", "after a restart, sinks begin again with the oldest segment")
	default:
		dir.Close()
	}
	var all errgroup.Group
	errs := make([]error, len(s.workers))
	for i, w := range s.workers {
		all.Go(func() error { errs[i] = w.run(ctx, stop); return nil })
	}
	done := make(chan struct{})
	go func() { _ = all.Wait(); close(done) }() // all errors are in errs
	select {
	case <-done:
		return errors.Join(errs...)
	case <-stop.Done():
	}
	select {
	case <-done:
		return errors.Join(errs...)
	case <-time.After(grace):
		return errors.New("sinks: a call into the destination or to a server has not returned; the next start sends what is missing, if the destination outlives the pod")
	}
}

// grace is how long Run waits for calls that ignore the end of stop, such as a call into a
// frozen disk. After that, Run returns without waiting for them, and the process ends.
const grace = time.Second

// Show adds the sinks to a status.
func (s *Set) Show(st *admin.Status) { st.Sinks = s.Status() }

// Status returns the state of each sink.
func (s *Set) Status() (all []admin.Sink) {
	now := time.Now()
	for _, w := range s.workers {
		all = append(all, w.status(now))
	}
	return all
}

func (s *Set) close() error {
	var errs []error
	for _, w := range s.workers {
		errs = append(errs, w.sink.Close())
	}
	return errors.Join(errs...)
}
