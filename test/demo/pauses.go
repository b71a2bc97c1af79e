package main

import (
	"bytes"
	"regexp"
	"strconv"
	"time"
)

// pauses is what the log says about pauses of the JVM.
type pauses struct {
	collections, safepoints             int
	longestCollection, longestSafepoint time.Duration
}

var (
	// [gc       ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 20M->5M(64M) 1.234ms
	collection = regexp.MustCompile(`\] GC\(\d+\) (?:[yYO]: )?Pause .* (\d+\.\d+)ms$`)
	// [safepoint] Safepoint "G1CollectForAllocation", Time since last: ..., Total: 1626062 ns
	safepoint = regexp.MustCompile(`\] Safepoint ".*, Total: +(\d+) ns`)
)

func pausesIn(text []byte) (p pauses) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if found := collection.FindSubmatch(line); found != nil {
			ms, _ := strconv.ParseFloat(string(found[1]), 64)
			p.collections++
			p.longestCollection = max(p.longestCollection, time.Duration(ms*float64(time.Millisecond)))
		} else if found := safepoint.FindSubmatch(line); found != nil {
			ns, _ := strconv.ParseInt(string(found[1]), 10, 64)
			p.safepoints++
			p.longestSafepoint = max(p.longestSafepoint, time.Duration(ns))
		}
	}
	return p
}
