package report

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
	"github.com/ullage/ullage/internal/segment/seek"
)

// dating dates the records of one stream as all readers of a destination do, see package
// clock. It also finds the records outside the window.
//
// A file that is not a segment has only the time of its last write. Most such files are copies,
// which are written later than their lines. So an undated line of a file has a time only if an
// earlier line shows both a date and an uptime. If the window begins after the last write, all
// lines are known to be outside it.
//
// The time of most lines is the date that they show. If nothing needs the time of a line, the
// date is not parsed.
type dating struct {
	lines    clock.Dating
	segments bool        // the stream consists of segments
	now      pause.Clock // the time of the last record, unless that record is held
	held     []byte      // the beginning of the last record; empty: its time has been read
	dated    bool        // a record has been held
	written  time.Time   // the last write of the file; zero: the stream consists of segments
	shown    pause.Clock // the time of the last record in the window
	untimed  uint64      // records left out of a window because their time is unknown
}

// clock returns when the last record was written.
func (d *dating) clock() pause.Clock {
	if len(d.held) > 0 {
		d.read(d.lines.Clock.Line(d.held))
		d.held = d.held[:0]
	}
	return d.now
}

// correct replaces the time that the last record shows with the time from the clock, if the two
// may differ.
func (d *dating) correct(c *pause.Clock) {
	if len(d.held) == 0 || c.Wall.IsZero() {
		*c = d.clock()
	}
}

// useSegments prepares to date segments. All segments of a directory share its seek file.
func (d *dating) useSegments(in *input) {
	d.segments, d.lines.Clock.Spans = true, true
	if in.whole {
		d.lines.Clock.Index = seek.Once(in.dir)
	}
}

// useFile prepares to date the lines of a file, which is the next file of a rotated set.
func (d *dating) useFile(f *file) {
	d.written = f.mod
	d.lines.Again()
}

// frame records the times of a frame that was just read.
func (d *dating) frame(seg segment.Info, frame segment.Frame, raw []byte) {
	d.clock()
	if d.lines.Timed {
		d.lines.Frame(seg, frame, raw)
	} else {
		d.lines.Clock.Frame(seg, frame, raw)
	}
}

// line receives a line. It returns the line's class, the gap if the line is a marker, and
// whether the line is wanted.
func (d *dating) line(head []byte) (ul.Class, *ul.Gap, bool) {
	l := d.lines.Line(head, nil)
	record := l.Kind == ul.Header || l.Kind == ul.Drop
	switch {
	case l.Gap != nil:
	case d.lines.Timed:
		if l.Time.IsZero() && l.Kind != ul.Text {
			l.Inside = false
			if record && (d.written.IsZero() || !d.written.Before(d.lines.Window.Since)) {
				d.untimed++
			}
		}
		if record {
			d.read(l.Record)
		}
		if record && l.Inside {
			d.shown = d.now
		}
	case !record:
	default:
		dated := showsDate(head)
		if !dated && (d.segments || d.dated) {
			d.clock()
			d.read(d.lines.Clock.Line(head))
			break
		}
		d.dated = d.dated || dated
		d.held = append(d.held[:0], head[:min(len(head), decorations)]...)
	}
	return l.Class, l.Gap, l.Inside
}

// decorations is how many bytes of a line are kept so that its decorations can be read.
const decorations = 1 << 10

// showsDate reports whether a record seems to begin, in a bracket or as a stamp of JDK 8, with a
// date that package clock would accept.
func showsDate(line []byte) bool {
	if len(line) > 0 && line[0] == '[' {
		line = line[1:]
	}
	if len(line) < len("2026-") || line[len("2026")] != '-' {
		return false
	}
	switch line[0] {
	case '2':
		return line[1] <= '1'
	case '1':
		return line[1] == '9' && line[2] >= '7'
	}
	return false
}

// read reads the time of a record that the clock has processed.
func (d *dating) read(r *ul.Record) {
	c := &d.now
	c.Uptime, c.HasUptime = r.Since()
	c.Wall, c.Estimated = d.lines.Clock.Last()
	if !c.Wall.IsZero() && !c.Estimated {
		own, ok := r.When()
		c.Estimated = !ok || !own.Equal(c.Wall)
	}
	if c.Wall.IsZero() {
		_, c.Wall = d.lines.Clock.Read()
		c.Estimated = !c.Wall.IsZero()
	}
}

// before returns when the last record in the window was written.
func (d *dating) before() pause.Clock {
	if d.lines.Timed {
		return d.shown
	}
	return d.clock()
}
