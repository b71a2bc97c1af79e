package ship

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// Saving is what a call of [Shipper.Save] has begun.
type Saving struct {
	From  time.Time // since when the oldest lines that are held were written; zero: none are
	Until time.Time // lines that are written until then are saved as well
	Bytes int64     // that are held, compressed
	Began bool      // nothing was being saved before
}

// ErrNoHindsight says that no line is held that could be saved.
var ErrNoHindsight = errors.New("no lines are held in hindsight: set --persist-level above trace, and --hindsight")

// Save has the withheld lines persisted that are held in hindsight, and those that are
// written in the next as long time, each stream's in a stream with [naming.DetailSuffix]. It
// does not wait for that, and is safe for concurrent use.
func (s *Shipper) Save() (Saving, error) {
	held := s.link.held
	if held == nil {
		return Saving{}, ErrNoHindsight
	}
	now, st := time.Now(), held.Stats()
	until := now.Add(s.cfg.Hindsight)
	held.SaveUntil(until)
	select {
	case s.link.save <- struct{}{}:
	default: // the writer has yet to see an earlier one
	}
	return Saving{From: st.Oldest, Until: until, Bytes: st.Bytes, Began: st.Until.Before(now)}, nil
}

// closeHeld closes the hindsight, and leaves what it holds for the next start.
func (l *link) closeHeld() {
	if l.held != nil {
		l.held.Close()
	}
}

// detail is the part of the writer that has to do with lines below the persist level. It
// counts them, holds them in hindsight, and saves them.
//
// A commit makes one step of all: the positions behind the lines, their counts, where
// those stand that are held, and the marks behind those that were saved.
type detail struct {
	*writer
	held   *hindsight.Log // nil: they are only counted
	lines  []byte         // of one batch
	unheld retry.Limiter  // lines cannot be held
}

// hintUnheld is what follows from an error of the hindsight.
const hintUnheld = "withheld lines are counted and not held; all else works"

// attach goes on in another state directory, or none, where nothing is held.
func (d *detail) attach(dir *os.File) {
	if d.held == nil {
		return
	}
	if err := d.held.Attach(dir); err != nil {
		// messages.md#hindsight: Lines below `--persist-level` are counted as withheld and not
		// held: nothing can be saved. Look at `.ullage` in the source.
		d.log.Error("opening the hindsight failed", "error", err, "hint", hintUnheld)
	}
	d.check.Withheld.Held = d.held.State()
}

// resume continues with what the checkpoint says that is held.
func (d *detail) resume() { resumeHeld(d.held, d.check, d.log) }

// resumeHeld continues with what the checkpoint says that held has; nil: nothing is held.
func resumeHeld(held *hindsight.Log, check *checkpoint.Checkpoint, log *slog.Logger) {
	if held == nil {
		check.Withheld.Held = hindsight.State{} // attach has removed what an earlier process held
		return
	}
	if err := held.Resume(check.Withheld.Held); err != nil {
		// messages.md#hindsight: As `opening the hindsight failed`.
		log.Error("reading the hindsight failed", "error", err, "hint", hintUnheld)
	}
}

// supplies reports whether what is behind the mark of a stream comes from the hindsight,
// which supplies it again.
func (d *detail) supplies(stream string) bool {
	return d.held != nil && strings.HasSuffix(stream, naming.DetailSuffix)
}

// begin makes the checkpoint say that lines are being saved, so that a restart goes on
// with that.
func (d *detail) begin(ctx context.Context) error {
	d.check.Withheld.Held.Until = d.held.State().Until
	return d.saveCheckpoint(ctx)
}

// hold counts the withheld lines of the stream's parts of the batch, and holds them. It
// leaves the other lines in the parts.
func (d *detail) hold(st *writerStream) {
	if !d.cfg.withholds() {
		return
	}
	b := hindsight.Batch{Stream: st.name, Raw: d.lines[:0]}
	for _, i := range st.parts {
		lines, raw := d.split(&d.batch[i])
		if len(b.Raw)+len(raw) > segment.FrameBytes {
			d.add(&b)
		}
		if len(b.Raw) == 0 {
			b.Since = d.batch[i].Meta.Since
		}
		b.Read, b.Raw = d.batch[i].Meta.Read, append(b.Raw, raw...)
		st.withheldBytes += uint64(len(raw))
		for level, n := range lines {
			b.Lines[level] += n
			st.withheld[level] += uint64(n)
		}
	}
	d.add(&b)
	d.lines = b.Raw
}

// split takes the withheld lines out of a chunk, and returns them and how many they are.
func (d *detail) split(c *queue.Chunk[tail.Chunk]) (lines [ul.NumLevels]uint32, raw []byte) {
	if c.Meta.File.Whole() {
		return lines, nil
	}
	at := len(c.Data) - c.Meta.Withheld
	c.Data, raw = c.Data[:at], c.Data[at:]
	c.Meta.Made = min(c.Meta.Made, at)
	for level := range lines {
		if ul.Level(level).Below(d.cfg.PersistLevel) {
			lines[level], c.Meta.Lines[level] = c.Meta.Lines[level], 0
		}
	}
	return lines, raw
}

// add holds the batch, and empties it. Lines are withheld although a full tmpfs does not
// hold them: then they cannot be saved.
func (d *detail) add(b *hindsight.Batch) {
	if d.held != nil && len(b.Raw) > 0 {
		if err := d.held.Append(*b); err != nil {
			d.m.unheld.Add(float64(len(b.Raw)))
			if d.unheld.Allow(time.Now()) {
				// messages.md#hindsight: Most likely the tmpfs is full. These withheld lines, and
				// those held before them, cannot be saved; `ullage_hindsight_lost_bytes_total` counts
				// the former. Logged at most once a minute.
				d.log.Warn("holding lines failed", "stream", b.Stream, "error", err, "hint", "they, and those held before them, cannot be saved in hindsight; all are counted as withheld")
			}
		}
	}
	b.Raw, b.Lines = b.Raw[:0], [ul.NumLevels]uint32{}
}

// commits puts into the checkpoint what was withheld, and what of it is held.
func (d *detail) commits() {
	for _, st := range d.streams {
		d.check.Withheld.Add(st.name, st.withheld)
	}
	if d.held != nil {
		d.check.Withheld.Held = d.held.State()
	}
}

// committed frees what was saved, and is committed.
func (d *detail) committed() {
	if d.held != nil {
		d.held.Committed(d.check.Withheld.Held)
	}
}

// rewind forgets what is not committed.
func (d *detail) rewind() {
	if d.held != nil {
		d.held.Rewind()
	}
}

// forget forgets what is not committed of a stream: its lines are read again.
func (d *detail) forget(stream string) {
	if d.held == nil {
		return
	}
	if err := d.held.Forget(stream); err != nil {
		// messages.md#hindsight: The destination refuses a stream, and the tmpfs failed as well.
		// Held lines of other streams are lost.
		d.log.Warn("forgetting held lines failed", "stream", stream, "error", err, "hint", "held lines of other streams are lost")
	}
}

// save appends held lines that are to be saved to their streams, about a frame of them,
// and reports whether there were any. The next commit makes them durable and frees them.
func (d *detail) save(ctx context.Context) (saved bool, err error) {
	if d.held == nil {
		return false, nil
	}
	for bytes := 0; bytes < d.link.frame() && !d.taken.full(d.link.frame(), d.bounds); {
		r, ok := d.held.Next(d.cfg.Segment.Compress != segment.Zstd)
		if !ok {
			break
		}
		if err := d.append(ctx, &r); err != nil {
			return saved, err
		}
		d.held.Saved(r)
		saved, bytes = true, bytes+r.Size()
	}
	return saved, nil
}

// append appends the lines of a record to the stream for them. If the destination refuses
// that, they stay withheld.
func (d *detail) append(ctx context.Context, r *hindsight.Record) error {
	name := r.Stream + naming.DetailSuffix
	if segment.ValidStream(name) != nil {
		return nil // it is too long
	}
	st, err := d.stream(name, tail.OtherLabel)
	if st == nil || err != nil {
		return err
	}
	if err := d.saveMarks(ctx); err != nil {
		return err
	}
	if st.taken == 0 {
		d.taken.streams++
	}
	size := r.Size()
	st.taken += size
	d.taken.bytes += size
	if d.taken.oldest.IsZero() {
		d.taken.oldest = time.Now()
	}
	if d.cfg.Segment.Compress == segment.Zstd {
		err = st.segments.AppendFrame(r.Frame)
		st.sum.frame(st.segments, nil)
	} else {
		err = st.appendFrame(r.Raw)
		st.sum.partly = true
	}
	if errors.Is(err, store.ErrRefused) {
		d.refuseOpen(st, err)
		return nil
	}
	if err != nil {
		return err
	}
	st.bytes, st.savedBytes = st.bytes+uint64(size), st.savedBytes+uint64(size)
	st.read = r.Read
	for level, n := range r.Lines {
		st.saved[level] += uint64(n)
	}
	return nil
}
