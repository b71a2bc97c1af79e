package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/segment/seek"
)

// Store is a destination and the only writer in it: its streams append, and its
// retention deletes. One goroutine uses a Store and all its streams; only Key may
// be called from other goroutines.
type Store struct {
	*parts
	retention *retention
	reg       prometheus.Registerer
}

// Open makes dir the destination and creates it if it is missing. Open writes nothing to a
// destination that was used before, so it returns even while writes there stall. Call
// [Store.Acquire] before any method except Key.
//
// The error says what to do and wraps the error of the system call. If reg is nil, the
// metrics are not registered; if log is nil, nothing is logged.
func Open(dir string, cfg Config, reg prometheus.Registerer, log *slog.Logger) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	dest, err := openDestination(filepath.Clean(dir), log)
	if err != nil {
		return nil, err
	}
	p := &parts{cfg: cfg, log: log, metrics: newMetrics(), dest: dest, ledger: newLedger(time.Now(), dest.number.wrote),
		verifier: &verifier{dest: dest}, streams: map[string]*Stream{}, boot: readBootClock(), sealAt: int64(cfg.SegmentBytes)}
	p.encoder, err = newEncoder(cfg.Compress)
	if err == nil {
		err = p.metrics.register(reg)
	}
	if err != nil {
		return nil, errors.Join(err, dest.close())
	}
	return &Store{parts: p, retention: &retention{parts: p}, reg: reg}, nil
}

// Key returns the 32 random bytes that were created once for this destination. They
// authenticate the checkpoint: the application can write in the place of the checkpoint, but
// cannot read the key. After [Store.Reopen] the key may be different. The caller must not
// change the bytes.
func (s *Store) Key() []byte { return s.dest.key }

// Number returns the highest number that this process or an earlier one has passed to
// [Store.SetNumber], or 0 if that is unknown. Every checkpoint has a higher number than all
// earlier checkpoints of the same destination. The application can put an old checkpoint back,
// but cannot write the number. So a checkpoint with a lower number is old: more bytes have been
// committed after its marks. After [Store.Acquire] or [Store.Reopen] the number may be
// different.
func (s *Store) Number() uint64 { return s.dest.number.newest }

// SetNumber records the number of a checkpoint that was saved. In every save, it must be called
// after the checkpoint is saved and before anything is reclaimed:
//
//	killed before    the number is that of the previous checkpoint; nothing was reclaimed
//	                 since then, so either checkpoint may be used
//	killed after     the checkpoint has the number, and every other checkpoint is old
//
// SetNumber costs a write of 21 bytes into the page cache, and one sync after each
// [Store.Acquire]. It logs an error but does not return it, because the commit is durable:
// the previous number remains until a later call succeeds.
func (s *Store) SetNumber(newest uint64) { s.dest.number.set(newest) }

// Acquire locks the destination against a second process. Then it writes and syncs
// a probe file there, so that it fails at once if the destination cannot work.
// Acquire only logs that the destination is full, because retention may make room.
func (s *Store) Acquire(ctx context.Context) error { return s.dest.acquire(ctx) }

// Reopen must be called after an error, before streams are resumed. Reopen fails with [ErrAway]
// while the path of the destination names nothing, or a directory that cannot replace the open
// one. It continues in another directory
//
//   - that has the key of the open one: it is the same directory, mounted again;
//   - or that is empty or was a destination before, if the open one was deleted, or
//     was replaced within its file system.
//
// In both cases, and if the lock file of the open directory was deleted, replaced is true: committed
// segments may be elsewhere, and Key may return another key.
func (s *Store) Reopen(ctx context.Context) (replaced bool, err error) {
	if same, err := s.dest.again(); same || err != nil {
		return false, err
	}
	s.ledger.forget()
	s.retention.room = room{}
	if err := s.dest.adopt(ctx); err != nil {
		return false, err
	}
	// messages.md#the-destination: The volume was mounted again, or another process deleted or moved
	// the directory within its file system. ullage continues in the directory that is there now. If
	// earlier segments are not in it, they are where the old directory was moved, or lost.
	s.log.Error("destination was replaced or mounted again", "dir", s.dest.dir,
		"hint", "persisting continues in the directory that is there now; earlier segments that are not in it are where the old one was moved, or lost")
	return true, nil
}

// Stream returns the stream with that name, which [segment.ValidStream] must accept. The same
// name returns the same Stream until that is closed. Retention deletes none of a stream's
// segments until the stream is placed. Stream does no I/O: call Resume or Recover next.
func (s *Store) Stream(stream string) *Stream {
	if t, ok := s.streams[stream]; ok {
		return t
	}
	hint := func(name string, most int64) hintFile {
		return hintFile{dest: s.dest, ledger: s.ledger, stream: stream, name: name, most: most}
	}
	t := &Stream{parts: s.parts, name: stream, dir: filepath.Join(s.dest.dir, stream),
		seek: seekFile{hintFile: hint(seek.Name, seek.MaxBytes), boot: s.boot}, sum: sumFile{hintFile: hint(index.Name, index.MaxBytes)}}
	s.streams[stream] = t
	return t
}

// Maintain seals the segments that are older than SegmentAge, deletes what retention releases,
// and updates the gauges. It must be called after a commit: Maintain relies on a checkpoint
// that has the mark of the last Sync, and on every stream of the checkpoint having been opened
// with Stream. If there is nothing to do, Maintain does no I/O. An error is the destination's;
// no stream need be abandoned.
//
// If deleting older segments is not enough, Maintain also deletes the newest segments of
// streams, in the order of their last writes. It keeps the last of these unless it has expired.
// It works in this order: it sets the marks of these streams to Gone, calls save, which saves
// the marks in the checkpoint, and only then deletes. If save fails, Maintain deletes nothing,
// and the next Maintain releases the streams again. If it deleted before save, a kill in
// between would leave a checkpoint whose mark names a missing segment.
func (s *Store) Maintain(now time.Time, save func(released []*Stream) error) error {
	s.verifier.release() // recoveries are over
	s.retention.sealOld(now)
	err := s.retention.enforce(now, save)
	s.sealAt = s.retention.share()
	s.retention.measure()
	if err != nil {
		return fmt.Errorf("retain segments: %w", err)
	}
	return nil
}

// Rest frees the encoder's memory, about 2 MiB. The next Append allocates it again, in 0.2 ms of
// CPU time. Call Rest when nothing has been written for some seconds.
func (s *Store) Rest() {
	if s.encoder.buf == nil {
		return
	}
	if fresh, err := newEncoder(s.cfg.Compress); err == nil {
		s.encoder = fresh
	}
}

// KeepFor lets another part of the sidecar keep segments: a segment that is needed is not
// deleted merely because of its age. deleted is called with each segment that retention has
// deleted. Maintain calls both functions, which must not block.
func (s *Store) KeepFor(needed func(segment.Info) bool, deleted func(segment.Info)) {
	s.retention.needed, s.retention.deleted = needed, deleted
}

// SealAll seals the newest segment of each stream that has nothing uncommitted. The caller must
// save the marks in the checkpoint.
func (s *Store) SealAll() { s.retention.sealBefore(time.Now(), 0) }

// Ahead returns for how many streams a segment may be created, and how many bytes may be
// appended, between two calls of Maintain. The bounds are a quarter of the reserve's bytes and
// half of its inodes, so that a commit never fills the file system. But the bound on bytes is
// never less than a sixteenth of the free bytes or of the bytes that retention keeps, whichever
// are fewer. If segments are small, so is the reserve: a bound by the reserve alone would then
// require a commit, with its syncs, after every few streams. If RetainBytes is 0, nothing is
// bounded.
func (s *Store) Ahead() (streams int, bytes int64) { return s.retention.room.ahead() }

// Show adds figures of the destination to a status. It may be called from any goroutine.
func (s *Store) Show(st *admin.Status) { s.metrics.show(st) }

// Close closes all streams and releases the lock. Unsynced bytes are left to the next Resume,
// as after a crash.
func (s *Store) Close() error {
	var errs []error
	for _, t := range s.streams {
		t.sum.partly() // no Maintain follows that could make room for the file
		errs = append(errs, t.Close())
	}
	s.metrics.unregister(s.reg)
	return errors.Join(append(errs, s.dest.close())...)
}
