package ring

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ullage/ullage/internal/base/admin"
)

// Show adds the rings and their events to a status.
func (r *Rings) Show(st *admin.Status) {
	st.Rings = r.Status()
	st.Events, st.EventsDropped = admin.SamplesOf(r.metrics.events).Sum(), admin.SamplesOf(r.metrics.dropped).Sum()
}

// Status returns the rings, ordered by the start of their JVMs.
func (r *Rings) Status() (all []admin.Ring) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range slices.SortedFunc(maps.Keys(r.drains), name.compare) {
		d := r.drains[n]
		st := admin.Ring{Name: n.ring(), PID: d.file.pid, CapacityBytes: int64(d.file.capacity), Abandoned: d.last.abandoned, Ended: d.gone}
		if d.control.tail > d.last.pos {
			st.UsedBytes = int64(d.control.tail - d.last.pos)
		}
		if err := cmp.Or(d.why, d.file.lease); err != nil {
			st.Problem = err.Error()
		}
		all = append(all, st)
	}
	return all
}
