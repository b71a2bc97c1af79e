package sidecar

import (
	"strings"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/jvm/insight"
	"github.com/ullage/ullage/internal/line/pause"
)

// pausesOf returns the last stops of the JVMs for /recent, the newest last.
func pausesOf(stops []insight.Stop) []admin.Pause {
	pauses := make([]admin.Pause, 0, min(len(stops), admin.MaxPauses))
	for i := min(len(stops), admin.MaxPauses) - 1; i >= 0; i-- {
		s := stops[i]
		pauses = append(pauses, admin.Pause{At: s.End, Stream: s.Stream, Name: nameOf(s), Seconds: s.Duration.Seconds(),
			ReachSeconds: s.Reaching.Seconds(), Verdict: string(s.Verdict), Evidence: s.Evidence})
	}
	return pauses
}

// nameOf names a stop: "G1 young (G1 Evacuation Pause)", or "safepoint ThreadDump". The
// parts of a name are from fixed lists.
func nameOf(s insight.Stop) string {
	if s.Action == "" {
		if s.Operation == pause.None {
			return "safepoint"
		}
		return "safepoint " + s.Operation
	}
	name := strings.TrimSpace(s.Collector + " " + s.Action)
	if s.Cause != "" && s.Cause != pause.None {
		name += " (" + s.Cause + ")"
	}
	return name
}
