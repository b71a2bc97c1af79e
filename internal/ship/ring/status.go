package ring

import (
	"cmp"
	"maps"
	"slices"
)

// Status is how a ring is doing. Sizes are in bytes.
type Status struct {
	Name      string // of the ring's file
	PID       int64  // as the JVM sees it
	Capacity  int64
	Used      int64 // claimed, and not given back
	Abandoned bool
	Gone      bool   // its JVM is, so that the ring is read to its end
	Problem   string // why it is not read now. Empty: it is
}

// Status returns the rings by name.
func (r *Rings) Status() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Status
	for _, n := range slices.SortedFunc(maps.Keys(r.drains), name.compare) {
		d := r.drains[n]
		st := Status{Name: n.ring(), PID: d.file.pid, Capacity: int64(d.file.capacity), Abandoned: d.last.abandoned, Gone: d.gone}
		if d.control.tail > d.last.pos {
			st.Used = int64(d.control.tail - d.last.pos)
		}
		if err := cmp.Or(d.why, d.file.lease); err != nil {
			st.Problem = err.Error()
		}
		all = append(all, st)
	}
	return all
}
