package sum

import (
	"fmt"
	"math"

	"github.com/ullage/ullage/internal/read/report/view"
)

// Losses counts the parts that are missing from the log, and other things that limit its use.
type Losses struct {
	Gaps, Dropped uint64 // places where the sidecar dropped lines, and the number of lines
	Async, Cuts   uint64 // lines that JVMs dropped, and places where a full disk or tmpfs lost lines
	Missed        uint64 // archives that JVMs overwrote before the sidecar read them, according to its marks
	Truncations   uint64 // of files, according to the sidecar's marks

	any        bool   // the report lacks something
	clockSteps uint64 // how often the wall clock was set
	mixed      uint64 // runs of two JVMs at once
	moreRuns   uint64 // runs that are not listed
}

// losses turns the counts into problems.
func (s *Sum) losses() {
	l := &s.Lost
	s.Problem(view.ProblemDropped, l.Gaps, true, fmt.Sprintf("the sidecar dropped %s at %s", view.Plural(l.Dropped, "line"), view.Plural(l.Gaps, "place")))
	s.Problem(view.ProblemAsync, l.Async, true, fmt.Sprintf("JVMs dropped %s themselves (-Xlog:async)", view.Plural(l.Async, "line")))
	s.Problem(view.ProblemFull, l.Cuts, true, fmt.Sprintf("JVMs lost lines at %s because their disk or tmpfs was full", view.Plural(l.Cuts, "place")))
	s.Problem(view.ProblemMissed, l.Missed, true, fmt.Sprintf("JVMs overwrote %s before the sidecar read it", view.Plural(l.Missed, "archive")))
	s.Problem(view.ProblemTruncated, l.Truncations, true, fmt.Sprintf("files were truncated in place %s; lines that the sidecar had not read by then are missing", view.Plural(l.Truncations, "time")))
	s.Problem(view.ProblemMixed, l.mixed, true, fmt.Sprintf("the lines of two JVMs are interleaved in %s; throughput, worst minute, rates and heap are left out for these runs and for all runs together", view.Plural(l.mixed, "run")))
	if l.mixed > 0 {
		l.clockSteps = 0 // two interleaved JVMs look like steps of the clock
	}
	s.Problem(view.ProblemClock, l.clockSteps, false, fmt.Sprintf("the wall clock was changed %s; where lines have an uptime, durations are computed from it", view.Plural(l.clockSteps, "time")))
	if t := &s.out.Totals; s.total().span > 0 && l.mixed == 0 {
		s.Problem(view.ProblemOutside, t.Outside, false, fmt.Sprintf("%s of %d in runs whose duration the log does not show: throughput and rates are those of the other runs", view.Plural(t.Outside, "stop"), t.Stops))
	}
	a, b, n := s.outputs()
	s.Problem(view.ProblemOutputs, n, false, fmt.Sprintf("%s and %s seem to be two outputs of one JVM, because it started at the same millisecond in both: stops that are in both count twice in the totals and tables; report on one of them", a, b))
	s.Problem(view.ProblemRuns, l.moreRuns, false, fmt.Sprintf("%s in the totals but not listed", view.Plural(l.moreRuns, "further run")))
	if !s.axis.placed {
		s.Problem(view.ProblemUndated, 1, false, "the lines have no times: there is no timeline, no throughput and no rate")
	}
	if s.axis.dated && s.axis.undated {
		s.Problem(view.ProblemUndated, 1, false, "some lines have no date: what they show is in the tables, but not on the timeline")
	}
}

// outputs returns how many pairs of runs seem to be the same JVM, which writes its stops to two streams, and the
// streams of the first pair. The streams of such a JVM have different names, because they are different files of one
// directory; the JVMs of different pods usually have streams of the same name.
func (s *Sum) outputs() (a, b string, n uint64) {
	const near = 0.002 // seconds: the date and the uptime of a line are rounded to milliseconds
	runs := s.out.Runs
	for i := range runs {
		for j := range i {
			one, other := &runs[j], &runs[i]
			if one.Stream == other.Stream || one.Born == 0 || math.Abs(one.Born-other.Born) > near || one.Stops == 0 || other.Stops == 0 {
				continue
			}
			if n++; n == 1 {
				a, b = one.Stream, other.Stream
			}
		}
	}
	return a, b, n
}
