package cat

import (
	"bytes"
	"io"
	"time"

	"github.com/ullage/ullage/internal/ul"
)

// headBytes is how much of a line the filter examines, and so how much it holds
// back until it has decided about the line. All decorations together are at
// most 1 KiB.
const headBytes = 64 << 10

// filter passes on the wanted lines of one stream. It receives the bytes of the
// stream in pieces of any size. The first headBytes bytes of a line, or the
// whole of a shorter line, decide about the line, so that no whole line has to
// be in memory.
type filter struct {
	out   io.Writer
	level ul.Level     // Unknown: all levels
	since time.Time    // zero: all times
	gap   func(ul.Gap) // receives each gap, and no line passes; nil: lines pass

	class  ul.Classifier
	parsed ul.Record
	began  bool // a record was seen
	record bool // the last record passes, and so do its continuations
	late   bool // the last dated line is at or after since, or there was none

	held   []byte // the beginning of a line that is not decided yet
	amid   bool   // inside a line that is decided
	passes bool   // inside a line that passes
}

func newFilter(out io.Writer, level ul.Level, since time.Time) *filter {
	return &filter{out: out, level: level, since: since, late: true}
}

// write processes the next bytes of the stream.
func (f *filter) write(raw []byte) error {
	raw, err := f.goOn(raw)
	if err != nil {
		return err
	}
	from, at := 0, 0 // raw[from:at] passes
	for at < len(raw) {
		rest := raw[at:]
		end := f.lineEnd(rest)
		if end == 0 && len(rest) < headBytes {
			f.held = append(f.held, rest...)
			break
		}
		pass := false
		if end == 0 {
			pass = f.decide(rest[:headBytes])
			f.amid, f.passes, end = true, pass, len(rest)
		} else {
			pass = f.decide(rest[:end-1])
		}
		if pass {
			at += end
			continue
		}
		if err := f.emit(raw[from:at]); err != nil {
			return err
		}
		at += end
		from = at
	}
	return f.emit(raw[from:at])
}

// lineEnd returns the end of the first line, or of the last line if all of them
// pass, or 0 if no line ends.
func (f *filter) lineEnd(raw []byte) int {
	if f.selects() {
		return bytes.IndexByte(raw, '\n') + 1
	}
	return bytes.LastIndexByte(raw, '\n') + 1
}

// goOn processes what belongs to a line that began in earlier bytes, and
// returns the bytes after it.
func (f *filter) goOn(raw []byte) ([]byte, error) {
	if len(f.held) > 0 {
		n := min(headBytes-len(f.held), len(raw))
		end := bytes.IndexByte(raw[:n], '\n')
		if end >= 0 {
			n = end + 1
		}
		f.held = append(f.held, raw[:n]...)
		raw = raw[n:]
		if end < 0 && len(f.held) < headBytes {
			return raw, nil
		}
		if err := f.release(end < 0); err != nil {
			return nil, err
		}
	}
	if !f.amid {
		return raw, nil
	}
	n := bytes.IndexByte(raw, '\n') + 1
	f.amid = n == 0
	if f.amid {
		n = len(raw)
	}
	if f.passes {
		return raw[n:], f.emit(raw[:n])
	}
	return raw[n:], nil
}

// release decides about the held bytes. amid reports that their line continues.
func (f *filter) release(amid bool) error {
	f.passes = f.decide(bytes.TrimSuffix(f.held, []byte{'\n'}))
	f.amid = amid
	held := f.held
	f.held = f.held[:0]
	if !f.passes {
		return nil
	}
	return f.emit(held)
}

func (f *filter) emit(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	_, err := f.out.Write(raw)
	return err
}

// end ends the current line: the stream ends here, or bytes are missing here.
// If the line passes, end adds a newline, so that the next line begins on its
// own.
func (f *filter) end() error {
	if len(f.held) > 0 {
		if err := f.release(true); err != nil {
			return err
		}
	}
	if f.amid && f.passes && f.selects() {
		if err := f.emit([]byte{'\n'}); err != nil {
			return err
		}
	}
	f.amid = false
	return nil
}

// selects reports whether the filter holds back anything.
func (f *filter) selects() bool {
	return f.gap != nil || f.level != ul.Unknown || !f.since.IsZero()
}

// decide reports whether the line with this beginning passes.
func (f *filter) decide(head []byte) bool {
	if !f.selects() {
		return true
	}
	if g, ok := ul.ParseMarker(head); ok {
		return f.decideGap(g)
	}
	if f.gap != nil {
		return false
	}
	class := f.class.Classify(head)
	if class.Kind == ul.Continuation && f.began {
		return f.record
	}
	if !f.since.IsZero() && (class.Kind == ul.Header || class.Kind == ul.Drop) {
		f.parsed.Parse(head)
		if when, ok := f.parsed.When(); ok {
			f.late = !when.Before(f.since)
		}
	}
	level := class.Level
	if level == ul.Unknown {
		level = ul.Info
	}
	pass := level >= f.level && f.late
	if class.Kind != ul.Drop { // which may stand before a continuation
		f.began, f.record = true, pass
	}
	return pass
}

// decideGap reports whether the marker of a gap passes. The marker is not a
// line of the JVM: a line without a level or date of its own does not inherit
// those of a marker.
func (f *filter) decideGap(g ul.Gap) bool {
	pass := ul.Warning >= f.level && !g.First.Before(f.since)
	if pass && f.gap != nil {
		f.gap(g)
		return false
	}
	return pass
}
