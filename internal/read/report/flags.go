package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read/report/view"
)

const argumentsTag = "arguments"

// arguments reads the command line that a JVM logs before anything else of its run, with
// -Xlog:arguments. JDK 25 does so, and JDK 17 does not. The zero value has read none.
type arguments struct {
	tag   *view.Share // of the lines with its tag; nil: there was none
	flags string      // of the run that begins next
	given bool        // a run has begun
}

// line takes the message of a line with the tag arguments. What follows a line end inside an
// argument is in no line of its own.
func (a *arguments) line(message []byte) {
	if args, ok := bytes.CutPrefix(message, []byte("jvm_args: ")); ok {
		a.flags = printable.Escaped(mark.Flags(string(args)), view.MaxFlags)
	}
}

// give gives what was read to the run that begins.
func (a *arguments) give(r *run) {
	if a.flags != "" {
		r.Flags = a.flags
	}
	a.flags, a.given = "", true
}

// start returns when the JVM of a run started, on an axis of dates, or 0: by its uptimes or,
// where it has none, by its first line. Another JVM may start a second later.
func (r *run) start() float64 {
	switch first := r.first; {
	case first.Wall.IsZero() || r.mixed:
		return 0
	case first.HasUptime:
		return axis(first.Wall.Add(-first.Uptime).UnixNano())
	case r.Started:
		return axis(first.Wall.UnixNano())
	}
	return 0
}

// meet reads a mark about a JVM, and completes the runs of this JVM: in each of its streams
// the one that started when the mark says, to two seconds. What the log has itself comes first.
func (s *sum) meet(k mark.Mark) {
	const near = 2 * time.Second
	up, err := time.ParseDuration(k.Get("uptime"))
	if err != nil {
		return
	}
	born, best := axis(k.Time.Add(-up).UnixNano()), map[string]*view.Run{}
	away := func(r *view.Run) float64 { return math.Abs(r.Born - born) }
	streams := strings.Split(k.Get("stream"), ",")
	for i := range s.out.Runs {
		r := &s.out.Runs[i]
		if r.Born == 0 || away(r) > near.Seconds() || !slices.Contains(streams, r.Stream) {
			continue
		}
		if other := best[r.Stream]; other == nil || away(r) < away(other) {
			best[r.Stream] = r
		}
	}
	for _, r := range best {
		fillIn(&r.Collector, k.Get("collector"))
		fillIn(&r.Version, k.Get("version"))
		fillIn(&r.Flags, k.Get("flags"))
	}
}

// fillIn sets what is empty.
func fillIn(text *string, value string) {
	if *text == "" {
		*text = value
	}
}
