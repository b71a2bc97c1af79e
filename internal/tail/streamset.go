package tail

import "slices"

// streamSet is the streams that have files, and which of them are refused.
type streamSet struct {
	byName map[string]*Stream
	labels map[string]bool // that metrics have
	active []*Stream       // have a dirty file, in the order of their turns

	refused      map[string]struct{} // streams that the destination refuses
	refusedFiles int                 // held, of these
}

func newStreamSet() streamSet {
	return streamSet{byName: map[string]*Stream{}, labels: map[string]bool{}}
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
	st = &Stream{name: name, label: t.label(name), refused: refused}
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

// activate gives a stream a turn.
func (t *streamSet) activate(st *Stream) {
	if !st.active {
		st.active = true
		t.active = append(t.active, st)
	}
}
