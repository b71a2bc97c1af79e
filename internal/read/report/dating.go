package report

import (
	"sync"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
	"github.com/ullage/ullage/internal/segment/seek"
)

// dating dates the records of one stream as all readers of a destination do, see package
// clock, and finds those that are out of the window.
//
// A file that is no segment has no time but that of its last write, and most files are
// copies, which are written later than their lines. So an undated line of a file has a
// time only after a line that shows a date and an uptime. It is known to be outside of a
// window that begins after the last write.
//
// Most lines show a date, and then their time is that. Where nothing else needs the time of
// a line, it is not read.
type dating struct {
	stream   clock.Stream
	eager    bool        // there is a window, and the time of each record is read
	segments bool        // the stream is of segments
	now      pause.Clock // of the last record, unless that is held
	held     []byte      // the beginning of the last record; empty: its time was read
	dated    bool        // a record was held
	written  time.Time   // the last write of the file; zero: the stream is of segments

	began bool        // there was a record, or the reader has skipped the beginning of one
	past  bool        // the last record is out of the window
	shown pause.Clock // of the last record in the window
	ended clock.Past

	untimed uint64 // records that are left out of a window because their time is not known
}

// clock returns when the last record was written.
func (d *dating) clock() pause.Clock {
	if len(d.held) > 0 {
		d.read(d.held)
		d.held = d.held[:0]
	}
	return d.now
}

// correct corrects the time that the last record shows.
func (d *dating) correct(c *pause.Clock) {
	if len(d.held) == 0 || c.Wall.IsZero() {
		*c = d.clock()
	}
}

// useSegments dates segments. All segments of a directory have its seek file.
func (d *dating) useSegments(in *input) {
	d.segments, d.stream.Spans = true, true
	if in.whole {
		d.stream.Index = sync.OnceValue(func() *seek.Index {
			index, _ := seek.Read(in.dir, seek.MaxBytes) // one that cannot be read is as none
			return index
		})
	}
}

// useFile dates the lines of a file, which is the next one of a rotated set.
func (d *dating) useFile(f *file) { d.written, d.ended = f.mod, clock.Past{} }

// frame takes in the times of a frame that was just read.
func (d *dating) frame(seg segment.Info, frame segment.Frame, raw []byte) {
	d.clock()
	if d.stream.Frame(seg, frame, raw) && clock.HasRecord(raw) {
		d.began, d.past = true, true // until the next record, lines belong to one that was skipped
	}
}

// date finds the time of a line: if it is no record, that of the last one.
func (d *dating) date(line []byte, kind ul.Kind) {
	if kind != ul.Header && kind != ul.Drop {
		return
	}
	dated := showsDate(line)
	if d.eager || !dated && (d.segments || d.dated) {
		d.clock()
		d.read(line)
		return
	}
	d.dated = d.dated || dated
	d.held = append(d.held[:0], line[:min(len(line), decorations)]...)
}

// decorations bounds the decorations of a line.
const decorations = 1 << 10

// showsDate reports whether a record begins with a date that package clock believes, if it
// is one.
func showsDate(line []byte) bool {
	if len(line) < len("[2026-") || line[len("[2026")] != '-' {
		return false
	}
	switch line[1] {
	case '2':
		return line[2] <= '1'
	case '1':
		return line[2] == '9' && line[3] >= '7'
	}
	return false
}

// read reads the time of a record.
func (d *dating) read(line []byte) {
	r := d.stream.Line(line)
	c := &d.now
	c.Uptime, c.HasUptime = r.Since()
	c.Wall, c.Estimated = d.stream.Last()
	if !c.Wall.IsZero() && !c.Estimated {
		own, ok := r.When()
		c.Estimated = !ok || !own.Equal(c.Wall)
	}
	if c.Wall.IsZero() {
		_, c.Wall = d.stream.Read()
		c.Estimated = !c.Wall.IsZero()
	}
}

// outside reports whether a line of a kind, which was dated, is not in a window. A line that
// is no record belongs to the record before it.
func (d *dating) outside(kind ul.Kind, since, until time.Time) bool {
	last, _ := d.stream.Last()
	from, to := d.stream.Read()
	unknown := last.IsZero() && to.IsZero()
	record := kind == ul.Header || kind == ul.Drop
	if !record && (d.began || unknown) {
		return d.past
	}
	d.began = d.began || record
	if d.past = unknown || !d.stream.Inside(since, until); !d.past {
		d.shown = d.now
	}
	if unknown && (d.written.IsZero() || !d.written.Before(since)) {
		d.untimed++
	}
	if last.IsZero() {
		last = from
	}
	d.ended.See(last, until)
	return d.past
}

// before returns when the last record in the window was written.
func (d *dating) before() pause.Clock {
	if d.eager {
		return d.shown
	}
	return d.clock()
}
