package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// restore brings the source to where the last process ended, and says to the
// writer what it has to do about the segments. It runs before the loops, so it
// uses what belongs to both.
//
// With a checkpoint the reader can begin at once: nothing has to be asked of
// the destination, which may stand still. Without one, the segments decide
// where reading begins, and have to be looked at first.
func (s *Shipper) restore(ctx context.Context) error {
	st, ok, invalid := s.check.load()
	for _, err := range invalid {
		s.metrics.checkpointInvalid.WithLabelValues(slotReason(err)).Inc()
		s.log.Warn("ignoring an invalid checkpoint slot", "error", err)
	}
	if ok {
		s.ledger.load(st)
	}
	s.src.Restore(s.ledger.saved())
	if _, err := s.src.Scan(); err != nil {
		return fmt.Errorf("find where the last run ended: %w", err)
	}
	s.src.Tidy()
	s.view.update(s.src)
	s.ledger.replaceFiles(s.src.Positions())
	if ok {
		for _, name := range s.ledger.streamNames() {
			// What cannot be read again must not be cut off.
			s.writer.places = append(s.writer.places, place{name, !s.src.Unheld(name)})
		}
		return nil
	}
	for _, name := range s.src.StreamNames() {
		s.writer.places = append(s.writer.places, place{name, false})
	}
	if err := s.writer.acquire(ctx); err != nil {
		return err
	}
	ends, err := s.writer.placeStreams(ctx)
	if err != nil || len(ends) == 0 {
		return err
	}
	s.reader.align(ends, len(invalid) > 0)
	return s.writer.saveCheckpoint(ctx)
}

// place is a stream whose segments have to be placed at a start: at the mark
// of the checkpoint, or else behind all of them that is sound.
type place struct {
	name   string
	marked bool
}

// acquire makes the destination ours, unless it is already, and finds out
// whether it can work.
func (w *writer) acquire(ctx context.Context) error {
	if w.acquired {
		return nil
	}
	if err := w.store.Acquire(ctx); err != nil {
		return fmt.Errorf("open destination: %w", err)
	}
	w.acquired = true
	return nil
}

// begin places what restore has left to place.
func (w *writer) begin(ctx context.Context) error {
	if err := w.acquire(ctx); err != nil {
		return err
	}
	ends, err := w.placeStreams(ctx)
	if err != nil {
		return err
	}
	if len(ends) > 0 {
		if err := w.link.requestRewind(ctx, ends); err != nil {
			return err
		}
		if err := w.saveCheckpoint(ctx); err != nil {
			return err
		}
	}
	// Not before: retention takes every stream that is not placed for ended.
	w.tolerate(w.store.Maintain(time.Now()))
	w.view.setRestored()
	return nil
}

// placeStreams places the segments of streams behind what is committed. For
// those without a mark it returns how they end. Errors of the destination are
// retried.
func (w *writer) placeStreams(ctx context.Context) (map[string][]byte, error) {
	ends := map[string][]byte{}
	for backoff := firstBackoff; len(w.places) > 0; {
		p := w.places[0]
		end, recovered, err := w.placeStream(p)
		if err == nil {
			if recovered {
				ends[p.name] = end
			}
			w.places = w.places[1:]
			continue
		}
		w.destinationFailed(err, backoff)
		if err := sleep(ctx, backoff); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, maxBackoff)
	}
	w.link.setFailure(nil, time.Time{})
	return ends, nil
}

func (w *writer) placeStream(p place) (end []byte, recovered bool, err error) {
	seg := w.store.Stream(p.name)
	if mark, ok := w.ledger.markOf(p.name); ok && p.marked {
		err := seg.Resume(mark, cutBound(w.cfg, int64(w.cfg.SyncBytes)))
		if !errors.Is(err, segment.ErrMark) {
			return nil, false, err
		}
		w.log.Warn("the checkpoint does not fit the segments", "stream", p.name, "error", err)
		w.m.checkpointInvalid.WithLabelValues("stale").Inc()
	}
	end, _, err = seg.Recover()
	if err != nil {
		seg.Abandon()
		return nil, false, err
	}
	w.ledger.mark(p.name, seg.Mark())
	return end, true, nil
}
