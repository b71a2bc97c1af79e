package main

import "runtime"

// mostProcessors limits the goroutines that run at the same time while lines flow: the reader, the writer, a sink,
// and the answer to a request. On a large node, the Go runtime would otherwise use all of its processors and search
// them for work.
const mostProcessors = 4

// useProcessors sets how many goroutines may run at the same time. While the source is calm, the number is one: with
// two, each timer wakes a second thread that searches for work, finds none and sleeps again. While lines flow, the
// control group's limit applies up to mostProcessors.
func useProcessors(busy bool) {
	if !busy {
		runtime.GOMAXPROCS(1)
		return
	}
	runtime.SetDefaultGOMAXPROCS()
	if runtime.GOMAXPROCS(0) > mostProcessors {
		runtime.GOMAXPROCS(mostProcessors)
	}
}
