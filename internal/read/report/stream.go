package report

import (
	"fmt"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment/clock"
)

// everyLines is the interval, in lines, at which the time of a line is recorded.
const everyLines = 64

// stream reads one stream. Each line is counted, dated and joined with its event; see
// [volume], [runs] and [kept].
type stream struct {
	in     *input
	cfg    Config
	sum    *sum.Sum
	out    view.Input
	source read.Source
	take   func(cut.Piece) // receives each line, or the beginning of a long line
	cuts   ul.Cuts
	joiner *pause.Joiner
	holes  uint64 // number of zero bytes whose place has already been recorded
	volume volume
	runs   runs
	kept   kept
}

func newStream(in *input, s *sum.Sum, cfg Config) *stream {
	st := &stream{in: in, cfg: cfg, sum: s, out: view.Input{Name: in.name, Files: max(len(in.segs), len(in.files))}}
	st.source.Lines.SkipHoles, st.take = true, st.line
	st.volume = volume{sum: s, tags: map[string]*view.Share{}}
	st.runs = runs{name: in.name, sum: s, args: &st.volume.args}
	st.runs.dates.lines = clock.Dating{Class: format.New(format.UL), Window: cfg.window(), Timed: cfg.window().Bounded()}
	st.joiner = pause.NewJoiner(pause.Handlers{
		Run:        st.runs.begin,
		Stop:       st.stop,
		Wait:       func(w *pause.Wait) { st.runs.now.Wait(w) },
		Collection: func(c *pause.Collection) { st.runs.now.Collection(c) },
		Unread:     func() { st.volume.unread++ },
		Clock:      st.runs.dates.correct,
	})
	st.runs.joiner = st.joiner
	return st
}

// line counts the next line.
func (st *stream) line(p cut.Piece) {
	line := p.Head()
	n := len(line)
	if n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	hole, before := st.source.Lines.Holes-st.holes, pause.Clock{}
	if hole > 0 {
		before = st.runs.dates.before()
	}
	class, gap, inside := st.runs.dates.line(line)
	if gap != nil && inside {
		st.gap(gap)
	}
	if gap != nil || !inside {
		return
	}
	st.out.Lines++
	if !p.Last {
		st.volume.long++
	}
	if hole > 0 {
		st.runs.broke("hole", fmt.Sprintf("%s: a hole of %d bytes", st.in.name, hole), before)
		st.holes += hole
	}
	if class.Kind == ul.Header {
		st.runs.resume(false)
	}
	message := st.volume.count(line, class, n, p.Broken())
	st.losses(line, class)
	if st.out.Lines%everyLines == 1 && class.Kind == ul.Header {
		st.runs.look()
	}
	st.kept.add(st.out.Lines, line)
	if e, ok := st.joiner.Line(line, class); ok {
		st.event(e)
	} else if !st.joiner.Continues() && (looksLikePause(message) || p.Broken() && mayBecomePause(line, message)) {
		st.volume.unread++
	}
}

// event records the event of the current line.
func (st *stream) event(e *pause.Event) {
	st.sum.Event(e)
	if e.Kind == pause.Phase {
		return
	}
	st.kept.event()
	if e.Kind == pause.Pause && len(st.in.files) > 1 && !st.joiner.Continues() { // JDK 8 has no numbers
		st.runs.pause(e.GC)
	}
	st.runs.event()
}

// stop counts one stop of the application.
func (st *stream) stop(p *pause.Stop) {
	longest, suspected := st.runs.now.Stop(p)
	if longest != nil {
		st.kept.describe(longest, p)
	}
	if suspected != nil {
		st.kept.surround(suspected, p)
	}
}

// losses records lost lines that a line reports.
func (st *stream) losses(line []byte, class ul.Class) {
	if lost, cut := st.cuts.Find(line, class); cut {
		st.sum.Lost.Cuts++
		st.runs.note("jvm-full", lost, st.in.name+": the JVM lost lines because its disk or tmpfs was full")
	}
	if class.Kind == ul.Drop {
		st.sum.Lost.Async += class.Dropped
		st.runs.note("jvm-async", 0, fmt.Sprintf("%s: the JVM dropped %s (-Xlog:async)", st.in.name, view.Plural(class.Dropped, "line")))
	}
}

// gap records lines that the sidecar has dropped.
func (st *stream) gap(g *ul.Gap) {
	st.sum.Lost.Gaps++
	st.sum.Lost.Dropped += g.Total()
	st.sum.Band("dropped", g.First.UnixNano(), max(g.First.UnixNano(), g.Last.UnixNano()),
		fmt.Sprintf("%s: the sidecar dropped %s", st.in.name, view.Plural(g.Total(), "line")), true)
}

// end ends the stream.
func (st *stream) end() {
	st.endLine()
	if c := st.runs.dates.before(); c.Known() {
		st.runs.at(c)
	}
	st.joiner.Flush()
	st.runs.resume(true)
	st.runs.end(st.out.Lines > 0 && !st.foreign())
	st.sum.Input(st.out)
	st.problems()
}

// problems records the parts of the stream that a report cannot use.
func (st *stream) problems() {
	name, v := st.in.name, &st.volume
	if st.foreign() {
		log := naming.KindOf(name) == naming.KindLog // other files that a JVM writes need not contain such lines
		st.sum.Problem(view.ProblemForeign, st.out.Lines, log, fmt.Sprintf("%s: nothing in it is Unified Logging or a JDK 8 log; %s not used", name, view.Plural(st.out.Lines, "line")))
	} else if !st.joiner.Continues() {
		st.sum.Problem(view.ProblemForeign, v.bare, false, fmt.Sprintf("%s: %s of %d without decorations: continuation lines of a message, or lines of another program", name, view.Plural(v.bare, "line"), st.out.Lines))
	}
	untimed := st.runs.dates.untimed
	st.sum.Problem(view.ProblemUnread, v.unread, true, fmt.Sprintf("%s: %s left out of all figures: possibly a pause, but cut or in an unknown form", name, view.Plural(v.unread, "line")))
	st.sum.Problem(view.ProblemHole, st.source.Lines.Holes, true, fmt.Sprintf("%s: a hole of %d bytes, where a sidecar has reclaimed memory; report on its destination instead", name, st.source.Lines.Holes))
	st.sum.Problem(view.ProblemLong, v.long, false, fmt.Sprintf("%s: only the beginning of %s longer than 64 KiB was read", name, view.Plural(v.long, "line")))
	st.sum.Problem(view.ProblemUndated, untimed, true, fmt.Sprintf("%s: --since and --until left out %s whose time is not known", name, view.Plural(untimed, "line")))
}

// foreign reports whether no line of the stream is from Unified Logging or from a log of
// JDK 8.
func (st *stream) foreign() bool {
	return st.volume.headers == 0 && st.runs.dates.untimed == 0 && st.kept.n == 0 && st.out.Lines > 0
}
