package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// restore brings source and segments to where the last process ended. It runs
// before the loops, so it uses what belongs to both.
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
	s.view.update(s.src)
	ends, err := s.placeStreams(ctx, ok)
	if err != nil {
		return err
	}
	found := 0
	for name, end := range ends {
		aligned, err := s.src.Align(name, end)
		if err != nil {
			s.log.Warn("cannot search the source for where a stream ended", "stream", name, "error", err)
		}
		if aligned {
			found++
		}
	}
	if len(ends) > 0 && (ok || len(invalid) > 0) {
		s.log.Warn("no usable checkpoint, the segments decided where reading begins", "streams", len(ends), "found", found)
	}
	s.ledger.replaceFiles(s.src.Positions())
	if len(ends) == 0 {
		return nil
	}
	return s.writer.saveCheckpoint(ctx)
}

// placeStreams places the segments of every stream behind what is committed:
// where the checkpoint says, or else behind all that is sound. For the latter
// it returns how they end. Errors of the destination are retried.
func (s *Shipper) placeStreams(ctx context.Context, checkpointed bool) (map[string][]byte, error) {
	ends := map[string][]byte{}
	names := s.ledger.streamNames()
	if !checkpointed {
		names = s.src.StreamNames()
	}
	backoff := firstBackoff
	for i := 0; i < len(names); {
		end, recovered, err := s.placeStream(names[i])
		if err == nil {
			if recovered {
				ends[names[i]] = end
			}
			i++
			continue
		}
		s.writer.destinationFailed(err, backoff)
		if err := sleep(ctx, backoff); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, maxBackoff)
	}
	s.link.setFailure(nil, time.Time{})
	// Not before: retention takes every stream that is not placed for ended.
	s.writer.tolerate(s.store.Maintain(time.Now()))
	return ends, nil
}

func (s *Shipper) placeStream(name string) (end []byte, recovered bool, err error) {
	seg := s.store.Stream(name)
	// What cannot be read again must not be cut off.
	if mark, ok := s.ledger.markOf(name); ok && !s.src.Unheld(name) {
		err := seg.Resume(mark, cutBound(s.cfg, int64(s.cfg.SyncBytes)))
		if !errors.Is(err, segment.ErrMark) {
			return nil, false, err
		}
		s.log.Warn("the checkpoint does not fit the segments", "stream", name, "error", err)
		s.metrics.checkpointInvalid.WithLabelValues("stale").Inc()
	}
	end, _, err = seg.Recover()
	if err != nil {
		seg.Abandon()
		return nil, false, err
	}
	s.ledger.mark(name, seg.Mark())
	return end, true, nil
}
