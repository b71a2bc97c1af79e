package main

import "strings"

// goal is a limit that the project has set itself.
type goal struct {
	figure string // the experiment and the key of its column, as "idle/rss"

	what     string
	measured float64
	limit    float64
	least    bool // the limit is the least value, and not the largest
}

func (g goal) reached() bool {
	if g.least {
		return g.measured >= g.limit
	}
	return g.measured <= g.limit
}

func (g goal) bound() string {
	if g.least {
		return "at least " + figure(g.limit)
	}
	return "at most " + figure(g.limit)
}

// goals are those whose figures were measured. A goal that was missed stays.
func (r *record) goals() (all []goal) {
	const plain, packed = "ullage, none", "ullage, zstd"
	add := func(what string, limit float64, experiment, contestant, key string) {
		if v, ok := r.median(experiment, contestant, key); ok {
			all = append(all, goal{figure: experiment + "/" + key, what: what, measured: v, limit: limit})
		}
	}
	compare := func(what string, limit float64, experiment, contestant, key string, base float64, ok bool) {
		if v, found := r.median(experiment, contestant, key); found && ok && base > 0 {
			all = append(all, goal{figure: experiment + "/" + key, what: what, measured: v / base, limit: limit})
		}
	}
	cat, hasCat := r.median("catchup", "cat", "cpu")
	loop, hasLoop := r.median("catchup", loopName, "cpu")
	peer, hasPeer := r.bestPeer("catchup", "cpu")
	add("catch-up without compression: CPU, s/GiB", 1.2, "catchup", plain, "cpu")
	compare("the same, as a multiple of `cat`", 2, "catchup", plain, "cpu", cat, hasCat)
	compare("the same, as a multiple of the best peer", .25, "catchup", plain, "cpu", peer, hasPeer)
	compare("catch-up with zstd: CPU, as a multiple of the best peer without compression", .5, "catchup", packed, "cpu", peer, hasPeer)
	compare("catch-up with zstd: CPU, as a multiple of reading, compressing and writing", 1.25, "catchup", packed, "cpu", loop, hasLoop)
	dd, hasDD := r.median("catchup", ddName, "wall")
	compare("catch-up without compression: wall time, as a multiple of `dd` with `fsync`", 1.5, "catchup", plain, "wall", dd, hasDD)
	blind, hasBlind := r.median("catchup", blindName, "cpu")
	compare("catch-up with zstd: CPU, as a multiple of that without the metrics of the JVM", 1.25, "catchup", packed, "cpu", blind, hasBlind)
	if hasDD {
		add("catch-up with zstd: peak memory, MiB", 24, "catchup", packed, "peak")
	}
	add("the reader: a line of 120 bytes, ns", 75, "reader", readerName, "ns")
	add("the same: allocations", 0, "reader", readerName, "allocs")
	add("idle, with a trigger: most memory, MiB", 12, "idle", armedName, "rss")
	add("the same: CPU, % of a core", .1, "idle", armedName, "cpu")
	add("idle: most memory, MiB", 10, "idle", packed, "rss")
	add("idle: CPU, % of a core", .07, "idle", packed, "cpu")
	add("idle: wake-ups/s", 10, "idle", packed, "wakes")
	add("20,000 lines/s: CPU, % of a core", 2, "steady", packed, "cpu")
	add("20,000 lines/s: p99 of a line's age, ms (the limit is that of Fluent Bit 5.1.1, which was measured elsewhere and not by this run)", 199, "steady", packed, "p99")
	for _, jdk := range r.contestants("raise") {
		add(jdk+": p99 from an edited annotation to a line at its level, ms", 1000, "raise", jdk, "p99")
	}
	for _, jdk := range r.contestants("small") {
		add(jdk+", 2 GiB through a tmpfs of 16 MiB: messages lost", 0, "small", jdk, "lost")
		add("the same: dropped, with a marker", 0, "small", jdk, "dropped")
		add("the same: not written, as the tmpfs was full", 0, "small", jdk, "cut")
		add("the same: twice", 0, "small", jdk, "twice")
		add("the same: largest use, MiB", 4, "small", jdk, "use")
	}
	for _, name := range r.contestants("minute") {
		add("one minute out of 10 GiB, "+name+": s", 1, "minute", name, "wall")
		add("the same: peak resident, MiB", 32, "minute", name, "peak")
		add("the same: seek file, % of the segments", .1, "minute", name, "share")
	}
	add("rotation storm: lines lost", 0, "storm", packed, "lost")
	add("rotation storm: lines twice", 0, "storm", packed, "twice")
	add("rotation storm with two busy loops: lines lost", 0, "crowded", packed, "lost")
	add("`kill -9`: lines lost", 0, "kills", packed, "lost")
	add("`kill -9`: lines twice", 0, "kills", packed, "twice")
	add("frozen disk: lines lost", 0, "frozen", packed, "lost")
	for _, c := range []struct{ what, experiment string }{{"stop the world, frozen disk", "stopped"}, {"stop the world, saturated disk", "saturated"}} {
		for _, group := range r.groups(c.experiment) {
			off, has := r.median(c.experiment, group+": "+loggings[0].name, "longest")
			compare(c.what+", "+group+": longest hiccup with `ullage`, as a multiple of that with logging off", 1.5, c.experiment, group+": "+shippedLogging, "longest", off, has)
		}
	}
	add("1,000,000 events/s into the ring: lost", 0, "million", millionRing, "lost")
	add("the same: p99.99 of a call, µs", 50, "million", millionRing, "p9999")
	add("1,000,000 lines/s by Logback into the ring: lost", 10, "million", millionLogback, "lost")
	add("the same: p99.9 of a call, µs", 20, "million", millionLogback, "p999")
	for _, log := range reportLogs {
		if v, ok := r.median("report", log.name, "speed"); ok {
			all = append(all, goal{figure: "report/speed", what: "`ullage report`, " + log.name + ": MB a CPU second", measured: v, limit: 300, least: true})
		}
		add("the same: peak memory, MiB", 64, "report", log.name, "peak")
		add("the same: page, KiB", 2048, "report", log.name, "page")
	}
	whole, hasWhole := r.median("hindsight", hindsightOff, "cpu")
	for _, held := range []string{hindsightHeld, hindsightSaved} {
		compare("hindsight, "+held+": CPU, as a multiple of that with "+hindsightOff, 1.15, "hindsight", held, "cpu", whole, hasWhole)
	}
	for _, pair := range pausePairs {
		blind, hasBlind := r.median("tried", pair.off, "cpu")
		compare("reading pauses in `ullage run`, "+pair.name+": CPU, as a multiple of that without", 1.25, "tried", pair.on, "cpu", blind, hasBlind)
	}
	return all
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

// groups returns the workloads of an experiment with hiccups.
func (r *record) groups(experiment string) (all []string) {
	for _, contestant := range r.contestants(experiment) {
		if group, name, ok := strings.Cut(contestant, ": "); ok && name == shippedLogging {
			all = append(all, group)
		}
	}
	return all
}

// bestPeer returns the least median of a column among the shippers of others.
func (r *record) bestPeer(experiment, key string) (least float64, ok bool) {
	for _, c := range r.Contestants {
		if strings.HasPrefix(c.Name, "ullage") {
			continue
		}
		if v, found := r.median(experiment, c.Name, key); found && (!ok || v < least) {
			least, ok = v, true
		}
	}
	return least, ok
}
