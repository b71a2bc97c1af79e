package tail

import (
	"bytes"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/source"
)

// A sifter moves the withheld lines of a chunk to its end. The zero value withholds
// nothing.
type sifter struct {
	below ul.Level // lines below this level are withheld

	runs []siftRun // runs of the chunk that is being classified
	held []byte
}

// A siftRun is a run of bytes of a chunk that are all withheld or all kept.
type siftRun struct {
	bytes int
	held  bool
}

// on reports whether any line can be withheld.
func (s *sifter) on() bool { return s.below > ul.Trace }

// holds reports whether lines of a stream with this level are withheld.
func (s *sifter) holds(st *source.Stream, l ul.Level) bool {
	return s.on() && !st.Whole && l.Below(s.below)
}

// take records the next line, or the next piece of a line, of the chunk, with its length in
// bytes.
func (s *sifter) take(st *source.Stream, bytes int, l ul.Level) {
	if !s.on() {
		return
	}
	held := s.holds(st, l)
	if n := len(s.runs); n > 0 && s.runs[n-1].held == held {
		s.runs[n-1].bytes += bytes
		return
	}
	s.runs = append(s.runs, siftRun{bytes, held})
}

// sift moves the withheld lines of data to its end and returns how many bytes they take. The
// calls to take since the last sift must describe data.
func (s *sifter) sift(data []byte) (held int) {
	if len(s.runs) == 0 {
		return 0
	}
	s.held = s.held[:0]
	at, kept := 0, 0
	for _, r := range s.runs {
		if part := data[at : at+r.bytes]; r.held {
			s.held = append(s.held, part...)
		} else {
			kept += copy(data[kept:], part)
		}
		at += r.bytes
	}
	s.runs = s.runs[:0]
	return copy(data[kept:], s.held)
}

// siftLines does the work of take and sift for lines that were read from the spool. before is
// the level of the previous record. If the lines continue an open line, open is the level of
// that line. A marker is never withheld.
func (s *sifter) siftLines(st *source.Stream, data []byte, before ul.Level, continues bool, open ul.Level) (held int) {
	if !s.on() {
		return 0
	}
	class := st.Class
	class.Resume(before)
	for rest := data; len(rest) > 0; continues = false {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		line, level := rest[:end], open
		if !continues {
			if _, marker := ul.ParseMarker(line); marker {
				level = ul.Error
			} else {
				level = class.Classify(bytes.TrimSuffix(line, newline), rest[end:]).Level
			}
		}
		s.take(st, end, level)
		rest = rest[end:]
	}
	return s.sift(data)
}

// lastLine returns the last line of end, with its newline. end is the end of a persisted
// stream. If lines are withheld, the lines before the last line in the copy may not be the
// lines directly before it in the source.
func lastLine(end []byte) []byte {
	if len(end) == 0 {
		return end
	}
	return end[bytes.LastIndexByte(end[:len(end)-1], '\n')+1:]
}
