package ship

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// appendBatch takes about one frame of bytes from the queue and appends them, as one frame
// for each of their streams. It takes less if the bytes belong to more streams than may have a
// segment open before the next commit.
func (w *writer) appendBatch(ctx context.Context) error {
	if err := w.takeBatch(); err != nil {
		return err
	}
	if err := w.saveMarks(ctx); err != nil {
		return err
	}
	w.staging.used = time.Now()
	for _, st := range w.order {
		err := w.appendParts(st)
		if errors.Is(err, store.ErrRefused) {
			w.refuseOpen(st, err)
		} else if err != nil {
			return err
		}
	}
	w.link.queue.Release(len(w.batch))
	w.link.progress.Store(time.Now().UnixNano())
	clear(w.batch) // otherwise, the batch would keep closed files alive
	return nil
}

// takeBatch peeks at the queue and sorts its chunks by stream. It skips refused streams.
func (w *writer) takeBatch() error {
	w.batch = w.link.queue.Peek(w.batch[:0], w.link.frame())
	w.order = w.order[:0]
	for i, c := range w.batch {
		st, err := w.stream(c.Meta.File.Stream(), c.Meta.File.Label())
		if err != nil {
			return err
		}
		if st == nil {
			continue
		}
		w.unsaved = w.check.Meet(c.Meta.File.Content(), c.Meta.File.Stream()) || w.unsaved
		if len(st.parts) == 0 && st.taken == 0 {
			if w.taken.streams >= w.bounds.streams {
				clear(w.batch[i:])
				w.batch = w.batch[:i]
				break
			}
			w.taken.streams++
		}
		if len(st.parts) == 0 {
			w.order = append(w.order, st)
		}
		st.parts = append(st.parts, i)
	}
	return nil
}

// appendParts appends a stream's parts of the batch.
func (w *writer) appendParts(st *writerStream) error {
	size := st.size(w.batch)
	w.taken.bytes, st.taken = w.taken.bytes+size, st.taken+size
	w.detail.hold(st.name, w.batch, st.parts, &st.withheld)
	if err := w.appendFrames(st); err != nil {
		return err
	}
	if first := w.batch[st.parts[0]].Meta.Read; w.link.oldest.Load() == 0 {
		w.link.oldest.Store(first.UnixNano())
		if w.taken.oldest.IsZero() {
			w.taken.oldest = first
		}
	}
	for _, i := range st.parts {
		c := w.batch[i]
		w.taken.last[c.Meta.File] = c.Meta
		st.read = c.Meta.Read
		lines := len(c.Data)
		if c.Meta.Frame > 0 {
			lines = c.Meta.Frame
		}
		st.bytes += uint64(lines)
		st.made += uint64(c.Meta.Made)
		for level, n := range c.Meta.Lines {
			st.lines[level] += uint64(n)
		}
		st.segments.Count(&c.Meta.Lines)
		w.follow.to.Followers.gaps(st.name, &c)
	}
	st.parts = st.parts[:0]
	return nil
}

// gaps passes on the gaps whose markers are in a chunk that was appended.
func (f *Followers) gaps(stream string, c *queue.Chunk[tail.Chunk]) {
	if f.OnGap == nil || c.Meta.Made == 0 || c.Meta.Frame > 0 {
		return
	}
	for line := range bytes.Lines(c.Data) {
		if gap, ok := ul.ParseMarker(line); ok {
			f.OnGap(stream, gap)
		}
	}
}

// size returns the size in bytes of the stream's parts of the batch.
func (st *writerStream) size(batch []queue.Chunk[tail.Chunk]) (n int) {
	for _, i := range st.parts {
		n += len(batch[i].Data)
	}
	return n
}

// appendFrames appends the stream's parts of the batch: consecutive parts with lines as one
// frame, and parts that already are frames unchanged.
func (w *writer) appendFrames(st *writerStream) (err error) {
	for parts := st.parts; len(parts) > 0 && err == nil; {
		n := 1
		if c := w.batch[parts[0]]; c.Meta.Frame > 0 {
			err = st.segments.AppendFrame(c.Data)
		} else {
			for n < len(parts) && w.batch[parts[n]].Meta.Frame == 0 {
				n++
			}
			err = w.appendLines(st, parts[:n])
		}
		parts = parts[n:]
	}
	return err
}

// appendLines appends parts of the batch as one frame. Usually they are already contiguous in
// the queue.
func (w *writer) appendLines(st *writerStream, parts []int) error {
	first, last := parts[0], parts[len(parts)-1]
	if last-first == len(parts)-1 {
		if raw, ok := w.link.queue.Span(w.batch[first : last+1]); ok {
			return st.appendFrame(raw)
		}
	}
	frame := w.staging.frame[:0]
	for _, i := range parts {
		frame = append(frame, w.batch[i].Data...)
	}
	w.staging.frame = frame
	return st.appendFrame(frame)
}

// appendFrame appends lines as one frame. raw is empty if all lines of a batch are withheld.
func (st *writerStream) appendFrame(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	return st.segments.Append(raw)
}

// stream returns the writer's side of the stream with the given name and the given label in
// metrics. It returns nil if the stream is refused.
func (w *writer) stream(name, label string) (*writerStream, error) {
	if _, refused := w.refused.streams[name]; refused {
		return nil, nil
	}
	if st := w.streams[name]; st != nil {
		return st, nil
	}
	st := &writerStream{name: name, label: label, segments: w.store.Stream(name)}
	if err := w.placeNew(st.name); errors.Is(err, store.ErrRefused) {
		w.refuse(st.name, err, func() error { return w.placeNew(st.name) })
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	w.streams[st.name] = st
	return st, nil
}

// placeNew places a stream that has no mark yet. The mark must be saved before anything is
// appended after it.
func (w *writer) placeNew(name string) error {
	if _, known := w.check.Mark(name); known {
		return nil
	}
	segments := w.store.Stream(name)
	if _, _, err := segments.Recover(); err != nil {
		return err
	}
	w.check.SetMark(name, segments.Mark())
	w.unsaved = true
	return nil
}
