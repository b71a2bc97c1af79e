package view

import (
	"fmt"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/pause"
)

// suspicions explains the name of each suspicion.
var suspicions = map[string]string{
	pause.Idle.String():      "for at least half of the pause, no thread was on a CPU: typically the JVM waits for a disk, swapping or a CPU quota",
	pause.Uneven.String():    "one thread may have worked alone",
	pause.Operation.String(): "the operation itself may have been long",
	pause.Outside.String():   "the safepoint spent a long time outside its pauses, for example because a log write waited for a disk",
	pause.Reaching.String():  "the threads took long to stop",
}

// suspected prints each suspected stop and the lines around it in the log. The stop's own lines are marked.
func (p *printer) suspected() {
	r := p.r
	if len(r.Suspected) == 0 {
		return
	}
	p.heading("Suspected stalls of " + Duration(r.Floor) + " or longer, and the lines around them")
	for i, s := range r.Suspected {
		at := none
		if s.At != nil {
			at = r.When(*s.At)
		}
		fmt.Fprintf(p, "%2d. %s  at %s  %s\n", i+1, p.paint("1", Duration(s.Duration)), at, printable.Text(s.Cause, 100))
		fmt.Fprintf(p, "    %s\n", p.paint("33", s.suspected()))
		for _, part := range []struct {
			mark  string
			lines []string
		}{{" ", s.Before}, {">", s.Lines}, {" ", s.After}} {
			for _, line := range part.lines {
				fmt.Fprintf(p, "  %s %s\n", part.mark, printable.Text(line, KeptBytes))
			}
		}
	}
	if listed := uint64(len(r.Suspected)); r.Totals.Suspected > listed {
		fmt.Fprintf(p, "    and %s\n", Plural(r.Totals.Suspected-listed, "shorter one"))
	}
}

// suspected returns the suspicion about a stop, with its explanation.
func (s *Stop) suspected() string {
	if meaning := suspicions[s.Suspicion]; meaning != "" {
		return "suspected: " + s.Suspicion + ": " + meaning
	}
	return "suspected: " + s.Suspicion
}
