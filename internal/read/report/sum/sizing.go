package sum

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// Below these limits, no size for the heap follows from the log.
const (
	sizingCollections = 10
	sizingWindow      = 10 * time.Minute
)

// sizing gathers the data from which a run's heap size is derived. The zero value has no data.
type sizing struct {
	live    int64         // the most bytes that any old cycle left in use; 0: there was no old cycle
	sum     int64         // sum of the bytes that each old cycle left in use
	lived   int64         // number of old cycles in sum
	low     int64         // only for G1: the fewest bytes in use since the last old cycle; 0: unknown
	cycles  uint64        // number of old cycles
	cycle   cost          // the cost of all old cycles
	longest time.Duration // the longest time from the beginning of an old cycle to its end
	jump    int64         // the most bytes that one young collection promoted after the first old cycle; before it, live data may be loaded
	peak    int64         // the largest capacity of the heap
	old     float64       // the old generation's last share of the capacity; 0: unknown
	starved uint64        // number of collections that found no room
	large   uint64        // number of collections with humongous objects
	young   bool          // only for Shenandoah: there was a cycle of only the young generation
	all     spell         // the whole run
	now     spell         // the current hour
	busiest spell         // the hour with the most work; empty: no full hour has passed
}

// cost is the time that the collector took.
type cost struct{ paused, concurrent time.Duration }

func (c *cost) add(d cost) { c.paused, c.concurrent = c.paused+d.paused, c.concurrent+d.concurrent }

// spell is a part of a run. The zero value is empty.
type spell struct {
	begin, end           time.Duration
	collections          uint64
	scaled               cost // of collections that are less frequent in a larger heap
	fixed                cost // of the other collections, which a program or a timer asks for
	cycles               cost // of old cycles, which are in neither scaled nor fixed
	capacity             int64
	allocated, promoted  int64
	allocates, advancing bool // whether allocated and promoted are known
}

// place returns when a collection happened: the uptime if the log shows it, because the uptime
// clock is never set.
func place(c, first pause.Clock) time.Duration {
	if c.HasUptime && first.HasUptime {
		return c.Uptime - first.Uptime
	}
	return c.Wall.Sub(first.Wall)
}

// collection records the next collection. first is the time of the run's first line.
func (z *sizing) collection(c *pause.Collection, first pause.Clock) {
	if !c.Heap.Known || c.Marks&pause.Cut != 0 {
		return
	}
	took := cost{paused: c.Paused}
	if c.Concurrent > 0 {
		took.concurrent = max(0, place(c.End, c.Start)-c.Paused)
	}
	z.peak = max(z.peak, c.Heap.Capacity)
	if z.cycles > 0 {
		z.jump = max(z.jump, c.Promoted)
	}
	if c.Old.Capacity > 0 && c.Heap.Capacity > 0 {
		z.old = float64(c.Old.Capacity) / float64(c.Heap.Capacity)
	}
	concurrent := c.Collector != pause.Serial && c.Collector != pause.Parallel
	if c.Marks&(pause.Degenerated|pause.EvacuationFailure) != 0 || concurrent && c.Marks&pause.Full != 0 && !asked(c.Cause) {
		z.starved++
	}
	if c.Marks&pause.Humongous != 0 {
		z.large++
	}
	old := z.leaves(c)
	if old {
		z.cycles++
		z.cycle.add(took)
		z.longest = max(z.longest, took.paused+took.concurrent)
	}
	at := place(c.End, first)
	if at >= z.now.begin+time.Hour {
		z.turn(at)
	}
	for _, s := range []*spell{&z.all, &z.now} {
		s.add(c, took, old, at)
	}
}

// leaves records what a collection left in use, and reports whether the collection was an old cycle. An object
// that was garbage before an old cycle is not among the live data after that cycle.
func (z *sizing) leaves(c *pause.Collection) (old bool) {
	after, old := c.LiveData()
	switch c.Collector {
	case pause.G1:
		if c.Marks&pause.Full != 0 {
			z.low = 0
			break
		}
		if old = c.Action == "mark cycle" || c.Action == "cycle"; old { // the mixed collections that follow free the memory
			z.lives(z.low)
			z.low = c.Heap.After
		} else if z.low > 0 {
			z.low = min(z.low, c.Heap.After)
		}
		return old
	case pause.Shenandoah:
		z.young = z.young || len(c.Pauses) > 0 && strings.Contains(c.Pauses[0].Name, "(Young")
		after, old = c.Heap.After, true
	}
	if old {
		z.lives(after)
	}
	return old
}

// lives records how many bytes were live after an old cycle, or 0 if that is unknown.
func (z *sizing) lives(bytes int64) {
	if bytes > 0 {
		z.live, z.sum, z.lived = max(z.live, bytes), z.sum+bytes, z.lived+1
	}
}

// asked reports whether collections with the given cause are equally frequent in a heap of any
// size.
func asked(cause string) bool {
	switch cause {
	case "System.gc()", "Diagnostic Command", "Metadata GC Threshold", "Metadata GC Clear Soft References", "CodeCache GC Threshold",
		"CodeCache GC Aggressive", "Heap Inspection Initiated GC", "Heap Dump Initiated GC", "G1 Periodic Collection", "Timer", "Warmup", "Proactive":
		return true
	}
	return false
}

// turn begins the next hour.
func (z *sizing) turn(at time.Duration) {
	if z.now.collections > 0 && z.now.work() >= z.busiest.work() {
		z.busiest = z.now
		z.busiest.end = z.now.begin + time.Hour
	}
	begin := z.now.begin + (at-z.now.begin)/time.Hour*time.Hour
	z.now = spell{begin: begin}
}

// work returns the total time that the collector took.
func (s *spell) work() time.Duration {
	sum := s.scaled
	sum.add(s.fixed)
	sum.add(s.cycles)
	return sum.paused + sum.concurrent
}

// add adds a collection.
func (s *spell) add(c *pause.Collection, took cost, old bool, at time.Duration) {
	s.end = at
	s.collections++
	s.capacity += c.Heap.Capacity
	switch {
	case asked(c.Cause):
		s.fixed.add(took)
	case old:
		s.cycles.add(took)
	default:
		s.scaled.add(took)
	}
	if c.Allocated >= 0 {
		s.allocated, s.allocates = s.allocated+c.Allocated, true
	}
	if c.Promoted >= 0 {
		s.promoted, s.advancing = s.promoted+c.Promoted, true
	}
}

// close computes the sizing of the run, or the reason why no size follows from its log. Marks and
// other runs are taken into account later; see [Sum.sizes].
func (z *sizing) close(r *view.Run, span, least time.Duration, grows bool) *view.Sizing {
	z.lives(z.low)
	busy := z.busiest
	if busy.collections == 0 {
		busy = z.all
		busy.begin, busy.end = 0, span
	}
	out := &view.Sizing{Live: float64(z.live), Cycles: z.cycles, Collections: z.all.collections, Starved: z.starved, Humongous: z.large, Span: seconds(span), Target: sizingTarget}
	if z.all.collections == 0 {
		return nil
	}
	out.Now = float64(max(z.peak, maxHeap(r.Settings)))
	m := newModel(z, &busy, r)
	if out.Allocated = m.allocated; m.lacks == "" {
		overhead := m.fixed + m.scaled + m.cycles
		out.Overhead = &overhead
	}
	switch {
	case !known(pause.Collector(r.Collector)) || z.young:
		out.Refused = "there is a rule only for Serial, Parallel, G1, ZGC, and Shenandoah without generations"
	case span < least || z.all.collections < sizingCollections:
		out.Refused = fmt.Sprintf("the log has only %s in %s of the JVM: at least %d in at least %s are needed", view.Plural(z.all.collections, "collection"), view.Duration(seconds(span)), sizingCollections, view.Duration(seconds(least)))
	case z.cycles == 0:
		out.Refused = "there was no old cycle, so the live set is unknown; 'jcmd PID GC.run' forces one, during which the application is stopped"
	case grows:
		out.Refused = "the heap in use after collections keeps growing"
	case m.lacks != "":
		out.Refused = m.lacks
	default:
		m.recommend(out)
	}
	if out.Refused == "" {
		outside := 192.0 * mi // for code, threads and buffers
		if r.Metaspace != nil {
			outside += 1.25 * *r.Metaspace
		}
		out.Container = out.Max*1.05 + outside
	}
	return out
}

func known(c pause.Collector) bool {
	switch c {
	case pause.Serial, pause.Parallel, pause.G1, pause.Z, pause.GenerationalZ, pause.Shenandoah:
		return true
	}
	return false
}

// maxHeap returns the largest heap according to the settings of a run, or 0.
func maxHeap(all []view.Setting) (size int64) {
	for _, s := range all {
		size = cmp.Or(size, pause.Setting{Name: s.Name, Value: s.Value}.MaxHeap())
	}
	return size
}
