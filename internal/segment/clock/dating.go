package clock

import (
	"bytes"
	"errors"
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
)

// Dating classifies the lines of one stream and finds the lines in a window. It receives each
// frame, and then each line in the frame. The zero value accepts all formats, finds no times,
// and has no window.
type Dating struct {
	Clock  Stream
	Class  format.Classifier
	Window Window
	Timed  bool // times are needed; if false, every line is in the window
	Live   bool // the data being read was just appended

	began  bool // there was a record, or text before the first record
	inside bool // the last record is in the window, and so are the further lines of its message
	orphan bool // until the next record, lines belong to a record that was skipped
	past   Past
	line   Line
}

// Window is a range of time that includes both ends. Zero: the range is open at that end.
type Window struct{ Since, Until time.Time }

// Validate returns an error if no time is in the window.
func (w Window) Validate() error {
	if !w.Until.IsZero() && w.Until.Before(w.Since) {
		return errors.New("--until is before --since: no line can be between them")
	}
	return nil
}

// Bounded reports whether some times are not in the window.
func (w Window) Bounded() bool { return !w.Since.IsZero() || !w.Until.IsZero() }

// Has reports whether a time is in the window.
func (w Window) Has(t time.Time) bool { return w.Overlaps(t, t) }

// Overlaps reports whether any time from first to last is in the window.
func (w Window) Overlaps(first, last time.Time) bool {
	return !last.Before(w.Since) && (w.Until.IsZero() || !first.After(w.Until))
}

// Line is what the beginning of a line shows about the line.
type Line struct {
	ul.Class
	Gap       *ul.Gap    // the gap of a marker; nil: the line is not a marker
	Time      time.Time  // the time of its record, or when it was read; zero: unknown
	Estimated bool       // Time is estimated
	Run       int        // the run of the JVM, 1 or higher; 0: unknown
	Inside    bool       // the line is in the window
	Record    *ul.Record // its record, if times are needed; valid until the next line. Nil: no record was read
}

// Line receives the next line: head is its beginning, and rest is the text after that which has
// already been read. A marker is not a line of the JVM, so a line without a level or a date does
// not inherit the level or the date of a marker. A marker is inside if the time in which lines
// were dropped overlaps the window. The result is valid until the next line.
func (d *Dating) Line(head, rest []byte) *Line {
	l := &d.line
	*l = Line{}
	if ul.MayBeMarker(head) {
		if g, ok := ul.ParseMarker(head); ok {
			*l = Line{Class: ul.Class{Kind: ul.Header, Level: ul.Warning}, Gap: &g, Time: g.First, Run: d.Clock.Run(), Inside: d.Window.Overlaps(g.First, g.Last)}
			return l
		}
	}
	l.Class = d.Class.Classify(head, rest)
	if !d.Timed {
		l.Inside = true
		return l
	}
	record := l.Kind == ul.Header || l.Kind == ul.Drop
	d.date(l, head, record)
	d.orphan = d.orphan && !record
	switch {
	case d.orphan:
	case l.Kind == ul.Continuation && d.began:
		l.Inside = d.inside
	default:
		l.Inside = !d.Window.Bounded() || d.Clock.Inside(d.Window.Since, d.Window.Until)
		if l.Kind != ul.Drop { // a Drop may precede a further line of a message
			d.began, d.inside = true, l.Inside
		}
	}
	return l
}

// date finds the time of a line: the time of its record or, in a stream without times, the
// time at which the line was read.
func (d *Dating) date(l *Line, head []byte, record bool) {
	if record {
		l.Record = d.Clock.Line(head)
	}
	l.Run = d.Clock.Run()
	l.Time, l.Estimated = d.Clock.Last()
	from := l.Time
	if from.IsZero() {
		from, l.Time = d.Clock.Read()
		l.Estimated = true
	}
	if l.Kind != ul.Continuation {
		d.past.See(from, d.Window.Until)
	}
}

// Passes reports whether the stream can continue after a segment without reading the segment's
// lines. All of these lines must be in the window.
func (d *Dating) Passes(r *index.Regular) bool {
	if !d.Timed || !d.Window.Has(r.First) || !d.Window.Has(r.Last) || !d.Clock.Passes(r) {
		return false
	}
	class := d.Class
	class.Classify(r.Head, nil)
	return class.Format() == format.UL // otherwise the lines must be read in another format
}

// Pass continues after a segment that was not read.
func (d *Dating) Pass(r *index.Regular) {
	d.Clock.Pass(r)
	d.Class.Classify(r.Head, nil) // the next line may continue this record
	d.began, d.inside, d.orphan, d.past = true, true, false, Past{}
}

// Over reports whether the rest of the stream is later than the window.
func (d *Dating) Over() bool { return d.past.Over() }

// Again records that the next lines may be earlier than the previous lines.
func (d *Dating) Again() { d.past = Past{} }

// Frame receives a frame that was just read.
func (d *Dating) Frame(seg segment.Info, frame segment.Frame, raw []byte) {
	switch {
	case !d.Timed:
	case d.Live:
		d.Clock.Live(seg, raw)
	case d.Clock.Frame(seg, frame, raw):
		d.orphan = hasRecord(raw, d.Class)
	}
}

// hasRecord reports whether a record begins in the first lines of raw, according to class.
func hasRecord(raw []byte, class format.Classifier) bool {
	n := 0
	for line := range bytes.Lines(raw) {
		if class.Classify(bytes.TrimSuffix(line, []byte{'\n'}), nil).Kind == ul.Header {
			return true
		}
		if n++; n == lookLines {
			break
		}
	}
	return false
}
