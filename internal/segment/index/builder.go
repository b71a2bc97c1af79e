package index

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

// Regular has what a reader needs to know about a segment in order to continue after it as if
// it had decoded the segment. Only a segment of a plain log is regular:
//
//   - Each line is a line of Unified Logging that begins with a date and has a level, or
//     continues such a line. The first line does not continue another line, and the last line
//     is complete.
//   - Either all records have an uptime or none has. All uptimes are from the same JVM.
//   - No line is a marker, reports dropped lines or a cut record, or contains another line.
//
// The lines of a regular segment are counted by level, in the Lines of its [Sum].
type Regular struct {
	First, Last time.Time // the earliest and the latest time of a record

	Uptimes                  bool // the records have uptimes
	Begin, Low, High, Uptime time.Duration
	End                      time.Time // the time of the last record, whose uptime is Uptime
	Head                     []byte    // the beginning of that record, with all its decorations, at least its level
}

// headBytes bounds [Regular.Head].
const headBytes = 100

// Segment is the sum of a sealed segment, with the size and checksum of its file.
type Segment struct {
	Sum
	Size    int64    // of the file, in bytes
	CRC     uint32   // CRC-32C of the file
	Regular *Regular // nil: the segment is not known to be regular
}

// Builder sums up a segment while frames are appended to it. The zero value is ready for a
// new segment.
type Builder struct {
	sum     Sum
	regular regular
}

// Frame adds a frame.
func (b *Builder) Frame(raw []byte) {
	b.sum.Frame(raw)
	if b.regular.frame(raw); b.regular.odd {
		b.sum.Markers(raw)
	}
}

// Count adds lines of the frames by their levels, as the reader of the source has counted them.
// If the segment is regular, its own counts replace them.
func (b *Builder) Count(lines *[ul.NumLevels]uint32) {
	for level, n := range lines {
		b.sum.Lines[level] += uint64(n)
	}
}

// Segment returns the sum.
func (b *Builder) Segment(size int64, crc uint32) Segment {
	s := Segment{Sum: b.sum, Size: size, CRC: crc}
	if r := &b.regular; !r.odd && r.any {
		s.Lines = r.lines
		one := r.Regular
		s.Regular = &one
	}
	return s
}

// regular finds out whether a segment is regular.
type regular struct {
	Regular
	odd bool // it is not regular
	any bool // there was a record

	lines  [ul.NumLevels]uint64
	level  ul.Level // of the last record
	clocks []byte   // the beginning of that record, up to its level; empty: unknown
	hour   hour
	recent recent
	record ul.Record
}

// frame examines the lines of a frame. In a busy log, most lines have the same text before the
// level as the previous line, and therefore the same times.
func (r *regular) frame(raw []byte) {
	if r.odd || len(raw) == 0 {
		return
	}
	var last []byte
	for rest := raw; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			r.odd = true
			return
		}
		line, from := rest[:end], 0
		rest = rest[end+1:]
		if len(line) > 0 && line[0] == '[' {
			last = line
			from = r.header(line)
		} else {
			r.odd = !r.any || format.Begins(line)
		}
		if r.odd || holdsAnother(line, from) {
			r.odd = true
			return
		}
		r.lines[r.level]++
	}
	if last != nil {
		r.keep(last)
	}
}

// header receives a line that begins a record. No other line begins inside it before offset at.
func (r *regular) header(line []byte) (at int) {
	if n := len(r.clocks); n > 0 && bytes.HasPrefix(line, r.clocks) {
		if level, length := r.recent.read(line[n:]); level != ul.Unknown {
			r.leveled(level, line)
			return n + length - 1 // the space before the message
		}
	}
	if when, up, n, ok := r.hour.read(line, r.Uptimes); ok {
		if level, length := r.recent.read(line[n:]); level != ul.Unknown {
			r.clocks = append(r.clocks[:0], line[:n]...)
			r.time(when)
			r.uptime(up, r.Uptimes)
			r.leveled(level, line)
			return n + length - 1 // the space before the message
		}
	}
	r.record.Parse(line)
	const own = ul.Hostname // a host name may look like a level
	when, dated := r.record.When()
	if r.record.Kind != ul.Header || r.record.Level == ul.Unknown || r.record.Present&own != 0 || !dated || len(line) < 6 || line[5] != '-' || !ul.Believed(when) {
		r.odd = true
		return 0
	}
	up, has := r.record.Since()
	r.level, r.clocks = r.record.Level, append(r.clocks[:0], clocksOf(line, r.record.Level)...)
	r.hour.begin(line, when)
	r.time(when)
	r.uptime(up, has)
	r.any = true
	r.findMarker(line)
	return 0
}

// leveled receives the level of a record that begins with line. Markers have the level warning.
func (r *regular) leveled(level ul.Level, line []byte) {
	if r.level = level; level == ul.Warning {
		r.findMarker(line)
	}
}

func (r *regular) findMarker(line []byte) {
	if _, marker := ul.ParseMarker(line); marker {
		r.odd = true
	}
}

// time receives the time of a record.
func (r *regular) time(at time.Time) {
	if !r.any || at.Before(r.First) {
		r.First = at
	}
	if !r.any || at.After(r.Last) {
		r.Last = at
	}
	r.End = at
}

// uptime receives the uptime of a record, if it has one.
func (r *regular) uptime(up time.Duration, has bool) {
	switch {
	case !r.any:
		r.Uptimes, r.Begin, r.Low, r.High = has, up, up, up
	case has != r.Uptimes, has && ul.Restarted(r.High, up):
		r.odd = true
	}
	r.odd = r.odd || has && up > ul.MaxUptime
	r.Low, r.High, r.Uptime = min(r.Low, up), max(r.High, up), up
}

// keep copies the head of the last record of a frame.
func (r *regular) keep(line []byte) {
	r.record.Parse(line)
	all := r.record.Present
	r.Head = append(r.Head[:0], line[:min(len(line), headBytes)]...)
	r.record.Parse(r.Head)
	r.odd = r.odd || r.record.Kind != ul.Header || r.record.Present != all || r.record.Level != r.level
}

// clocksOf returns the line up to its level, or nothing if no level is found.
func clocksOf(line []byte, level ul.Level) []byte {
	for at := 0; at < len(line) && line[at] == '['; {
		if found := levelAt(line[at:]); found != ul.Unknown {
			if found != level {
				return nil
			}
			return line[:at]
		}
		end := bytes.IndexByte(line[at:], ']')
		if end < 0 {
			return nil
		}
		at += end + 1
	}
	return nil
}

// droppedEnd is how the JVM's report of dropped lines ends.
var droppedEnd = []byte("messages dropped due to async logging")

// holdsAnother reports whether another line seems to begin inside line, because the JVM could not
// end line, or whether line reports dropped lines or a cut record. No other line begins before
// from.
func holdsAnother(line []byte, from int) bool {
	const year = len("[2026")
	for at := from + 1; ; at++ {
		i := bytes.IndexByte(line[min(at, len(line)):], '[')
		if i < 0 {
			// Both texts end with the same letter, and few other lines do.
			return bytes.HasSuffix(line, droppedEnd[len(droppedEnd)-1:]) && (bytes.HasSuffix(line, droppedEnd) || ul.IsShortened(line))
		}
		if at += i; at+year < len(line) && line[at+year] == '-' && line[at+1]-'0' < 10 {
			return true
		}
	}
}
