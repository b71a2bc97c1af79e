package tail

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/statedir"
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
	log     *slog.Logger
	metrics metrics
	now     func() time.Time
	maxHeld int // files open at once

	dir     *os.File // nil while the directory is missing
	state   *os.File // the state directory in it
	watcher *fsnotify.Watcher

	files   map[position.Identity]*File
	names   map[string]*File // as of the last listing and the events since
	spare   map[string]*File // the map for the names of the next listing
	streams map[string]*Stream
	labels  map[string]bool
	refused map[string]struct{} // streams that nobody takes
	active  []*Stream           // have a dirty file, in the order of their turns
	renamed []*Stream           // have a file with a new name, during a scan
	gone    []position.Identity // let go of since the last Reclaim

	open        map[string]openLine // by stream: how what was handed on ends
	openDurable map[string]openLine // ... and what is durable
	handedOn    uint64              // chunks

	scratch     []byte   // what is read ahead to be dropped; nil until the first time
	text        *os.File // of kept lines; nil until there are any
	textEnd     int64
	droppedText []*text // to be freed once that is recorded

	aside          map[position.Identity]*aside   // finished files that were let go of and have names
	saved          map[position.Identity]Saved    // positions of files that are not held, from a checkpoint or from before
	waiting        map[position.Identity]struct{} // those of saved whose file may still be there
	sighted        map[position.Identity]struct{} // those of saved whose file the current listing has seen
	unaligned      bool                           // what the first scan finds may be persisted already
	truncationTold time.Time                      // when a truncation was last logged
	ignored        map[string]int                 // entries that the last scan left alone, by reason
	warned         map[string]bool                // what was logged once
	stale          bool                           // a scan is due
	scanAfter      time.Time                      // but not before
	pass           int                            // listings so far
	round          int                            // counts the scans that left out nothing: what comes later is younger
	countsUp       bool                           // inode numbers tell the order of files
	draining       bool
	refusedFiles   int // held, of refused streams
}

// New returns a Source for a valid cfg that has opened nothing yet.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Source {
	maxHeld, _ := Descriptors()
	return &Source{
		cfg:     cfg,
		maxHeld: maxHeld,
		round:   1,
		log:     log,
		metrics: newMetrics(reg),
		now:     time.Now,

		files:   map[position.Identity]*File{},
		names:   map[string]*File{},
		spare:   map[string]*File{},
		streams: map[string]*Stream{},
		labels:  map[string]bool{},

		open:        map[string]openLine{},
		openDurable: map[string]openLine{},

		saved:   map[position.Identity]Saved{},
		waiting: map[position.Identity]struct{}{},
		sighted: map[position.Identity]struct{}{},
		aside:   map[position.Identity]*aside{},
		ignored: map[string]int{},
		warned:  map[string]bool{},
	}
}

// ErrNoDirectory says that something else than a directory has the source's
// name, or a part of it.
var ErrNoDirectory = errors.New("the source is no directory")

// Open opens the directory and begins to watch it. It fails with an error
// that wraps [fs.ErrNotExist] while the directory is missing, and can be
// called again. Nothing is read before [Source.Scan].
func (s *Source) Open() error {
	fd, err := unix.Open(s.cfg.Source, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		err = &fs.PathError{Op: "open source directory", Path: s.cfg.Source, Err: err}
		if errors.Is(err, unix.ENOTDIR) {
			err = fmt.Errorf("%w: %w", ErrNoDirectory, err)
		}
		return err
	}
	dir := os.NewFile(uintptr(fd), s.cfg.Source)
	state, err := statedir.Open(dir)
	if err != nil {
		dir.Close()
		return err
	}
	if err := unix.Flock(int(state.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
		// Only a warning, since any process of the application can do this.
		s.warnOnce("lock", "another process has locked the state directory",
			"directory", state.Name(), "hint", "two sidecars on one source destroy each other's unread lines; end one of them")
	}
	s.dir, s.state, s.stale = dir, state, true
	s.countsUp = inodesCountUp(fd)
	s.putBackTaken()
	s.watch()
	return nil
}

// watch asks for events of the directory. Without them the slow poll goes on.
func (s *Source) watch() {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(s.cfg.Source); err != nil {
			w.Close()
		}
	}
	if err != nil {
		s.warnOnce("watch", "watching the source failed", "source", s.cfg.Source, "error", err,
			"hint", "the source is polled only; raise fs.inotify.max_user_instances or max_user_watches")
		return
	}
	s.watcher = w
	s.metrics.watching.Set(1)
}

// Opened reports whether the directory is open.
func (s *Source) Opened() bool { return s.dir != nil }

// State returns the directory, open, in which the sidecar keeps its
// checkpoint. It is nil while the source is missing and remains the Source's.
func (s *Source) State() *os.File { return s.state }

// Path returns the path of the directory, as configured.
func (s *Source) Path() string { return s.cfg.Source }

// Events returns the directory's events for [Source.Handle], or nil when
// there are none to wait for.
func (s *Source) Events() <-chan fsnotify.Event {
	if s.watcher == nil {
		return nil
	}
	return s.watcher.Events
}

// Errors returns the watcher's errors for [Source.HandleError].
func (s *Source) Errors() <-chan error {
	if s.watcher == nil {
		return nil
	}
	return s.watcher.Errors
}

// Handle takes in one event: it marks what has to be read or scanned.
func (s *Source) Handle(ev fsnotify.Event) {
	if ev.Op&^fsnotify.Chmod == 0 {
		return
	}
	if f, known := s.names[filepath.Base(ev.Name)]; known && ev.Op == fsnotify.Write {
		s.touch(f)
		return
	}
	s.stale = true
}

// HandleError takes in one error of the watcher. When events were lost,
// everything is looked at again.
func (s *Source) HandleError(err error) {
	s.metrics.watchErrors.Inc()
	s.lookAgain()
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		s.warnOnce("watch error", "source watcher reported an error", "error", err, "hint", "the poll continues")
	}
}

// lookAgain makes the next scan due and every file worth reading.
func (s *Source) lookAgain() {
	s.stale = true
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
func (s *Source) Gone() bool {
	if s.dir == nil {
		return false
	}
	was, err1 := s.dir.Stat()
	is, err2 := os.Stat(s.cfg.Source)
	if err1 != nil || err2 != nil || !os.SameFile(was, is) {
		return true
	}
	own, err1 := s.state.Stat()
	named, err2 := os.Lstat(filepath.Join(s.cfg.Source, statedir.Name))
	return err1 != nil || err2 != nil || !os.SameFile(own, named)
}

// CloseDir closes the directory and the watcher, not the files.
func (s *Source) CloseDir() {
	if s.watcher != nil {
		s.watcher.Close()
		s.watcher = nil
	}
	s.metrics.watching.Set(0)
	if s.dir != nil {
		s.dir.Close()
		s.state.Close()
		s.dir, s.state = nil, nil
	}
	for name, f := range s.names {
		f.name = ""
		delete(s.names, name)
	}
}

// Close closes the directory and every file.
func (s *Source) Close() {
	s.CloseDir()
	for _, f := range s.files {
		s.forget(f)
	}
	if s.text != nil {
		s.text.Close()
		s.text = nil
	}
}

// warnOnce logs a warning the first time that its key is seen. The keys are
// constants of this package, so the set is bounded.
func (s *Source) warnOnce(key, msg string, args ...any) {
	if !s.warned[key] {
		s.warned[key] = true
		s.log.Warn(msg, args...)
	}
}
