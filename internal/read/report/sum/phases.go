package sum

import (
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

const (
	maxPhases = 50 // phases of pauses, and as many concurrent phases
	inPause   = "pause"
	beside    = "concurrent"
)

// phases holds the parts of pauses and the concurrent work of the collector, by name. The
// zero value has none.
type phases struct{ paused, concurrent map[string]*histogram }

// add counts a Phase or a Concurrent.
func (p *phases) add(e *pause.Event) {
	of := &p.paused
	if e.Kind == pause.Concurrent {
		of = &p.concurrent
	}
	if *of == nil {
		*of = map[string]*histogram{}
	}
	counts := (*of)[string(e.Name)]
	if counts == nil {
		name := string(e.Name)
		if len(*of) >= maxPhases {
			name = pause.Other
		}
		if counts = (*of)[name]; counts == nil {
			counts = &histogram{}
			(*of)[name] = counts
		}
	}
	counts.add(e.Duration)
}

// spreads returns all distributions, the largest sum first.
func (p *phases) spreads() (all []view.Spread) {
	for kind, of := range map[string]map[string]*histogram{inPause: p.paused, beside: p.concurrent} {
		for name, counts := range of {
			all = append(all, spreadOf(name, kind, counts))
		}
	}
	bySum(all)
	return all
}
