package main

import (
	"bytes"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
)

// pauses is what the log shows about pauses of the JVM.
type pauses struct {
	collections, safepoints             int
	longestCollection, longestSafepoint time.Duration
}

func pausesIn(text []byte) (p pauses) {
	for line := range bytes.Lines(text) {
		e, ok := pause.Parse(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case ok && e.Kind == pause.Pause:
			p.collections++
			p.longestCollection = max(p.longestCollection, e.Duration)
		case ok && e.Kind == pause.Safepoint:
			p.safepoints++
			p.longestSafepoint = max(p.longestSafepoint, e.Duration)
		}
	}
	return p
}
