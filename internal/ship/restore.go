package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// start is what is known of streams when reading begins.
type start struct {
	keyed   bool                // the destination has told the key before
	marked  bool                // there is a checkpoint
	invalid bool                // there is one, or a part of it, that does not count
	streams []string            // those that have files
	unheld  map[string]struct{} // those that cannot supply again what the checkpoint takes for uncommitted
}

// restore brings the source to where the last process ended. It runs before
// the loops, so it uses what belongs to both. Nothing is asked of the
// destination, which may stand still: begin does that.
func (s *Shipper) restore() (start, error) {
	st, marked, invalid := s.check.load()
	s.reportInvalid(invalid)
	s.ledger.load(st)
	s.src.Restore(s.ledger.saved())
	if _, err := s.src.Scan(); err != nil {
		return start{}, fmt.Errorf("find where the last run ended: %w", err)
	}
	s.src.Tidy()
	s.view.update(s.src)
	s.ledger.replaceFiles(s.src.Positions())
	return start{marked: marked, invalid: len(invalid) > 0, streams: s.src.StreamNames(), unheld: s.src.Unheld()}, nil
}

func (s *Shipper) reportInvalid(invalid []error) {
	for _, err := range invalid {
		s.metrics.checkpointInvalid.WithLabelValues(slotReason(err)).Inc()
		s.log.Warn("ignoring an invalid checkpoint slot", "error", err)
	}
}

// unseal finds out whether the checkpoint that reading began with, while the
// destination did not answer, is one of ours.
func (s *Shipper) unseal(from start) start {
	marked, invalid := s.check.unseal(s.store.Key(), s.ledger.loadMarks)
	s.reportInvalid(invalid)
	from.marked, from.invalid = marked, len(invalid) > 0
	return from
}

// place is a stream whose segments have to be placed at a start: at the mark
// of the checkpoint, or else behind all of them that is sound.
type place struct {
	name   string
	marked bool
}

// begin makes the destination ours and places the segments of all streams. The
// reader runs already, from where the checkpoint says. Without a valid one it
// began with what is in the files, and begins again now that it is known how
// the segments end.
func (w *writer) begin(ctx context.Context, from start) error {
	if err := w.store.Acquire(ctx); err != nil {
		return fmt.Errorf("open destination: %w", err)
	}
	ends, err := w.placeStreams(ctx, w.placesOf(from))
	if err != nil {
		return err
	}
	again := rewind{ends: ends, anew: from.invalid && !from.keyed, news: from.marked || from.invalid}
	if len(ends) > 0 || again.anew {
		if err := w.link.requestRewind(ctx, again); err != nil {
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

// placesOf returns the streams that have files, or a mark.
func (w *writer) placesOf(from start) (places []place) {
	for _, name := range w.ledger.streamNames() {
		// What cannot be read again must not be cut off.
		_, unheld := from.unheld[name]
		places = append(places, place{name, !unheld})
	}
	for _, name := range from.streams {
		if _, marked := w.ledger.markOf(name); !marked {
			places = append(places, place{name, false})
		}
	}
	return places
}

// placeStreams places the segments of streams behind what is committed. For
// those without a mark it returns how they end. Errors of the destination are
// retried.
func (w *writer) placeStreams(ctx context.Context, places []place) (map[string][]byte, error) {
	ends := map[string][]byte{}
	for backoff := firstBackoff; len(places) > 0; {
		p := places[0]
		end, recovered, err := w.placeStream(p)
		if err == nil {
			if recovered {
				ends[p.name] = end
			}
			places = places[1:]
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
