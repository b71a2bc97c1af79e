package ship

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// detail handles lines below the persist level for the writer. It counts them, holds them
// in hindsight, and supplies the lines that should be saved.
//
// A commit records four things in one step: the positions after the lines, the counts of
// the lines, the extent of the held lines, and the marks after the saved lines.
type detail struct {
	level  ul.Level // lines below it are withheld; [ul.Trace] withholds none
	log    *slog.Logger
	check  *checkpoint.Withheld
	held   *hindsight.Log     // nil: lines are only counted
	unheld prometheus.Counter // bytes that could not be held

	lines  []byte        // of one batch
	failed retry.Limiter // limits the log about lines that cannot be held
}

// withheld counts lines that were not persisted.
type withheld struct {
	lines [ul.NumLevels]uint64
	bytes uint64
}

// hintUnheld is the hint for errors of the hindsight.
const hintUnheld = "withheld lines are counted but not held; everything else works"

// attach switches to the hindsight in another state directory. If dir is nil, nothing is
// held.
func (d *detail) attach(dir *os.File) {
	if d.held == nil {
		hindsight.Remove(dir) // removes lines that an earlier process held
		return
	}
	if err := d.held.Attach(dir); err != nil {
		// messages.md#hindsight: Lines below `--persist-level` are counted as withheld but not
		// held: nothing can be saved. Look at `.ullage` in the source.
		d.log.Error("opening the hindsight buffer failed", "error", err, "hint", hintUnheld)
	}
	d.check.Held = d.held.State()
}

// resume continues with the held lines of the checkpoint.
func (d *detail) resume() {
	if d.held == nil {
		d.check.Held = hindsight.State{}
		return
	}
	if err := d.held.Resume(d.check.Held); err != nil {
		// messages.md#hindsight: Lines below `--persist-level` are counted as withheld but not
		// held: nothing can be saved. Look at `.ullage` in the source.
		d.log.Error("reading the hindsight buffer failed", "error", err, "hint", hintUnheld)
	}
}

// supplies reports whether the bytes past the mark of a stream come from the hindsight,
// which can supply them again.
func (d *detail) supplies(stream string) bool {
	return d.held != nil && strings.HasSuffix(stream, naming.DetailSuffix)
}

// begin records in the next checkpoint that lines are being saved, so that a restart
// continues to save them.
func (d *detail) begin() { d.check.Held.Until = d.held.State().Until }

// hold removes the withheld lines from a stream's parts of the batch and holds them. It adds
// them to the stream's sum.
func (d *detail) hold(stream string, batch []queue.Chunk[tail.Chunk], parts []int, sum *withheld) {
	if d.level == ul.Trace {
		return
	}
	b := hindsight.Batch{Stream: stream, Raw: d.lines[:0]}
	for _, i := range parts {
		lines, raw := d.split(&batch[i])
		if len(b.Raw)+len(raw) > segment.FrameBytes {
			d.add(&b)
		}
		if len(b.Raw) == 0 {
			b.Since = batch[i].Meta.Since
		}
		b.Read, b.Raw = batch[i].Meta.Read, append(b.Raw, raw...)
		sum.bytes += uint64(len(raw))
		for level, n := range lines {
			b.Lines[level] += n
			sum.lines[level] += uint64(n)
		}
	}
	d.add(&b)
	d.lines = b.Raw
}

// split removes the withheld lines from a chunk and returns them with their numbers by
// level.
func (d *detail) split(c *queue.Chunk[tail.Chunk]) (lines [ul.NumLevels]uint32, raw []byte) {
	if c.Meta.File.Whole() {
		return lines, nil
	}
	at := len(c.Data) - c.Meta.Withheld
	c.Data, raw = c.Data[:at], c.Data[at:]
	c.Meta.Made = min(c.Meta.Made, at)
	for level := range lines {
		if ul.Level(level).Below(d.level) {
			lines[level], c.Meta.Lines[level] = c.Meta.Lines[level], 0
		}
	}
	return lines, raw
}

// add holds the batch and empties it. If the tmpfs is too full to hold the lines, they are
// withheld all the same but cannot be saved.
func (d *detail) add(b *hindsight.Batch) {
	if d.held != nil && len(b.Raw) > 0 {
		if err := d.held.Append(*b); err != nil {
			d.unheld.Add(float64(len(b.Raw)))
			if d.failed.Allow(time.Now()) {
				// messages.md#hindsight: Most likely the tmpfs is full. These withheld lines, and the lines
				// held before them, cannot be saved; `ullage_hindsight_lost_bytes_total` counts only these.
				// Logged at most once a minute.
				d.log.Warn("holding lines failed", "stream", b.Stream, "error", err, "hint", "these lines, and the lines held before them, cannot be saved in hindsight; all are counted as withheld")
			}
		}
	}
	b.Raw, b.Lines = b.Raw[:0], [ul.NumLevels]uint32{}
}

// commits records in the checkpoint which lines are held.
func (d *detail) commits() {
	if d.held != nil {
		d.check.Held = d.held.State()
	}
}

// committed frees saved lines that are committed.
func (d *detail) committed() {
	if d.held != nil {
		d.held.Committed(d.check.Held)
	}
}

// rewind forgets everything that is not committed.
func (d *detail) rewind() {
	if d.held != nil {
		d.held.Rewind()
	}
}

// forget forgets the uncommitted lines of a stream, which are read again.
func (d *detail) forget(stream string) {
	if d.held == nil {
		return
	}
	if err := d.held.Forget(stream); err != nil {
		// messages.md#hindsight: The destination refuses a stream, and the tmpfs failed as well.
		// Held lines of other streams are lost.
		d.log.Warn("deleting held lines failed", "stream", stream, "error", err, "hint", "held lines of other streams are lost")
	}
}

// next returns the next held lines to save, see [hindsight.Log.Next].
func (d *detail) next(raw bool) (r hindsight.Record, ok bool) {
	if d.held == nil {
		return r, false
	}
	return d.held.Next(raw)
}
