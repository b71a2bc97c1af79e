package tail

import (
	"bytes"
	"slices"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

// Stream is the sequence of source files of one output.
type Stream struct {
	name   string
	label  string
	whole  bool    // no line of it is withheld
	events bool    // the sidecar itself writes its files, with a marker where a ring refused events
	files  []*File // from the oldest to the newest
	found  []*File // have no place among them yet, and are not read before
	class  format.Classifier
	active bool  // in streamSet.active
	credit int   // bytes that are left of its turn; negative: it took more
	memory int64 // of its files and of its records, as Weigh found it and relief changed it

	refused  bool   // in streamSet.refused
	durable  uint64 // number of the last chunk that is
	archives archives

	format format.Format // as it was logged last
}

// Name returns the name of the output: "gc.log".
func (st *Stream) Name() string { return st.name }

// Label returns the stream's value of the metrics label: its name, or
// [OtherLabel] beyond the bound.
func (st *Stream) Label() string { return st.label }

// Whole reports whether no line of the stream is withheld, whatever its level: it holds
// marks, or what a JVM writes beside its logs.
func (st *Stream) Whole() bool { return st.whole }

// marker returns the gap that a line is the marker of, if the sidecar wrote it into the
// stream. It is not a line of the JVM, is never withheld, and counts as what it stands for
// if it is dropped.
func (st *Stream) marker(line []byte) (gap ul.Gap, is bool) {
	if !st.events {
		return ul.Gap{}, false
	}
	return ul.ParseMarker(line)
}

// markers returns how many bytes of lines are markers, in a stream that the sidecar itself
// writes.
func (st *Stream) markers(lines []byte) (n int) {
	if !st.events {
		return 0
	}
	for line := range bytes.Lines(lines) {
		if _, is := st.marker(line); is {
			n += len(line)
		}
	}
	return n
}

func (st *Stream) leave(f *File) {
	is := func(g *File) bool { return g == f }
	st.files = slices.DeleteFunc(st.files, is)
	st.found = slices.DeleteFunc(st.found, is)
}

func (st *Stream) empty() bool { return len(st.files)+len(st.found) == 0 }

// superseded reports whether the stream has a file that is newer than f.
func (st *Stream) superseded(f *File) bool {
	return len(st.files) > 0 && st.files[len(st.files)-1] != f
}
