package ship

import (
	"context"
	"time"

	"github.com/ullage/ullage/internal/tail"
)

// appendBatch takes about a frame of bytes from the queue and appends them,
// one frame for each stream in it. It takes less where that would be more
// streams than can have a segment open before the next commit.
func (w *writer) appendBatch(ctx context.Context) error {
	if err := w.cpu.wait(ctx); err != nil {
		return err
	}
	w.link.progress.Store(time.Now().UnixNano()) // that was our own limit, not the destination
	w.batch = w.link.queue.Peek(w.batch[:0], w.frame())
	w.order = w.order[:0]
	for i, c := range w.batch {
		st, err := w.stream(c.Meta.File.Stream())
		if err != nil {
			return err
		}
		w.unsaved = w.ledger.meet(c.Meta) || w.unsaved
		if len(st.parts) == 0 && st.bytes == 0 {
			if w.dirty == w.maxOpen {
				clear(w.batch[i:])
				w.batch = w.batch[:i]
				break
			}
			w.dirty++
		}
		if len(st.parts) == 0 {
			w.order = append(w.order, st)
		}
		st.parts = append(st.parts, i)
	}
	if w.oldest.IsZero() && len(w.batch) > 0 {
		w.oldest = w.batch[0].Meta.Read
		w.link.oldest.Store(w.oldest.UnixNano())
	}
	if err := w.saveMarks(ctx); err != nil {
		return err
	}
	for _, st := range w.order {
		if err := w.appendFrame(st); err != nil {
			return err
		}
		for _, i := range st.parts {
			c := w.batch[i]
			w.last[c.Meta.File] = c.Meta
			w.pending += len(c.Data)
			st.bytes += uint64(len(c.Data))
			st.made += uint64(c.Meta.Made)
			for level, n := range c.Meta.Lines {
				st.lines[level] += uint64(n)
			}
		}
		st.parts = st.parts[:0]
	}
	w.link.queue.Release(len(w.batch))
	w.link.progress.Store(time.Now().UnixNano())
	clear(w.batch) // or it would keep files alive that are let go of
	return nil
}

// appendFrame appends the stream's parts of the batch as one frame. Most often
// they lie side by side in the queue already.
func (w *writer) appendFrame(st *writerStream) error {
	first, last := st.parts[0], st.parts[len(st.parts)-1]
	if last-first == len(st.parts)-1 {
		if raw, ok := w.link.queue.Span(w.batch[first : last+1]); ok {
			return st.segments.Append(raw)
		}
	}
	w.staging = w.staging[:0]
	for _, i := range st.parts {
		w.staging = append(w.staging, w.batch[i].Data...)
	}
	return st.segments.Append(w.staging)
}

// stream returns the writer's side of a stream. The mark of a new one has to be
// saved before anything is appended behind it.
func (w *writer) stream(src *tail.Stream) (*writerStream, error) {
	if st := w.streams[src.Name()]; st != nil {
		return st, nil
	}
	st := &writerStream{name: src.Name(), label: src.Label(), segments: w.store.Stream(src.Name())}
	if _, known := w.ledger.markOf(st.name); !known {
		if _, _, err := st.segments.Recover(); err != nil {
			return nil, err
		}
		w.ledger.mark(st.name, st.segments.Mark())
		w.unsaved = true
	}
	w.streams[st.name] = st
	return st, nil
}
