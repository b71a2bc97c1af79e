package main

import (
	"fmt"
	"strconv"
)

// The contestants that have goals.
const (
	millionRing    = "ring, a number and a string"
	millionLogback = "Logback, ring"
	millionEncoder = "Logback, ring, an encoder"
	millionWaiting = "Logback, ring, an encoder, waiting"
)

// million measures, at a million events a second, how many events are lost and how long calls take.
func (a application) million() (*experiment, error) {
	const threads, rate = 2, 1_000_000
	seconds := int(7.5 * a.window.Seconds()) // a minute, with the default window
	x := &experiment{
		Name: "million", Title: "A million events a second", Plot: "p9999",
		Question: "Does the ring keep up with an application that logs a lot? Does a call ever wait?",
		Method: fmt.Sprintf("%d threads log %s events/s in all for %d s, in bursts of one millisecond, into a ring of 4 MiB that a sidecar takes and persists with zstd, or into its peer. "+
			"At 100,000 events/s the threads warm up for 3 s before, so that compiled code logs. The application's counts are compared with the lines found at the end. "+
			"Of Logback's events, 1 %% are errors and 4 %% are warnings. The row that waits has `wait=trace:60000ms`; the other one with an encoder has Logback's default, in which errors wait for 20 ms. "+
			"The last rows are floods: threads log as fast as they can, for 3 s, and the ring refuses what does not fit. "+
			"Each call's time includes two calls of `System.nanoTime`. The sidecar's CPU time is for everything it does with an event: rendering, reading, classifying, compressing, writing.",
			threads, "1,000,000", seconds),
		Threat: "Two threads and the sidecar share the cores, and each wait for a core is in the times of calls. A thread that falls behind logs faster afterwards, up to the speed of the appender.",
		Columns: []column{{"ops", "events/s"}, {"written", "events"}, {"lost", "lost"}, {"severe", "lost at warning or above"}, {"p50", "p50, µs"}, {"p999", "p99.9, µs"}, {"p9999", "p99.99, µs"},
			{"longest", "longest call, ms"}, {"side", "sidecar's CPU, ns/event"}},
	}
	var all []entry
	for _, by := range []appender{
		{millionRing, "event", true}, {millionLogback, "ring", true}, {millionEncoder, "ring:encoder", true}, {millionWaiting, "ring:encoder:wait", true}, {"Logback, file on tmpfs", "file", true},
		{"Logback, AsyncAppender, queue 65,536, discarding", "async:65536:discard", false},
	} {
		all = append(all, entry{by.name, func() (figures, error) {
			return a.log(by, "", logged, "Million", strconv.Itoa(threads), strconv.Itoa(seconds), strconv.Itoa(rate))
		}})
	}
	for _, n := range []int{1, 50} {
		all = append(all, entry{fmt.Sprintf("%s; a flood, threads: %d", millionRing, n), func() (figures, error) {
			return a.log(appender{"", "event", true}, "", logged, "Million", strconv.Itoa(n), "3", "0")
		}})
	}
	return x, a.inTurn(x, all)
}
