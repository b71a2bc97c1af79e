package ship

import (
	"context"
	"log/slog"

	"github.com/ullage/ullage/internal/ship/position"
)

// rewind forgets everything uncommitted and returns the positions at which reading
// continues. The writer waits meanwhile. For the streams in ends, the source is searched
// for the ends of their segments.
func (r *reader) rewind(request rewind) map[position.Content]position.Saved {
	r.takeCommitted()
	r.link.queue.Reset()
	if request.uncommitted {
		r.src.Start.ForgetCommits()
	}
	r.src.Start.Rewind()
	if len(request.ends) > 0 {
		r.align(request.ends, request.news)
	}
	r.src.Start.Aligned()
	if r.drain.on {
		r.drain.asked = false
		select {
		case <-r.link.flush: // a request from before the rewind
		default:
		}
		select {
		case <-r.link.flushed: // an answer from before the rewind
		default:
		}
	}
	return r.src.Start.Positions()
}

// align finds the ends of streams without a mark in the source, so that reading begins there.
// news means that a usable checkpoint was expected, so that its absence is logged as a warning.
func (r *reader) align(ends map[string][]byte, news bool) {
	found := 0
	for name, end := range ends {
		aligned, err := r.src.Start.Align(name, end)
		if err != nil {
			// messages.md#the-checkpoint: The stream is read from the beginning; lines may be
			// persisted twice.
			r.log.Warn("searching the source for a stream's end failed", "stream", name, "error", err)
		}
		if aligned {
			found++
		}
	}
	level := slog.LevelDebug
	if news {
		level = slog.LevelWarn
	}
	// messages.md#the-checkpoint: The segments decided where reading resumes. `streams` is the
	// number of streams, and `found` the number whose end ullage found in the source. It reads the
	// others from their last known position, or from the beginning.
	r.log.Log(context.Background(), level, "no usable checkpoint", "streams", len(ends), "found", found,
		"hint", "the segments decide where reading resumes")
}

// takeCommitted applies the published commits and refusals.
func (r *reader) takeCommitted() {
	if refused := r.link.replies.take(r.src.Reclaimer.Committed); refused != nil {
		r.src.Capacity.Refuse(refused)
	}
}
