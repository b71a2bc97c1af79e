package main

import (
	"math"
	"strings"
)

// goal is a limit that the project has set itself.
type goal struct {
	figure string // the experiment and the key of its column, such as "idle/rss"

	what     string
	measured interval
	limit    float64
	least    bool // the limit is a lower limit
}

// The verdicts on a goal.
const (
	reached   = "reached"
	missed    = "missed"
	undecided = "not decided" // the limit is within the interval
)

func (g goal) verdict() string {
	worst, best := g.measured.high, g.measured.low
	within := func(v float64) bool { return v <= g.limit }
	if g.least {
		worst, best = best, worst
		within = func(v float64) bool { return v >= g.limit }
	}
	switch {
	case within(worst):
		return reached
	case within(best):
		return undecided
	}
	return missed
}

func (g goal) bound() string {
	if g.least {
		return "at least " + figure(g.limit)
	}
	return "at most " + figure(g.limit)
}

// bound is a goal before it is measured.
type bound struct {
	what                        string
	limit                       float64
	experiment, contestant, key string

	base  string // the contestant by whose value the measured value is divided; empty: the value itself is limited
	least bool
}

const plain, packed = "ullage, none", "ullage, zstd"

// copyBounds are the bounds of the catch-up that are not relative to a peer.
var copyBounds = []bound{
	{what: "catch-up with zstd: CPU, as a multiple of reading, compressing and writing", limit: 1.25, experiment: "catchup", contestant: packed, key: "cpu", base: loopName},
	{what: "catch-up without compression: wall time, as a multiple of `dd` with `fsync`", limit: 1.5, experiment: "catchup", contestant: plain, key: "wall", base: ddName},
	{what: "catch-up with zstd: CPU, as a multiple of that without the metrics of the JVM", limit: 1.25, experiment: "catchup", contestant: packed, key: "cpu", base: blindName},
	{what: "catch-up with zstd: peak memory, MiB", limit: 24, experiment: "catchup", contestant: packed, key: "peak"},
}

// steadyBounds are the bounds of a sidecar that follows files, idle or under a steady load.
var steadyBounds = []bound{
	{what: "the reader: a line of 120 bytes, ns", limit: 75, experiment: "reader", contestant: readerName, key: "ns"},
	{what: "the same: allocations", limit: 0, experiment: "reader", contestant: readerName, key: "allocs"},
	{what: "idle, with a trigger: most memory, MiB", limit: 12, experiment: "idle", contestant: armedName, key: "rss"},
	{what: "the same: CPU, % of a core", limit: .1, experiment: "idle", contestant: armedName, key: "cpu"},
	{what: "idle: most memory, MiB", limit: 10, experiment: "idle", contestant: packed, key: "rss"},
	{what: "idle: CPU, % of a core", limit: .07, experiment: "idle", contestant: packed, key: "cpu"},
	{what: "idle: wake-ups/s", limit: 10, experiment: "idle", contestant: packed, key: "wakes"},
	{what: "20,000 lines/s: CPU, % of a core", limit: 2, experiment: "steady", contestant: packed, key: "cpu"},
	{what: "20,000 lines/s: p99 of a line's age, ms (the limit is that of Fluent Bit 5.1.1, which was measured elsewhere and not by this run)", limit: 199, experiment: "steady", contestant: packed, key: "p99"},
}

// lossBounds are the bounds on lines that a fault may lose or repeat.
var lossBounds = []bound{
	{what: "rotation storm: lines lost", experiment: "storm", contestant: packed, key: "lost"},
	{what: "rotation storm: lines twice", experiment: "storm", contestant: packed, key: "twice"},
	{what: "rotation storm with two busy loops: lines lost", experiment: "crowded", contestant: packed, key: "lost"},
	{what: "`kill -9`: lines lost", experiment: "kills", contestant: packed, key: "lost"},
	{what: "`kill -9`: lines twice", experiment: "kills", contestant: packed, key: "twice"},
	{what: "frozen disk: lines lost", experiment: "frozen", contestant: packed, key: "lost"},
}

// eventBounds are the bounds of the ring.
var eventBounds = []bound{
	{what: "1,000,000 events/s into the ring: lost", experiment: "million", contestant: millionRing, key: "lost"},
	{what: "the same: p99.99 of a call, µs", limit: 50, experiment: "million", contestant: millionRing, key: "p9999"},
	{what: "1,000,000 lines/s by Logback into the ring: lost", limit: 10, experiment: "million", contestant: millionLogback, key: "lost"},
	{what: "the same: p99.9 of a call, µs", limit: 20, experiment: "million", contestant: millionLogback, key: "p999"},
	{what: "1,000,000 lines/s by Logback with an encoder: lost at warning or above", experiment: "million", contestant: millionEncoder, key: "severe"},
	{what: "the same, waiting: lost", experiment: "million", contestant: millionWaiting, key: "lost"},
}

// boundsFor returns all bounds that apply to the contestants in the record.
func boundsFor(r *record) []bound {
	all := []bound{
		{what: "catch-up without compression: CPU, s/GiB", limit: 1.2, experiment: "catchup", contestant: plain, key: "cpu"},
		{what: "the same, as a multiple of `cat`", limit: 2, experiment: "catchup", contestant: plain, key: "cpu", base: "cat"},
	}
	if peer := r.bestPeer("catchup", "cpu"); peer != "" {
		all = append(all,
			bound{what: "the same, as a multiple of the best peer", limit: .25, experiment: "catchup", contestant: plain, key: "cpu", base: peer},
			bound{what: "catch-up with zstd: CPU, as a multiple of the best peer without compression", limit: .5, experiment: "catchup", contestant: packed, key: "cpu", base: peer})
	}
	all = append(append(all, copyBounds...), steadyBounds...)
	for _, jdk := range r.contestants("raise") {
		all = append(all, bound{what: jdk + ": longest from an edited annotation to a line at its level, ms", limit: 1000, experiment: "raise", contestant: jdk, key: "longest"})
	}
	for _, jdk := range r.contestants("small") {
		all = append(all,
			bound{what: jdk + ", 2 GiB through a tmpfs of 16 MiB: messages lost", experiment: "small", contestant: jdk, key: "lost"},
			bound{what: "the same: dropped, with a marker", experiment: "small", contestant: jdk, key: "dropped"},
			bound{what: "the same: not written, as the tmpfs was full", experiment: "small", contestant: jdk, key: "cut"},
			bound{what: "the same: twice", experiment: "small", contestant: jdk, key: "twice"},
			bound{what: "the same: largest use, MiB", limit: 4, experiment: "small", contestant: jdk, key: "use"})
	}
	for _, name := range r.contestants("minute") {
		all = append(all,
			bound{what: "one minute out of 10 GiB, " + name + ": s", limit: 1, experiment: "minute", contestant: name, key: "wall"},
			bound{what: "the same: peak resident, MiB", limit: 32, experiment: "minute", contestant: name, key: "peak"},
			bound{what: "the same: seek file, % of the segments", limit: .1, experiment: "minute", contestant: name, key: "share"})
	}
	all = append(all, lossBounds...)
	for _, c := range []struct{ what, experiment string }{{"stop the world, frozen disk", "stopped"}, {"stop the world, saturated disk", "saturated"}} {
		for _, group := range r.groups(c.experiment) {
			all = append(all, bound{what: c.what + ", " + group + ": longest hiccup with `ullage`, as a multiple of that with logging off", limit: 1.5,
				experiment: c.experiment, contestant: group + ": " + shippedLogging, key: "longest", base: group + ": " + loggings[0].name})
		}
	}
	return append(append(all, eventBounds...), costBounds()...)
}

// costBounds are the bounds of reports, of hindsight and of reading pauses.
func costBounds() (all []bound) {
	for _, log := range reportLogs {
		all = append(all,
			bound{what: "`ullage report`, " + log.name + ": MB a CPU second", limit: 300, experiment: "report", contestant: log.name, key: "speed", least: true},
			bound{what: "the same: peak memory, MiB", limit: 64, experiment: "report", contestant: log.name, key: "peak"},
			bound{what: "the same: page, KiB", limit: 2048, experiment: "report", contestant: log.name, key: "page"})
	}
	all = append(all,
		bound{what: "`ullage report --compare`, " + comparedName + ": wall time on two cores, s", limit: 60, experiment: "compared", contestant: comparedName, key: "wall"},
		bound{what: "the same: peak memory, MiB", limit: 128, experiment: "compared", contestant: comparedName, key: "peak"},
		bound{what: "the same: page, KiB", limit: 3072, experiment: "compared", contestant: comparedName, key: "page"})
	for _, held := range []string{hindsightHeld, hindsightSaved} {
		all = append(all, bound{what: "hindsight, " + held + ": CPU, as a multiple of that with " + hindsightOff, limit: 1.15, experiment: "hindsight", contestant: held, key: "cpu", base: hindsightOff})
	}
	for _, pair := range pausePairs {
		all = append(all, bound{what: "reading pauses in `ullage run`, " + pair.name + ": CPU, as a multiple of that without", limit: 1.25, experiment: "tried", contestant: pair.on, key: "cpu", base: pair.off})
	}
	return all
}

// goals returns the goals whose figures were measured, including missed ones.
func (r *record) goals() (all []goal) {
	for _, b := range boundsFor(r) {
		values := r.row(b.experiment, b.contestant).values(b.key)
		if len(values) == 0 {
			continue
		}
		measured := spreadOf(len(values), func(drawn []int) float64 { return medianOf(values, drawn) })
		if b.base != "" {
			var ok bool
			if measured, ok = over(values, r.row(b.experiment, b.base).values(b.key)); !ok {
				continue
			}
		}
		all = append(all, goal{figure: b.experiment + "/" + b.key, what: b.what, measured: measured, limit: b.limit, least: b.least})
	}
	return all
}

// row returns the row of a contestant, or an empty row.
func (r *record) row(experiment, contestant string) *row {
	for _, x := range r.Experiments {
		if x.Name == experiment {
			return x.find(contestant)
		}
	}
	return &row{}
}

// contestants returns the names of an experiment's rows.
func (r *record) contestants(experiment string) (all []string) {
	for _, x := range r.Experiments {
		if x.Name == experiment {
			for _, row := range x.Rows {
				all = append(all, row.Contestant)
			}
		}
	}
	return all
}

// groups returns the groups of rows of an experiment with hiccups: a JDK and a workload.
func (r *record) groups(experiment string) (all []string) {
	for _, contestant := range r.contestants(experiment) {
		if group, name, ok := strings.Cut(contestant, ": "); ok && name == shippedLogging {
			all = append(all, group)
		}
	}
	return all
}

// bestPeer returns the peer with the least median of a column, or the empty string if there is
// none.
func (r *record) bestPeer(experiment, key string) (best string) {
	least := math.Inf(1)
	for _, c := range r.Contestants {
		if strings.HasPrefix(c.Name, "ullage") {
			continue
		}
		if v, found := r.median(experiment, c.Name, key); found && v < least {
			least, best = v, c.Name
		}
	}
	return best
}
