package tail

import (
	"slices"

	"github.com/ullage/ullage/internal/ul"
)

// Stream is the sequence of source files of one output.
type Stream struct {
	name   string
	label  string
	files  []*File // from the oldest to the newest
	found  []*File // have no place among them yet, and are not read before
	class  ul.Classifier
	active bool  // in streamSet.active
	credit int   // bytes that are left of its turn; negative: it took more
	memory int64 // of its files and of its records, as Weigh found it and relief changed it

	refused     bool   // in streamSet.refused
	durable     uint64 // number of the last chunk that is
	nextArchive int    // the number that it should have; 0 before the first one
}

// Name returns the name of the output: "gc.log".
func (st *Stream) Name() string { return st.name }

// Label returns the stream's value of the metrics label: its name, or
// [OtherLabel] beyond the bound.
func (st *Stream) Label() string { return st.label }

// streamOf returns the named stream, which is a new one if it has no files.
func (s *Source) streamOf(name string) *Stream {
	st, fresh := s.streams.get(name)
	if fresh {
		s.metrics.appear(st.label)
	}
	return st
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

// countMissed looks at the files of a stream that have a new name. HotSpot
// numbers archives in a cycle, so a number that is left out is an archive that
// came and went unseen. (A whole cycle leaves no gap, so the count is a lower
// bound.) A JVM that starts may begin at 0 again.
func (s *Source) countMissed(st *Stream) {
	for _, f := range st.files {
		if !f.renamed {
			continue
		}
		f.renamed = false
		number, ok := archiveNumber(f.name)
		if !ok {
			continue
		}
		missed := 0
		switch {
		case st.nextArchive == 0 || number == 0:
		case number > st.nextArchive:
			missed = number - st.nextArchive
		case number < st.nextArchive:
			missed = number
		}
		st.nextArchive = number + 1
		if missed > 0 {
			s.metrics.missedFiles.Add(float64(missed))
			s.log.once("missed", "archives were overwritten unread", "stream", st.name, "archives", missed,
				"hint", "their lines are lost; let the JVM rotate larger files, or none with filesize=0; further archives are only counted")
		}
	}
}

// touch notes that f may have more to read and gives its stream a turn.
func (s *Source) touch(f *File) {
	f.dirty = true
	s.streams.activate(f.stream)
}

// grow takes in a new size of f.
func (s *Source) grow(f *File, size int64) {
	f.size = size
	f.grew = s.now()
	f.young = true
	s.touch(f)
}
