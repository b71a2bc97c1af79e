package ship

import (
	"context"
	"time"

	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/tail"
)

// maintainInterval is how often, without commits, segments are sealed by age and the limits of
// retention are applied.
const maintainInterval = time.Minute

// maintainEvery returns maintainInterval, or a shorter interval if segments have to be
// sealed sooner.
func (c Config) maintainEvery() time.Duration {
	if age := c.Segment.SegmentAge; age > 0 {
		return min(maintainInterval, max(time.Second, age/4))
	}
	return maintainInterval
}

const (
	maxOpenSegments = 64  // segments that stay open between commits, if the descriptors allow that many
	maxIdleStreams  = 128 // streams without files that are remembered, so that they can continue where they ended
)

// maintain seals segments, deletes those beyond the limits of retention, forgets streams without
// files if there are many, and closes descriptors beyond the bound. Its errors lose no line; they are counted.
func (w *writer) maintain(ctx context.Context) {
	if w.taken.bytes == 0 {
		// A refused stream may have uncommitted bytes past its mark.
		refused := func(name string) bool { _, is := w.refused.streams[name]; return is }
		idle := w.check.ForgetIdle(maxIdleStreams, refused)
		for _, name := range idle {
			w.tolerate(w.store.Stream(name).Close()) // even if nothing was written to the stream since the start
			delete(w.streams, name)
		}
		w.link.health.forget(idle)
		w.follow.ended(idle)
		if len(w.streams) > min(maxOpenSegments, w.bounds.streams) {
			for _, st := range w.streams {
				w.tolerate(st.segments.CloseIdle())
			}
		}
	}
	w.retain(ctx)
}

// retain seals and deletes segments. Before the newest segment of a stream is deleted, the
// checkpoint records the deletion.
func (w *writer) retain(ctx context.Context) {
	err := w.store.Maintain(time.Now(), func(released []*store.Stream) error {
		for _, st := range released {
			w.check.SetMark(st.Name(), st.Mark())
		}
		return w.saveCheckpoint(ctx)
	})
	if err == nil && w.taken.bytes == 0 {
		err = w.commitSeals(ctx)
	}
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
	if w.link.health.setMaintenance(err) {
		// messages.md#the-destination: Sealing, deleting or closing segments failed. No line is
		// lost. ullage retries.
		w.log.Warn("segment maintenance failed", "kind", kind, "error", err, "hint", "maintenance is retried")
	}
}

// commitSeals records in the checkpoint which segments were sealed without a commit: by age, or
// at the end. After a restart, a segment could grow again if its seal were not in the
// checkpoint.
func (w *writer) commitSeals(ctx context.Context) error {
	sealed := 0
	for _, name := range w.check.Streams() {
		mark, ok := w.check.Mark(name)
		if is := w.store.Stream(name).Mark(); ok && is.Sealed && !mark.Sealed && is.Segment == mark.Segment && is.Offset == mark.Offset {
			sealed++
			w.check.SetMark(name, is)
		}
	}
	if sealed == 0 {
		return nil
	}
	return w.saveCheckpoint(ctx)
}
