package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	dirMode  = 0o750
	fileMode = 0o640
)

// Store is a destination directory and the only writer in it. One goroutine
// uses it and all its streams; only Key may be called from others.
type Store struct {
	dir     string
	root    *os.File // dir, open
	cfg     Config
	log     *slog.Logger
	reg     prometheus.Registerer
	metrics *metrics
	lock    *os.File
	key     []byte
	encoder *encoder
	reader  *Reader // shared by recoveries; nil when there were none lately
	streams map[string]*Stream
	ledger  ledger
	room    room
	began   time.Time // when the clock of the ledger began
	sealAt  int64     // the size at which a segment is sealed
}

// Open makes dir the destination and creates it if it is missing. It writes nothing
// to a destination that was used before, so it returns even while writes there
// stall. The caller calls [Store.Acquire] before any method but Key.
//
// The error says what to do, and wraps that of the system call. A nil reg
// leaves the metrics unregistered, a nil log discards.
func Open(dir string, cfg Config, reg prometheus.Registerer, log *slog.Logger) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: filepath.Clean(dir), cfg: cfg, log: log, reg: reg, metrics: newMetrics(), streams: map[string]*Stream{},
		began: time.Now(), sealAt: int64(cfg.SegmentBytes)}
	if err := s.prepare(); err != nil {
		s.closeRoot()
		return nil, errors.Join(err, s.unlock())
	}
	var err error
	if s.encoder, err = newEncoder(cfg.Compress); err != nil {
		s.closeRoot()
		return nil, errors.Join(err, s.unlock())
	}
	if err := s.metrics.register(reg); err != nil {
		s.closeRoot()
		return nil, errors.Join(err, s.unlock())
	}
	return s, nil
}

// Key returns 32 random bytes that were made once for this destination;
// [Store.Reopen] may find another one. They
// authenticate the checkpoint, which lives where the application can write,
// by a secret that lives where it cannot. The caller must not change them.
func (s *Store) Key() []byte { return s.key }

// Stream returns the stream with that name, which [ValidStream] must accept.
// It is the same one for the same name until its Close. Until it is placed,
// retention takes none of its segments. It does no I/O: Resume or Recover come next.
func (s *Store) Stream(name string) *Stream {
	if t, ok := s.streams[name]; ok {
		return t
	}
	t := &Stream{store: s, name: name, dir: filepath.Join(s.dir, name)}
	s.streams[name] = t
	return t
}

// Close closes all streams and gives up the lock. What was not synced is left
// to the next Resume, as after a crash.
func (s *Store) Close() error {
	var errs []error
	for _, t := range s.streams {
		errs = append(errs, t.Close())
	}
	s.metrics.unregister(s.reg)
	s.closeRoot()
	errs = append(errs, s.unlock())
	return errors.Join(errs...)
}

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return syncAndClose(dir)
}

func syncAndClose(dir *os.File) error {
	err := dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
