package sum

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	sizingTarget = 0.02 // share of the time that collections may take
	mi           = 1 << 20

	// A size is not extrapolated beyond this multiple of the room that the log shows, because the number
	// of surviving objects, and with it the cost of a collection, changes with the room.
	mostChange = 4

	// Above this size, references are twice as large. So a size derived from a heap below it is not
	// valid above it.
	compressedHeap = 32 << 30
)

// model says what share of the time collections take in a heap of another size. The cost of a collection depends on
// the live data, and a collection takes place whenever the room is used up. So the share is
//
//	work without old cycles × current room / new room + work of old cycles × current promotion room / new promotion room
//
// The work of old cycles is the time that they took. But it is never less than the work of one cycle for each time
// that promoted bytes fill the promotion room, because the busiest hour may have had no old cycle. Work that the
// program asked for is the same in a heap of any size. For Serial and Parallel, the work of copying promoted objects
// does not depend on the size of the heap either, and the room of a young collection is proportional to the heap. For
// other collectors, the room is the part of the heap that live data leaves.
type model struct {
	collector pause.Collector
	live      float64 // bytes of live data, at the peak
	average   float64 // bytes of live data, on average over all old cycles
	capacity  float64 // bytes, on average in the busiest hour
	peak      float64 // bytes; the largest capacity if any collection found no room, as a smaller heap may have none; otherwise 0
	old       float64 // share of the heap that is the old generation; only for Serial and Parallel
	scaled    float64 // share of the time; work that decreases as the heap grows
	fixed     float64 // share of the time; work that does not depend on the heap
	cycles    float64 // share of the time; work of old cycles
	cycle     float64 // seconds of work in one old cycle
	longest   float64 // seconds from the beginning of an old cycle to its end
	jump      float64 // bytes; the most that one young collection promoted after the first old cycle
	promoted  float64 // bytes a second
	allocated float64 // bytes a second; 0: unknown
	lacks     string  // why there is no model
}

// newModel creates the model of a run from its busiest hour.
func newModel(z *sizing, busy *spell, r *view.Run) model {
	span := seconds(busy.end - busy.begin)
	m := model{collector: pause.Collector(r.Collector), live: float64(z.live), average: float64(z.sum) / float64(max(1, z.lived)), old: z.old, longest: seconds(z.longest), jump: float64(z.jump)}
	if z.starved > 0 {
		m.peak = float64(z.peak)
	}
	if busy.capacity == 0 || span <= 0 {
		m.lacks = "the log does not show the size of the heap"
		return m
	}
	m.capacity = float64(busy.capacity) / float64(busy.collections)
	weight, ok := concurrentShare(r.Settings)
	share := func(c cost) float64 { return seconds(c.paused) + weight*seconds(c.concurrent) }
	m.scaled, m.fixed = share(busy.scaled)/span, share(busy.fixed)/span
	m.cycles, m.cycle = share(busy.cycles)/span, share(z.cycle)/max(1, float64(z.cycles))
	m.allocated, m.promoted = float64(busy.allocated)/span, float64(busy.promoted)/span
	switch {
	case m.collector == pause.Serial || m.collector == pause.Parallel:
		if m.old == 0 || !busy.advancing {
			m.lacks = "the log does not show the old generation (-Xlog:gc*)"
		}
		// An object is promoted once, whatever the size of the heap. Copying promoted bytes takes as long as a full
		// collection takes for the same number of live bytes.
		if m.average > 0 {
			copied := min(m.scaled, m.promoted*m.cycle/m.average)
			m.scaled, m.fixed = m.scaled-copied, m.fixed+copied
		}
	case !ok:
		m.lacks = "the log lacks the start of the JVM, which shows how many CPUs collect concurrently"
	case m.collector == pause.G1:
		if !busy.advancing {
			m.lacks = "the log does not show the old regions (-Xlog:gc*)"
		}
	default: // each cycle collects the whole heap, or young and old cycles have the same room
		m.scaled, m.cycles, m.cycle = m.scaled+m.cycles, 0, 0
	}
	return m
}

// concurrentShare returns the share of the CPUs that collect concurrently, according to the settings
// that the JVM logs at its start, such as "CPUs: 4 total, 2 available".
func concurrentShare(settings []view.Setting) (share float64, ok bool) {
	cpus, workers := 0.0, 0.0
	for _, s := range settings {
		value, rest, _ := strings.Cut(s.Value, " ")
		switch s.Name {
		case "CPUs":
			available, _ := strings.CutSuffix(rest, " available")
			cpus, _ = strconv.ParseFloat(strings.TrimPrefix(available, "total, "), 64)
		case "Concurrent Workers", "GC Workers", "GC Workers for Old Generation":
			workers, _ = strconv.ParseFloat(value, 64)
		}
	}
	if cpus < 1 || workers < 1 {
		return 0, false
	}
	return min(1, workers/cpus), true
}

// rooms returns two rooms in a heap of the given size: the room that fills up from one collection to
// the next, and the room that promoted objects fill up from one old cycle to the next. Live data is in
// neither of them. If the heap is too small, a room is zero or negative.
func (m *model) rooms(size, live float64) (young, old float64) {
	const (
		reserve = 0.1 // only of G1, -XX:G1ReservePercent
		begin   = 0.5 // G1 marks while the remaining half of the room fills up
	)
	switch m.collector {
	case pause.Serial, pause.Parallel:
		return size, size*m.old - live
	case pause.G1:
		room := size*(1-reserve) - live
		return room, begin * room
	}
	return size - live, size - live
}

// overhead returns the share of the time that collections take in a heap of the given size. It uses the cautious
// estimate of live data, which is the average for a larger heap and the peak for a smaller one: the less live
// data there is, the more a heap must grow to halve the work, and the more it can shrink before the work
// doubles.
func (m *model) overhead(size float64) float64 {
	live := m.live
	if size > m.capacity {
		live = m.average
	}
	young, old := m.rooms(size, live)
	if young <= 0 || old <= 0 {
		return 1
	}
	youngNow, oldNow := m.rooms(m.capacity, live)
	return m.fixed + m.scaled*youngNow/young + max(m.cycles*oldNow, m.cycle*m.promoted)/old
}

// least returns the smallest heap that may be recommended for any overhead: one in which collections
// keep up with a slightly higher load.
func (m *model) least() float64 {
	_, now := m.rooms(m.capacity, m.live)
	const parts = 1024
	least := m.capacity / parts * float64(sort.Search(parts, func(i int) bool {
		_, room := m.rooms(m.capacity/parts*float64(i), m.live)
		return room > now/mostChange
	}))
	switch m.collector {
	case pause.Serial, pause.Parallel:
		least = max(least, 1.1*m.live/m.old, m.promotable())
	case pause.G1:
		least = max(least, m.live/0.7)
	default:
		least = max(least, 1.25*m.live+2*m.allocated*m.longest)
	}
	return max(least, m.peak)
}

// promotable returns the smallest heap of Serial or Parallel whose old generation has room for live data and for the most
// that one young collection promoted, or for the whole young generation. With less room, HotSpot makes a full
// collection instead. And only a young collection lowers HotSpot's estimate of what the next one will promote
// (PSScavenge::should_attempt_scavenge), so that all later collections may be full ones, too.
func (m *model) promotable() float64 {
	size := (m.live + m.jump) / m.old
	if young := 1 - m.old; m.old > young {
		size = min(size, m.live/(m.old-young))
	}
	return size
}

// size returns the smallest heap for an overhead, or 0 if that size is outside the range that
// the log supports.
func (m *model) size(target float64) float64 {
	least := m.least()
	_, now := m.rooms(m.capacity, m.live)
	most := sort.Search(1<<20, func(i int) bool { _, room := m.rooms(m.capacity+float64(i)*mi, m.live); return room > mostChange*now })
	steps := int((m.capacity-least)/mi) + most
	i := sort.Search(max(0, steps), func(i int) bool { return m.overhead(least+float64(i)*mi) <= target })
	if i >= steps {
		return 0
	}
	size := least + float64(i)*mi
	if m.collector == pause.Serial || m.collector == pause.Parallel {
		size *= 1.035 // the log does not count the empty survivor space
	}
	const round = 8 * mi
	return math.Ceil(size/round) * round
}

// recommend sets the size for the target, and the sizes for half and for 2.5 times the
// target.
func (m *model) recommend(out *view.Sizing) {
	if now, old := m.rooms(m.capacity, m.live); now <= 0 || old <= 0 {
		out.Refused = "live objects nearly fill the heap, so the cost in a larger heap is unknown; double the heap and make another report"
		return
	}
	out.Max = m.size(sizingTarget)
	for _, target := range []float64{sizingTarget / 2, sizingTarget * 2.5} {
		if size := m.size(target); size > 0 {
			out.Others = append(out.Others, view.ForOverhead{Overhead: target, Max: size})
		}
	}
	switch {
	case out.Max == 0:
		out.Refused = "even four times the room would not be enough: look at what is allocated and promoted"
	case out.Max > compressedHeap && m.capacity < compressedHeap && m.collector != pause.Z && m.collector != pause.GenerationalZ:
		out.Refused = "it would be larger than 32 GiB, where references need twice the memory"
	}
}
