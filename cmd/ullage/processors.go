package main

import "runtime"

// mostProcessors bounds how many goroutines run at once while lines flow: the reader and
// the writer, a sink, and the answer to a request. On a large node, the Go runtime would
// otherwise use all of its processors, and search them for work.
const mostProcessors = 4

// useProcessors sets how many goroutines may run at once. While the source is calm it is
// one: with two, each timer wakes a second thread that searches for work, finds none and
// sleeps again. The control group's current limit is used, as by default.
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
