package tail

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/position"
)

const (
	blockBytes = 256 << 10 // bytes of one read, and of one punch
	maxFiles   = 4096      // held open at once, if as many may be; more wait on the tmpfs until others are finished
	scanRest   = 4         // times the duration of a scan is the least between two
	maxLabels  = 256       // distinct stream labels in metrics; further streams share OtherLabel
)

// OtherLabel is the stream label of the streams beyond the bound on labels.
const OtherLabel = "(other)"

// Source is one source directory and the files in it. Create it with [New],
// then call [Source.Open] until it succeeds.
type Source struct {
	cfg     Config
	log     notes
	metrics metrics
	now     func() time.Time
	maxHeld int // files open at once

	dir     directory
	listing listing // what is in it
	streams streamSet
	files   map[position.Content]*File  // all contents of which anything is left
	held    map[position.Identity]*File // those of them that are in a file that is open
	absent  absent                      // ... and not
	open    openLines
	back    map[position.Content]position.Saved // that the checkpoint may have forgotten; since the last Back
	gone    []position.Content                  // that the checkpoint need not have; since the last Reclaim
	spool   spooler

	expected  bool // the records that an earlier process has left were taken in
	unaligned bool // what the first scan finds may be persisted already
	draining  bool
}

// New returns a Source for a valid cfg that has opened nothing yet.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Source {
	maxHeld, _ := Descriptors()
	return &Source{
		cfg:     cfg,
		log:     notes{Logger: log, warned: map[string]bool{}},
		metrics: newMetrics(reg),
		now:     time.Now,
		maxHeld: maxHeld,
		dir:     directory{path: cfg.Source},
		listing: newListing(),
		streams: newStreamSet(),
		files:   map[position.Content]*File{},
		held:    map[position.Identity]*File{},
		absent:  newAbsent(),
		open:    newOpenLines(),
		back:    map[position.Content]position.Saved{},
		spool:   spooler{pending: map[position.Content][]spooled{}},
	}
}

// Open opens the directory and begins to watch it. It fails with an error
// that wraps [fs.ErrNotExist] while the directory is missing, and can be
// called again. Nothing is read before [Source.Scan].
func (s *Source) Open() error {
	if err := s.dir.open(); err != nil {
		return err
	}
	if s.dir.locked() {
		// Only a warning, since any process of the application can do this.
		s.log.once("lock", "another process has locked the state directory",
			"directory", s.dir.state.Name(), "hint", "two sidecars on one source destroy each other's unread lines; end one of them")
	}
	s.listing.stale = true
	s.listing.countsUp = inodesCountUp(s.dir.fd())
	s.putBackTaken()
	s.expected = false
	known := func(of position.Content) bool { return s.files[of] != nil }
	if err := s.spool.open(&s.dir, known); err != nil {
		s.log.Error("opening the spool failed", "error", err,
			"hint", "no memory can be given back while the destination stalls; look at .ullage in the source")
	}
	if err := s.dir.watch(); err != nil {
		s.log.once("watch", "watching the source failed", "source", s.cfg.Source, "error", err,
			"hint", "the source is polled only; raise fs.inotify.max_user_instances or max_user_watches")
		return nil
	}
	s.metrics.watching.Set(1)
	return nil
}

// Opened reports whether the directory is open.
func (s *Source) Opened() bool { return s.dir.opened() }

// State returns the directory, open, in which the sidecar keeps its
// checkpoint. It is nil while the source is missing and remains the Source's.
func (s *Source) State() *os.File { return s.dir.state }

// Events returns the directory's events for [Source.Handle], or nil when
// there are none to wait for.
func (s *Source) Events() <-chan fsnotify.Event {
	if s.dir.watcher == nil {
		return nil
	}
	return s.dir.watcher.Events
}

// Errors returns the watcher's errors for [Source.HandleError].
func (s *Source) Errors() <-chan error {
	if s.dir.watcher == nil {
		return nil
	}
	return s.dir.watcher.Errors
}

// Handle takes in one event: it marks what has to be read or scanned.
func (s *Source) Handle(ev fsnotify.Event) {
	if ev.Op&^fsnotify.Chmod == 0 {
		return
	}
	if f, known := s.listing.names[filepath.Base(ev.Name)]; known && ev.Op == fsnotify.Write {
		s.touch(f)
		return
	}
	s.listing.stale = true
}

// HandleError takes in one error of the watcher. When events were lost,
// everything is looked at again.
func (s *Source) HandleError(err error) {
	s.metrics.watchErrors.Inc()
	s.lookAgain()
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		s.log.once("watch error", "source watcher reported an error", "error", err, "hint", "the poll continues")
	}
}

// lookAgain makes the next scan due and every file worth reading.
func (s *Source) lookAgain() {
	s.listing.stale = true
	for _, f := range s.files {
		s.touch(f)
	}
}

// Drain says that there is no later: from now on the unterminated rest of any
// file that has no writer is handed on at once.
func (s *Source) Drain() {
	s.draining = true
	s.lookAgain()
}

// Gone reports whether the directory that is open, or the state directory in it,
// is no longer the one that the path names. The caller then closes it and opens
// the new one; the files of the old one stay held until they are finished.
func (s *Source) Gone() bool { return s.dir.replaced() }

// CloseDir closes the directory and the watcher, not the files.
func (s *Source) CloseDir() {
	s.spool.leave()
	s.dir.close()
	s.metrics.watching.Set(0)
	for name, f := range s.listing.names {
		f.name = ""
		delete(s.listing.names, name)
	}
}

// Close closes the directory and every file.
func (s *Source) Close() {
	s.CloseDir()
	for _, f := range s.files {
		s.forget(f)
	}
	s.spool.close()
}
