package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/tail"
)

// maintainInterval is how often segments are sealed by age and retained when
// there are no commits.
const maintainInterval = time.Minute

const (
	maxOpenSegments = 64  // descriptors of segments that stay open between commits, if as many may be
	maxIdleStreams  = 128 // streams without files that can go on where they ended
)

// destinationFailed takes in an error of the destination. It is logged when it
// is news, and counted each time.
func (w *writer) destinationFailed(err error, backoff time.Duration) {
	kind := errorKind(err)
	w.m.destinationErrors.WithLabelValues(kind).Inc()
	oldest := w.taken.oldest
	if c, ok := w.link.queue.Front(); ok && oldest.IsZero() {
		oldest = c.Read
	}
	if w.link.setFailure(fmt.Errorf("destination: %w", err), oldest) {
		w.log.Error("destination failed",
			"kind", kind, "dest", w.cfg.Dest, "retry", backoff.String(), "error", err, "hint", "the backlog stays on the source")
	}
	for _, st := range w.streams {
		st.segments.Abandon()
	}
}

// errorKind is the class of an error of the destination, for a metric label.
func errorKind(err error) string {
	if errors.Is(err, segment.ErrAway) {
		return missingError
	}
	for _, k := range errorKinds {
		for _, errno := range k.errnos {
			if errors.Is(err, errno) {
				return k.kind
			}
		}
	}
	return otherError
}

const (
	missingError = "missing"
	otherError   = "other"
)

var errorKinds = []struct {
	kind   string
	errnos []unix.Errno
}{
	{"full", []unix.Errno{unix.ENOSPC, unix.EDQUOT}},
	{"read_only", []unix.Errno{unix.EROFS}},
	{"io", []unix.Errno{unix.EIO, unix.ENXIO, unix.ENODEV, unix.ESTALE}},
	{"permission", []unix.Errno{unix.EACCES, unix.EPERM}},
	{missingError, []unix.Errno{unix.ENOENT, unix.ENOTDIR}},
}

// reopen goes back to the last commit: it cuts every stream to its mark with
// fresh descriptors and makes the reader read again from the positions. While
// the destination is away it leaves all marks as they are.
func (w *writer) reopen(ctx context.Context) error {
	replaced, err := w.store.Reopen(ctx)
	if err != nil {
		return err
	}
	if replaced {
		w.check.SetKey(w.store.Key())
		w.unsaved = true
	}
	for _, st := range w.streams {
		if err := w.resume(st); errors.Is(err, segment.ErrRefused) {
			w.refuseOpen(st, err)
		} else if err != nil {
			w.retain(ctx) // what is left to resume may need space
			return err
		}
		st.forget()
	}
	w.forgetPending()
	if err := w.rewind(ctx, rewind{ends: w.ends, news: true}); err != nil {
		return err
	}
	if err := w.saveMarks(ctx); err != nil {
		return err
	}
	// A full disk may be full of our own old segments. Retention deletes no
	// segment of a stream that is not resumed.
	w.retain(ctx)
	return nil
}

// rewind makes the reader begin again, and takes in the marks of the streams
// that were recovered.
func (w *writer) rewind(ctx context.Context, request rewind) error {
	files, err := w.link.requestRewind(ctx, request)
	if err != nil {
		return err
	}
	if len(request.ends) > 0 || request.anew {
		w.takeNews() // of before
		w.check.SetFiles(files)
	}
	for name, mark := range w.recovered {
		w.check.SetMark(name, mark)
		w.unsaved = true
	}
	if len(w.refused.streams) == 0 {
		w.check.SetLost(false)
	}
	clear(w.recovered)
	clear(w.ends)
	return nil
}

// resume places a stream behind what is committed. What others have changed of
// that is lost, and the stream goes on behind what they have left; no segment
// that was committed goes.
func (w *writer) resume(st *writerStream) error {
	mark, _ := w.check.Mark(st.name)
	// It is our own last mark. How much may be behind it is not a question of
	// the settings of now: the budget may have shrunk since the append, and what
	// is not cut would be read back from pages that a failed sync has marked
	// clean, and be taken for durable.
	err := st.segments.Resume(mark, segment.Unbounded)
	if !errors.Is(err, segment.ErrMark) {
		return err
	}
	w.log.Error("committed segments are missing or changed", "stream", st.name, "error", err, "hint", "the stream continues behind what is left")
	mark.Gone = true
	if err = st.segments.Resume(mark, segment.Unbounded); errors.Is(err, segment.ErrMark) {
		return w.recover(st.name, st.segments)
	}
	if err != nil {
		return err
	}
	w.check.SetMark(st.name, st.segments.Mark())
	w.unsaved = true
	return nil
}

// saveMarks saves the checkpoint if it lacks a mark that must be saved before
// anything is appended behind it.
func (w *writer) saveMarks(ctx context.Context) error {
	if !w.unsaved {
		return nil
	}
	if err := w.saveCheckpoint(ctx); err != nil {
		return err
	}
	w.unsaved = false
	return nil
}

// mostUncommitted bounds what can be on disk behind a mark: there is never more
// between two commits, whatever the budget was. A mark of a checkpoint that
// asks for more is not the last one.
func (c Config) mostUncommitted() int64 {
	// Twice, for frames that compression made longer; and headers.
	return 2*(int64(c.SyncBytes)+int64(c.frameBytes())) + 1<<20
}

// maintain seals and retains, forgets streams whose files are all gone when
// there are many, and of descriptors beyond the bound. Its errors cost no
// line; they are counted.
func (w *writer) maintain(ctx context.Context) {
	if w.taken.bytes == 0 {
		// A stream that is refused may have uncommitted bytes behind its mark.
		refused := func(name string) bool { _, is := w.refused.streams[name]; return is }
		for _, name := range w.check.ForgetIdle(maxIdleStreams, refused) {
			w.tolerate(w.store.Stream(name).Close()) // also one that nothing was written to since the start
			delete(w.streams, name)
		}
		if len(w.streams) > min(maxOpenSegments, w.bounds.streams) {
			for _, st := range w.streams {
				w.tolerate(st.segments.CloseIdle())
			}
		}
	}
	w.retain(ctx)
}

// retain lets the store seal and delete. Where the newest segment of a stream
// goes too, the checkpoint records that first.
func (w *writer) retain(ctx context.Context) {
	err := w.store.Maintain(time.Now(), func(released []*segment.Stream) error {
		for _, st := range released {
			w.check.SetMark(st.Name(), st.Mark())
		}
		return w.saveCheckpoint(ctx)
	})
	if ctx.Err() == nil {
		w.tolerate(err)
	}
	_, most := tail.Descriptors()
	streams, bytes := w.store.Ahead()
	w.bounds.streams, w.bounds.room = min(most, streams), bytes
}

func (w *writer) tolerate(err error) {
	if err == nil {
		return
	}
	kind := errorKind(err)
	w.m.destinationErrors.WithLabelValues(kind).Inc()
	if w.link.setMaintenance(err) {
		w.log.Warn("segment maintenance failed", "kind", kind, "error", err, "hint", "maintenance is retried")
	}
}
