package tail

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/naming"
)

const maxLabels = 256 // distinct stream labels in metrics; further streams share OtherLabel

// OtherLabel is the stream label of the streams beyond the bound on labels.
const OtherLabel = "(other)"

// streamSet is the streams that have files, and which of them are refused.
type streamSet struct {
	byName map[string]*Stream
	labels map[string]bool // that metrics have
	active []*Stream       // have a dirty file, in the order of their turns

	formats format.Rules

	refused      map[string]struct{} // streams that the destination refuses
	refusedFiles int                 // held, of these

	ranking []ranked // of the last rank
}

func newStreamSet(formats format.Rules) streamSet {
	return streamSet{byName: map[string]*Stream{}, labels: map[string]bool{}, formats: formats}
}

// label returns the value of the metrics label for a stream: its name, or
// [OtherLabel] beyond the bound.
func (t *streamSet) label(name string) string {
	if !t.labels[name] {
		if len(t.labels) >= maxLabels {
			return OtherLabel
		}
		t.labels[name] = true
	}
	return name
}

// get returns the named stream, and whether it is a new one.
func (t *streamSet) get(name string) (st *Stream, fresh bool) {
	if st := t.byName[name]; st != nil {
		return st, false
	}
	_, refused := t.refused[name]
	st = &Stream{name: name, label: t.label(name), refused: refused, whole: name == mark.Stream || naming.KindOf(name) != naming.KindLog, events: naming.IsEvents(name), class: t.formats.Classifier(name)}
	t.byName[name] = st
	return st, true
}

// join makes f a file of its stream, without a place among the others yet.
func (t *streamSet) join(f *File) {
	f.stream.found = append(f.stream.found, f)
	if f.stream.refused {
		t.refusedFiles++
	}
}

// leave takes f out of its stream, and forgets a stream without files.
func (t *streamSet) leave(f *File) {
	if f.stream.refused {
		t.refusedFiles--
	}
	f.stream.leave(f)
	if f.stream.empty() {
		delete(t.byName, f.stream.name)
	}
}

// follow gives g the place behind f in its stream.
func (t *streamSet) follow(f, g *File) {
	st := f.stream
	if st.refused {
		t.refusedFiles++
	}
	list := &st.files
	if slices.Contains(st.found, f) {
		list = &st.found
	}
	*list = slices.Insert(*list, slices.Index(*list, f)+1, g)
}

// touch notes that f may have more to read and gives its stream a turn.
func (t *streamSet) touch(f *File) {
	f.dirty = true
	if st := f.stream; !st.active {
		st.active = true
		t.active = append(t.active, st)
	}
}

// turn returns the stream whose turn it is, or nil if none has a dirty file.
//
// A stream whose turn is over keeps its place in the queue of turns, at the end.
// One that took more than a turn, in a long line, waits for more of them.
func (t *streamSet) turn(bytes int) *Stream {
	for len(t.active) > 0 {
		st := t.active[0]
		if st.credit > 0 {
			return st
		}
		st.credit += bytes
		copy(t.active, t.active[1:])
		t.active[len(t.active)-1] = st
	}
	return nil
}

// rest takes the stream whose turn it is out of the queue of turns.
func (t *streamSet) rest() {
	t.active[0].active = false
	copy(t.active, t.active[1:])
	t.active = t.active[:len(t.active)-1]
}

// place gives the files that a scan has found their places in their streams,
// and reports whether all of them have one now. Pass is the last listing.
//
// A file is placed, and so read, only after a listing that began when it was
// held already. A JVM may rotate between the listing and the look at a name:
// the look then finds the new file, and the archive is not in the listing. The
// next listing has it, because a JVM renames an archive before it creates the
// file that follows, and never renames an archive again.
func (t *streamSet) place(pass int) (all bool) {
	all = true
	for _, st := range t.byName {
		if len(st.found) == 0 {
			continue
		}
		slices.SortFunc(st.found, compareAge)
		n := len(st.found)
		for n > 0 && st.found[n-1].pass == pass {
			n--
		}
		for _, f := range st.found[:n] {
			t.insert(f)
		}
		st.found = slices.Delete(st.found, 0, n)
		all = all && len(st.found) == 0
	}
	return all
}

// insert gives f its place among the files of its stream. Their order never
// changes, since reading relies on it. Files that come before f are read to
// their end once more: whoever wrote them has closed them by now.
func (t *streamSet) insert(f *File) {
	st := f.stream
	at := len(st.files)
	for at > 0 && compareAge(f, st.files[at-1]) < 0 {
		at--
	}
	st.files = slices.Insert(st.files, at, f)
	for _, older := range st.files[:at+1] {
		t.touch(older)
	}
}

// ranked is a stream with its backlog.
type ranked struct {
	*Stream
	backlog int64
}

// rank returns the streams, those with the largest backlog first. The slice is valid until
// the next call: thousands of streams are ranked ten times a second.
func (t *streamSet) rank() []ranked {
	clear(t.ranking) // or it would keep streams alive that are gone
	t.ranking = t.ranking[:0]
	for _, st := range t.byName {
		r := ranked{Stream: st}
		for _, f := range st.files {
			r.backlog += f.backlog()
		}
		t.ranking = append(t.ranking, r)
	}
	slices.SortFunc(t.ranking, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.backlog, a.backlog), strings.Compare(a.name, b.name))
	})
	return t.ranking
}
