package ship

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/checkpoint"
	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/segment"
)

// start is what is known of streams when reading begins.
type start struct {
	keyed   bool                // the destination has told the key before
	invalid bool                // there is a checkpoint, or a part of one, that does not count
	lost    bool                // there was one, and is none
	all     []string            // those that have files
	streams []string            // those that may have segments which belong to what is in these
	unheld  map[string]struct{} // those that cannot supply again what the checkpoint takes for uncommitted
	unread  map[string]struct{} // those that can supply anything
}

// restore brings the source to where the last process ended. It runs before
// the loops, so it uses what belongs to both. Nothing is asked of the
// destination, which may stand still: begin does that.
func (s *Shipper) restore(keyed bool) (start, error) {
	s.attach()
	found := s.check.Load()
	s.reportInvalid(found.Invalid)
	// A sidecar without a checkpoint makes one first. Whoever finds none, where
	// there was one, knows that it was lost.
	lost := s.check.Lost() || found.Begun && !found.Marked && !found.Claimed
	s.check.SetLost(lost)
	saved := streamsOf(s.check.Files())
	s.src.Restore(s.check.Files(), lost)
	if _, err := s.src.Scan(); err != nil {
		return start{}, fmt.Errorf("find where the last run ended: %w", err)
	}
	s.view.update(s.src)
	s.check.SetFiles(s.src.Positions())
	if keyed && !lost && !found.Marked {
		_ = s.check.Save() // the first commit tries again
	}
	from := start{keyed: keyed, invalid: len(found.Invalid) > 0, lost: lost, all: s.src.StreamNames(), unheld: s.src.Unheld(), unread: s.src.Unread()}
	if from.streams = from.all; !lost && (found.Marked || found.Claimed) {
		from.streams = saved // nothing of others was persisted
	}
	return from, nil
}

// attach gives the checkpoint the state directory that the reader has opened.
func (s *Shipper) attach() {
	n := s.link.takeNews()
	if n.dirNews {
		s.check.Attach(n.dir)
	}
	if n.dir != nil {
		n.dir.Close()
	}
}

func streamsOf(files map[position.Content]position.Saved) []string {
	names := map[string]struct{}{}
	for _, f := range files {
		if f.Stream != "" {
			names[f.Stream] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(names))
}

func (s *Shipper) reportInvalid(invalid []error) {
	for _, err := range invalid {
		s.metrics.checkpointInvalid.WithLabelValues(checkpoint.Reason(err)).Inc()
		s.log.Warn("invalid checkpoint slot ignored", "error", err)
	}
}

// unseal finds out whether the checkpoint that reading began with, while the
// destination did not answer, is one of ours.
func (s *Shipper) unseal(from start) start {
	invalid := s.check.Unseal(s.store.Key())
	s.reportInvalid(invalid)
	if from.invalid = len(invalid) > 0; from.invalid {
		from.streams = from.all
	}
	return from
}

// begin makes the destination ours and places the segments of all streams:
// those with a mark behind that, and the others behind all of them that is
// sound. The reader runs already. Of the others it began with what is in the
// files, and begins again now that it is known how their segments end.
func (w *writer) begin(ctx context.Context, from start) error {
	if err := w.store.Acquire(ctx); err != nil {
		return err
	}
	own := w.cfg.mostUncommitted()
	if own > w.check.Uncommitted() {
		w.check.SetUncommitted(own)
		w.unsaved = true
	}
	if err := w.placeStreams(ctx, from); err != nil {
		return err
	}
	if len(w.refused.streams) == 0 {
		w.check.SetUncommitted(own) // what was behind the marks is cut off
	}
	w.link.setFailure(nil, time.Time{})
	again := rewind{ends: w.ends, anew: from.invalid && !from.keyed, news: from.invalid}
	if len(w.recovered) > 0 || again.anew || from.lost {
		if err := w.rewind(ctx, again); err != nil {
			return err
		}
		if err := w.saveCheckpoint(ctx); err != nil {
			return err
		}
	}
	// Not before: retention takes every stream that is not placed for ended.
	w.retain(ctx)
	w.view.setRestored()
	return nil
}

// unplaced returns the streams to be placed: those that have a mark, and those
// that have lost it.
func (w *writer) unplaced(from start) []string {
	names := w.check.Streams()
	for _, name := range from.streams {
		if _, marked := w.check.Mark(name); !marked {
			names = append(names, name)
		}
	}
	return names
}

// placeStreams places all streams, and again if the destination is replaced.
func (w *writer) placeStreams(ctx context.Context, from start) error {
	for _, name := range w.unplaced(from) {
		err := w.placeStream(ctx, name, from)
		if errors.Is(err, errReplaced) {
			return w.placeStreams(ctx, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errReplaced says that the destination is another directory than before.
var errReplaced = errors.New("the destination was replaced")

// placeStream places the segments of a stream. Errors of the destination are
// retried.
func (w *writer) placeStream(ctx context.Context, name string, from start) error {
	err := w.placeOrRefuse(name, from)
	for backoff := firstBackoff; err != nil; backoff = min(2*backoff, maxBackoff) {
		w.destinationFailed(err, backoff)
		if err := sleep(ctx, backoff); err != nil {
			return err
		}
		var replaced bool
		if replaced, err = w.store.Reopen(ctx); err != nil {
			continue
		}
		if replaced {
			w.check.SetKey(w.store.Key())
			return errReplaced
		}
		err = w.placeOrRefuse(name, from)
	}
	return nil
}

// placeOrRefuse is tryPlace, and no error if the destination refuses the stream
// alone. That is then tried again with what is known now. A restart meanwhile
// must know as well if there is no mark, since the checkpoint was lost.
func (w *writer) placeOrRefuse(name string, from start) error {
	err := w.tryPlace(name, from)
	if !errors.Is(err, segment.ErrRefused) {
		return err
	}
	w.refuse(name, err, func() error { return w.tryPlace(name, from) })
	if _, marked := w.check.Mark(name); !marked && from.invalid {
		w.check.SetLost(true)
		w.unsaved = true
	}
	return nil
}

func (w *writer) tryPlace(name string, from start) error {
	seg := w.store.Stream(name)
	mark, marked := w.check.Mark(name)
	if _, unheld := from.unheld[name]; marked && !unheld {
		if _, unread := from.unread[name]; !unread {
			return w.resumeDry(name, seg, mark)
		}
		err := seg.Resume(mark, w.check.Uncommitted())
		if !errors.Is(err, segment.ErrMark) {
			return err
		}
		w.log.Warn("checkpoint does not match the segments", "stream", name, "error", err)
		w.m.checkpointInvalid.WithLabelValues("stale").Inc()
	}
	// What cannot be read again must not be cut off.
	err := w.recover(name, seg)
	if !marked && !from.lost && !from.invalid {
		delete(w.ends, name) // nothing of what is in the source was persisted
	}
	return err
}

// resumeDry places a stream of which the source has nothing more. Then nothing
// is behind the mark; or it is what nobody can supply again, since its file was
// deleted, or the checkpoint is an old one that somebody has put back. It stays.
func (w *writer) resumeDry(name string, seg *segment.Stream, mark segment.Mark) error {
	err := seg.Resume(mark, 0)
	if errors.Is(err, segment.ErrMark) {
		w.log.Debug("keeping segment data behind the mark", "stream", name, "error", err)
		err = w.recover(name, seg)
		delete(w.ends, name) // there is nothing to look it up in
	}
	return err
}

// recover places a stream behind everything of it that is sound. Its mark
// counts once the reader has found that place in the source: a checkpoint with
// the one and without the other would be a wrong one.
func (w *writer) recover(name string, seg *segment.Stream) error {
	end, _, err := seg.Recover()
	if err != nil {
		seg.Abandon()
		return err
	}
	w.recovered[name] = seg.Mark()
	if len(end) > 0 {
		w.ends[name] = end
	}
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
