package ship

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/position"
)

// commit makes everything that was appended durable, saves the checkpoint, and publishes
// the positions.
func (w *writer) commit(ctx context.Context) error {
	if w.taken.bytes == 0 {
		w.taken.streams = 0
		return nil
	}
	started := time.Now()
	clear(w.marks)
	for _, st := range w.streams {
		if st.bytes == 0 {
			continue
		}
		mark, err := st.segments.Sync()
		if errors.Is(err, store.ErrRefused) {
			w.refuseOpen(st, err)
			continue
		}
		if err != nil {
			// Synced bytes of other streams will be cut off again: their old marks are
			// still valid.
			return err
		}
		w.marks[st.name] = mark
	}
	if w.taken.bytes == 0 {
		return nil // everything belonged to refused streams
	}
	for name, mark := range w.marks {
		w.check.SetMark(name, mark)
	}
	for _, st := range w.streams {
		w.check.Withheld.Add(st.name, st.withheld.lines)
	}
	w.detail.commits()
	for f, c := range w.taken.last {
		w.check.SetFile(f.Content(), position.Saved{Stream: f.Stream(), Position: c.End})
	}
	if err := w.saveCheckpoint(ctx); err != nil {
		return err
	}
	w.detail.committed()
	w.unsaved = false
	now := time.Now()
	w.link.health.committed(w.marks, now)
	w.link.progress.Store(now.UnixNano())
	w.link.commits.Add(1)
	w.taken.last = w.link.replies.publish(w.taken.last)
	w.m.commits.Observe(time.Since(started).Seconds())
	w.committed()
	for name := range w.marks {
		if st := w.streams[name]; st != nil {
			st.segments.SeenUntil(st.read)
		}
	}
	w.maintain(ctx)
	return nil
}

// committed counts the lines that a commit has persisted and resets the counts.
func (w *writer) committed() {
	for _, st := range w.streams {
		if st.taken == 0 {
			continue
		}
		st.persisted(w.m)
		st.forget()
	}
	w.taken.forget()
	w.link.oldest.Store(0)
	if w.link.health.setFailure(nil, time.Time{}) {
		// messages.md#the-destination: The earlier error is over.
		w.log.Info("commits succeed again")
	}
}

// persisted counts the lines of the stream that a commit made durable or withheld.
func (st *writerStream) persisted(m *metrics) {
	count(m.withheldLines.MustCurryWith(prometheus.Labels{"stream": st.label}), st.withheld.lines)
	count(m.savedLines, st.saved)
	if st.withheld.bytes > 0 {
		m.withheldBytes.WithLabelValues(st.label).Add(float64(st.withheld.bytes))
	}
	count(m.persistedLines.MustCurryWith(prometheus.Labels{"stream": st.label}), st.lines)
	m.persistedBytes.WithLabelValues(st.label).Add(float64(st.bytes - st.made - st.savedBytes))
}
