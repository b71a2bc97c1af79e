package source

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
)

const maxLabels = 256 // distinct stream labels in metrics; further streams share OtherLabel

// OtherLabel is the stream label of all streams beyond the bound on labels.
const OtherLabel = "(other)"

// Streams holds the streams that have files, and knows which of them are refused.
type Streams struct {
	ByName map[string]*Stream
	labels map[string]bool // labels in the metrics
	active []*Stream       // streams with a dirty file, in the order of their turns

	formats format.Rules

	Refused      map[string]error // streams that the destination refuses
	RefusedFiles int              // number of their files that are held

	ranking []Ranked // of the last Rank
}

func newStreams(formats format.Rules) Streams {
	return Streams{ByName: map[string]*Stream{}, labels: map[string]bool{}, formats: formats}
}

// label returns the value of the metrics label for a stream: its name, or
// [OtherLabel] beyond the bound.
func (s *Streams) label(name string) string {
	if !s.labels[name] {
		if len(s.labels) >= maxLabels {
			return OtherLabel
		}
		s.labels[name] = true
	}
	return name
}

// get returns the named stream, and whether it is a new one.
func (s *Streams) get(name string) (st *Stream, fresh bool) {
	if st := s.ByName[name]; st != nil {
		return st, false
	}
	_, refused := s.Refused[name]
	st = &Stream{Name: name, Label: s.label(name), Refused: refused, Whole: name == mark.Stream || naming.KindOf(name) != naming.KindLog, events: naming.IsEvents(name), Class: s.formats.Classifier(name)}
	s.ByName[name] = st
	return st, true
}

// join adds f to its stream, but does not yet give it a place among the other files.
func (s *Streams) join(f *File) {
	f.Stream.Found = append(f.Stream.Found, f)
	if f.Stream.Refused {
		s.RefusedFiles++
	}
}

// leave removes f from its stream and forgets a stream without files.
func (s *Streams) leave(f *File) {
	if f.Stream.Refused {
		s.RefusedFiles--
	}
	f.Stream.leave(f)
	if f.Stream.empty() {
		delete(s.ByName, f.Stream.Name)
	}
}

// follow places g after f in the stream of f.
func (s *Streams) follow(f, g *File) {
	st := f.Stream
	if st.Refused {
		s.RefusedFiles++
	}
	list := &st.Files
	if slices.Contains(st.Found, f) {
		list = &st.Found
	}
	*list = slices.Insert(*list, slices.Index(*list, f)+1, g)
}

// move moves f from its stream to another one, to the place that f would have had there.
func (s *Streams) move(f *File, name string) {
	placed := slices.Contains(f.Stream.Files, f)
	s.leave(f)
	f.Stream, _ = s.get(name)
	s.join(f)
	if placed {
		f.Stream.leave(f)
		s.insert(f)
	}
}

// touch records that f may have more to read and gives its stream a turn.
func (s *Streams) touch(f *File) {
	f.Growth.Dirty = true
	if st := f.Stream; !st.active {
		st.active = true
		s.active = append(s.active, st)
	}
}

// Turn returns the stream whose turn it is, or nil if none has a dirty file.
//
// A stream whose turn is over goes to the end of the queue of turns. A stream that overdrew
// its turn with a long line waits for several turns.
func (s *Streams) Turn(bytes int) *Stream {
	for len(s.active) > 0 {
		st := s.active[0]
		if st.Credit > 0 {
			return st
		}
		st.Credit += bytes
		copy(s.active, s.active[1:])
		s.active[len(s.active)-1] = st
	}
	return nil
}

// Rest removes the stream whose turn it is from the queue of turns.
func (s *Streams) Rest() {
	s.active[0].active = false
	copy(s.active, s.active[1:])
	s.active = s.active[:len(s.active)-1]
}

// Place assigns places in their streams to the files that a scan has found, and reports whether
// all of them now have one. pass is the number of the last listing.
//
// A file is placed, and so read, only after a listing that began when the file was already
// held. A JVM may rotate between the listing and the examination of a name: the scan then
// finds the new file under the name, but the archive is not in the listing. The next
// listing has the archive, because a JVM renames an archive before it creates the file that
// follows, and never renames an archive again.
func (s *Streams) Place(pass int) (all bool) {
	all = true
	for _, st := range s.ByName {
		if len(st.Found) == 0 {
			continue
		}
		slices.SortFunc(st.Found, compareAge)
		n := len(st.Found)
		for n > 0 && st.Found[n-1].Rank.Pass == pass {
			n--
		}
		for _, f := range st.Found[:n] {
			s.insert(f)
		}
		st.Found = slices.Delete(st.Found, 0, n)
		all = all && len(st.Found) == 0
	}
	return all
}

// insert places f among the files of its stream. The order of the files never changes,
// since reading relies on it. Files before f are read to their end once more: their writer
// has closed them by now.
func (s *Streams) insert(f *File) {
	st := f.Stream
	at := len(st.Files)
	for at > 0 && compareAge(f, st.Files[at-1]) < 0 {
		at--
	}
	st.Files = slices.Insert(st.Files, at, f)
	for _, older := range st.Files[:at+1] {
		s.touch(older)
	}
}

// Ranked is a stream and its backlog.
type Ranked struct {
	*Stream
	Backlog int64
}

// Rank returns the streams, with the largest backlog first. The next call reuses the
// slice, because thousands of streams are ranked ten times a second.
func (s *Streams) Rank() []Ranked {
	clear(s.ranking) // otherwise, it would keep forgotten streams alive
	s.ranking = s.ranking[:0]
	for _, st := range s.ByName {
		r := Ranked{Stream: st}
		for _, f := range st.Files {
			r.Backlog += f.Backlog()
		}
		s.ranking = append(s.ranking, r)
	}
	slices.SortFunc(s.ranking, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Backlog, a.Backlog), strings.Compare(a.Name, b.Name))
	})
	return s.ranking
}
