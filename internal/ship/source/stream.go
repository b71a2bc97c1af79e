package source

import (
	"bytes"
	"slices"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
)

// Stream is the sequence of source files of one output.
type Stream struct {
	Name   string  // of the output: "gc.log"
	Label  string  // value of the metrics label for the stream: its name, or [OtherLabel] for streams beyond the bound
	Whole  bool    // no line of it is withheld, whatever its level: it holds marks, or a JVM's files that are not logs
	events bool    // the sidecar itself writes the stream's files, with a marker where a ring refused events
	Files  []*File // from the oldest to the newest
	Found  []*File // found files that have no place in Files yet; they are not read until they have one
	Class  format.Classifier
	active bool  // in Streams.active
	Credit int   // bytes left in its turn; negative if it took more
	Memory int64 // bytes of memory of its files and its records, as found by Weigh and updated by relief

	Refused  bool   // in Streams.Refused
	durable  uint64 // number of the last durable chunk
	Archives Archives

	Format format.Format // the format that was logged last
}

// Marker reports whether line is a marker that the sidecar wrote into the stream. It returns the
// marker's gap. A marker is not a line of the JVM and is never withheld. If a marker is dropped, the
// marker that replaces it counts the lines in its gap, not the marker itself.
func (st *Stream) Marker(line []byte) (gap ul.Gap, is bool) {
	if !st.events {
		return ul.Gap{}, false
	}
	return ul.ParseMarker(line)
}

// Markers returns how many of the bytes in lines belong to markers. Only a stream that the sidecar
// itself writes has markers.
func (st *Stream) Markers(lines []byte) (n int) {
	if !st.events {
		return 0
	}
	for line := range bytes.Lines(lines) {
		if _, is := st.Marker(line); is {
			n += len(line)
		}
	}
	return n
}

func (st *Stream) leave(f *File) {
	is := func(g *File) bool { return g == f }
	st.Files = slices.DeleteFunc(st.Files, is)
	st.Found = slices.DeleteFunc(st.Found, is)
}

func (st *Stream) empty() bool { return len(st.Files)+len(st.Found) == 0 }

// Superseded reports whether the stream has a file that is newer than f.
func (st *Stream) Superseded(f *File) bool {
	return len(st.Files) > 0 && st.Files[len(st.Files)-1] != f
}
