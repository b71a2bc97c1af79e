package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// placing is a writer that is starting. It positions each stream's segments after the committed
// bytes of the stream.
type placing struct {
	*writer
	from start
}

// begin acquires the destination and places the segments of all streams: streams with a
// mark after the mark, and the others after their last sound frame. The reader is already
// running. It has read the files of streams without a mark from the beginning, and begins again
// now that the ends of their segments are known.
func (p *placing) begin(ctx context.Context) error {
	if err := p.store.Acquire(ctx); err != nil {
		return err
	}
	if !p.from.keyed {
		p.detail.resume()
	}
	p.compareNumber()
	own := p.cfg.mostUncommitted()
	if own > p.check.Uncommitted {
		p.check.Uncommitted = own
		p.unsaved = true
	}
	if err := p.placeStreams(ctx); err != nil {
		return err
	}
	if len(p.refused.streams) == 0 {
		p.check.Uncommitted = own // the bytes past the marks are cut off
	}
	p.link.health.setFailure(nil, time.Time{})
	again := rewind{ends: p.ends, uncommitted: p.from.invalid && !p.from.keyed, news: p.from.invalid}
	if len(p.recovered) > 0 || again.uncommitted || p.from.lost {
		if err := p.rewind(ctx, again); err != nil {
			return err
		}
	}
	// With or without a rewind, all checkpoints of earlier processes are stale from now on.
	p.check.BeginRun()
	if err := p.saveCheckpoint(ctx); err != nil {
		return err
	}
	p.unsaved = false
	// This must not happen earlier: followers and retention treat every stream that is not placed
	// as ended.
	p.follow.begin()
	p.retain(ctx)
	p.view.setRestored()
	return nil
}

// compareNumber checks that the checkpoint is still the newest, now that the destination is
// acquired. It was the newest when it was loaded, but another sidecar with another source may
// have held the destination since.
func (p *placing) compareNumber() {
	newest := p.store.Number()
	if newest <= p.check.Number() {
		return
	}
	p.check.SetKey(p.store.Key(), newest)
	if p.from.outdated = len(p.check.Streams()) > 0; p.from.outdated {
		p.stale("", fmt.Errorf("checkpoint %d was saved for this destination by another sidecar", newest))
	}
}

// stale logs that the marks of one stream, or of all streams, are not used.
func (p *placing) stale(stream string, err error) {
	// messages.md#the-checkpoint: This is a different destination, or another process changed it.
	p.log.Warn("checkpoint does not match the segments", "stream", stream, "error", err, "hint", hintInvalid)
	p.m.checkpointInvalid.WithLabelValues("stale").Inc()
}

// unplaced returns the streams that have to be placed, whether their mark is known or lost.
func (p *placing) unplaced() []string {
	names := p.check.Streams()
	for _, name := range p.from.streams {
		if _, marked := p.check.Mark(name); !marked {
			names = append(names, name)
		}
	}
	return names
}

// placeStreams places all streams, and starts over if the destination is replaced.
func (p *placing) placeStreams(ctx context.Context) error {
	for _, name := range p.unplaced() {
		err := p.placeStream(ctx, name)
		if errors.Is(err, errReplaced) {
			return p.placeStreams(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errReplaced reports that the destination is a different directory than before.
var errReplaced = errors.New("the destination was replaced")

// placeStream places the segments of a stream. Errors of the destination are
// retried.
func (p *placing) placeStream(ctx context.Context, name string) error {
	err := p.placeOrRefuse(name)
	for backoff := newBackoff(); err != nil; {
		pause := backoff.Next()
		p.destinationFailed(err, pause)
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
		var replaced bool
		if replaced, err = p.store.Reopen(ctx); err != nil {
			continue
		}
		if replaced {
			p.follow.to.destination(p.cfg.Dest)
			p.check.SetKey(p.store.Key(), p.store.Number())
			return errReplaced
		}
		err = p.placeOrRefuse(name)
	}
	return nil
}

// placeOrRefuse calls tryPlace, and returns nil if the destination refuses only this stream.
// Placing the stream is then retried later. If the stream has no mark because the checkpoint
// was lost, the new checkpoint records the loss, in case of a restart before the retry.
func (p *placing) placeOrRefuse(name string) error {
	err := p.tryPlace(name)
	if !errors.Is(err, store.ErrRefused) {
		return err
	}
	p.refuse(name, err, func() error { return p.tryPlace(name) })
	if _, marked := p.check.Mark(name); !marked && p.from.invalid {
		p.check.Lost = true
		p.unsaved = true
	}
	return nil
}

func (p *placing) tryPlace(name string) error {
	seg := p.store.Stream(name)
	mark, marked := p.check.Mark(name)
	if _, unheld := p.from.source.Unheld[name]; marked && !unheld && !p.from.outdated {
		if _, unread := p.from.source.Unread[name]; !unread && !p.detail.supplies(name) {
			return p.resumeDry(name, seg, mark)
		}
		err := seg.Resume(mark, p.check.Uncommitted)
		if !errors.Is(err, store.ErrMark) {
			return err
		}
		p.stale(name, err)
	}
	// Bytes that cannot be read again must not be cut off.
	err := p.recover(name, seg)
	if !marked && !p.from.lost && !p.from.invalid {
		delete(p.ends, name) // no line in the source was persisted
	}
	return err
}

// resumeDry places a stream that has no unread lines in the source. Normally, nothing is
// past its mark. If there are bytes past it, they cannot be supplied again: their file was
// deleted, or the checkpoint is an old one that was put back. So these bytes stay.
func (p *placing) resumeDry(name string, seg *store.Stream, mark segment.Mark) error {
	err := seg.Resume(mark, 0)
	if errors.Is(err, store.ErrMark) {
		p.log.Debug("keeping segment data after the mark", "stream", name, "error", err)
		err = p.recover(name, seg)
		delete(p.ends, name) // the source has no lines in which to look for the end
	}
	return err
}
