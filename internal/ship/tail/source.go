package tail

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// Source is one source directory and the files in it. Create it with [New]. If other parts
// need its lines or events, call [Source.Connect]. Then call [Source.Open] until it succeeds.
type Source struct {
	Watcher   *Watcher   // notices when there is something to scan or read
	Scanner   *Scanner   // finds files
	Capacity  *Capacity  // bounds how many files are held open
	Start     *Start     // finds where reading begins, at a start and after a rewind
	Reader    *Reader    // reads lines
	Relief    *Reliever  // frees memory of lines that are not durable
	Reclaimer *Reclaimer // frees memory of durable lines

	env     *env
	dir     *directory
	table   *source.Table
	listing *listing
	spool   *spooler
	left    *leftovers
	unlink  *unlinker
}

// New returns a Source for a valid cfg. The Source has not opened anything yet.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Source {
	e := &env{cfg: cfg, log: notes{Logger: log, warned: map[string]bool{}}, metrics: newMetrics(reg), now: time.Now}
	s := &Source{
		env:     e,
		dir:     &directory{path: cfg.Source, watched: cfg.Watched},
		table:   source.New(cfg.Formats),
		listing: newListing(),
		spool:   &spooler{pending: map[position.Content][]source.Spooled{}},
	}
	maxHeld, _ := Descriptors()
	changes := &truncations{e, s.table}
	s.Capacity = &Capacity{e, maxHeld, s.table, s.listing, changes}
	punch := puncher{e}
	s.left = &leftovers{env: e, dir: s.dir, table: s.table, spool: s.spool, punch: punch}
	s.unlink = &unlinker{e, s.dir, s.table, s.listing}
	s.Reclaimer = &Reclaimer{e, s.dir, s.table, s.listing, s.spool, punch, s.unlink}
	s.Watcher = &Watcher{env: e, dir: s.dir, table: s.table, listing: s.listing}
	s.Scanner = &Scanner{env: e, dir: s.dir, table: s.table, listing: s.listing, capacity: s.Capacity,
		left: s.left, punch: punch, reclaim: s.Reclaimer}
	sift := &sifter{below: cfg.PersistLevel}
	lines := &lineReader{e, s.table, sift}
	s.Reader = &Reader{env: e, table: s.table, lines: lines, records: &recordReader{e, s.table.OpenLines, lines}, changes: changes}
	s.Relief = &Reliever{e, s.dir, s.table, s.spool, &mover{e, s.spool, punch, changes}, policy{&s.table.Streams}}
	s.Start = &Start{s.table, s.left, &aligner{s.table, s.spool, sift.on()}, changes}
	return s
}

// Connect sets the functions that receive lines and events of the Source. It must be called
// before Open.
func (s *Source) Connect(to Outlets) { s.env.to = to }

// Open opens the directory and starts watching it. It fails with an error that wraps
// [fs.ErrNotExist] while the directory is missing, or [statedir.ErrOwned] while another sidecar
// owns it. Other errors mean that descriptors or memory ran out. After any error, Open can be
// called again. Nothing is read before [Scanner.Scan].
func (s *Source) Open() error {
	if err := s.dir.open(); err != nil {
		return err
	}
	log := &s.env.log
	if why := s.dir.owner.Ousted; why != "" {
		// messages.md#the-source: `reason` has the cause. Either a killed sidecar still has a
		// thread in a call to a frozen disk, which is harmless. Or the process gives no sign of
		// life: it belongs to the application, or is a stopped sidecar in another container. A
		// stopped sidecar destroys unread lines when it continues: end it.
		log.Warn("source taken over from a process that holds its lock", "source", s.env.cfg.Source, "reason", why)
	}
	if err := s.dir.owner.Unlocked; err != nil {
		// messages.md#the-source: `SOURCE/.ullage/owner` cannot be created or locked. Nothing keeps
		// a second sidecar out of this source.
		log.once("lock", "locking the source failed", "error", err, "hint", "nothing keeps a second sidecar out of it")
	}
	s.listing.expire()
	s.dir.countsUp = inodesCountUp(s.dir.fd())
	s.unlink.putBackTaken()
	s.left.expected = false
	err := s.openSpool()
	if statedir.Transient(err) {
		// Without the records in the spool, reading would skip their lines as holes.
		s.closeDir()
		return fmt.Errorf("open the spool: %w", err)
	}
	if err != nil {
		// messages.md#pressure: Nothing can be moved or dropped: in a long stall the tmpfs fills
		// up, and the JVM loses lines. Each poll tries again and logs `spool opened`. Check
		// `SOURCE/.ullage`.
		log.Error("opening the spool failed", "error", err,
			"hint", "no memory can be freed while the destination stalls; look at .ullage in the source")
	}
	s.dir.report(s.env.to.Opened)
	s.Watcher.begin()
	return nil
}

func (s *Source) openSpool() error {
	return s.spool.open(s.dir, func(of position.Content) bool { return s.table.Files[of] != nil })
}

// State returns the open directory in which the sidecar keeps its checkpoint. It is nil
// while the source is missing. The Source closes it.
func (s *Source) State() *os.File { return s.dir.state }

// Dir returns the open source directory. It is nil while the source is missing. The Source
// closes it.
func (s *Source) Dir() *os.File { return s.dir.dir }

// CloseGone closes the open directory if the path no longer leads to it or to its state
// directory, and reports whether it did. The caller then opens the new directory; the files
// of the old one stay held until they are finished.
func (s *Source) CloseGone() bool {
	gone := s.dir.replaced()
	if gone {
		s.closeDir()
	}
	return gone
}

// closeDir closes the directory and the watcher, but not the files.
func (s *Source) closeDir() {
	s.spool.leave()
	s.dir.close()
	s.env.metrics.watching.Set(0)
	s.table.Unname()
}

// Close closes the directory and every file.
func (s *Source) Close() {
	s.closeDir()
	for _, f := range s.table.Files {
		s.table.Forget(f)
	}
	s.env.countFiles(s.table)
	s.spool.close()
}

// Tick is the slow poll, to be called about once a second. It shows other sidecars that the
// owner of the source is alive, makes a scan due, and looks for files that have lost their
// writer. If Open failed to open the spool, it tries again. It frees the spool's memory
// once the spool is empty.
func (s *Source) Tick() {
	s.Watcher.tick()
	s.dir.beat()
	s.spool.rest(s.table.Files)
	if s.dir.opened() && s.spool.log == nil && s.openSpool() == nil {
		s.env.log.Info("spool opened")
	}
}

// Drain records that the sidecar is stopping: from now on, the unterminated rest of any file
// without a writer is handed on at once. It makes a scan due and returns how many files the
// last scan left out because too many were held. It returns 0 if there is still no room for
// another file.
func (s *Source) Drain() (waiting int) {
	s.listing.expire()
	s.table.Drain()
	if len(s.table.Held) >= s.Capacity.maxHeld {
		return 0
	}
	return int(s.listing.ignored[IgnoredTooMany])
}

// Stats returns the state of the source.
func (s *Source) Stats() Stats { return statsOf(s.env, s.table, s.listing, s.Capacity, time.Now()) }
