package pause

import (
	"testing"
	"time"
)

// joined is everything that a Joiner reports of a log.
type joined struct {
	runs        []Run
	pauses      []GCPause
	timed       int
	waits       []Wait
	stops       []Stop
	collections []Collection
}

func join(lines [][]byte) *joined {
	all := &joined{}
	j := NewJoiner(Handlers{
		Run:   func(r *Run) { all.runs = append(all.runs, *r) },
		Pause: func(p *GCPause) { all.pauses = append(all.pauses, *p) },
		Timed: func(*GCPause) { all.timed++ },
		Wait:  func(w *Wait) { all.waits = append(all.waits, *w) },
		Stop: func(s *Stop) {
			stop := *s
			stop.Pauses = append([]GCPause(nil), s.Pauses...)
			all.stops = append(all.stops, stop)
		},
		Collection: func(c *Collection) {
			collection := *c
			collection.Pauses = append([]GCPause(nil), c.Pauses...)
			all.collections = append(all.collections, collection)
		},
	})
	for _, line := range lines {
		j.Line(line)
	}
	j.Flush()
	return all
}

// Whatever lines show a pause, and whichever are missing, it is in one stop and in one
// collection.
func TestEachPauseIsInOneStopAndOneCollection(t *testing.T) {
	for _, s := range samples {
		lines := sample(t, s.name)
		all := join(lines)
		inStops, inCollections, safepoints := 0, 0, 0
		for _, stop := range all.stops {
			inStops += len(stop.Pauses)
			if stop.Safepoint {
				safepoints++
			}
		}
		for _, c := range all.collections {
			inCollections += len(c.Pauses)
		}
		if len(all.pauses) != s.pauses || inStops != s.pauses || inCollections != s.pauses || safepoints != s.safepoints || all.timed != s.cpu {
			t.Errorf("%s: %d pauses, in stops %d, in collections %d, %d safepoints, %d CPU times; want %d, %d, %d", s.name,
				len(all.pauses), inStops, inCollections, safepoints, all.timed, s.pauses, s.safepoints, s.cpu)
		}
	}
}

func TestYoungAndFullInOneSafepointAreOneStop(t *testing.T) {
	all := join(sample(t, "parallel-jdk17.log"))
	for _, stop := range all.stops {
		if stop.Operation != "ParallelGCSystemGC" {
			continue
		}
		if len(stop.Pauses) != 2 || stop.Pauses[0].Action != "young" || stop.Pauses[1].Action != "full" || stop.Pauses[1].Cause != "System.gc()" {
			t.Errorf("%+v", stop)
		}
		if times := stop.Times(); !times.Known || times.User != 20*time.Millisecond {
			t.Errorf("%+v", times)
		}
		return
	}
	t.Error("no stop of System.gc()")
}
