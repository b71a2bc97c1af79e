package report

import (
	"bytes"
	"fmt"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment/clock"
)

const (
	everyLines = 16  // every so many lines, the time of one is noted
	keptEvents = 64  // lines with events that are kept for the longest stops; see [view.KeptBytes]
	maxTags    = 512 // different tag sets that are counted apart
)

// stream reads one stream.
type stream struct {
	in      *input
	sum     *sum
	out     view.Input
	source  read.Source
	take    func(cut.Piece) // receives each line, or the beginning of a long one
	cuts    ul.Cuts
	joiner  *pause.Joiner
	parser  ul.Parser
	tags    map[string]*view.Share
	kept    [keptEvents]keptLine
	recent  recent
	events  int
	present []byte // the line that the joiner has received, which is not kept yet
	dates   dating
	run     *run
	last    pause.Clock
	broken  broken
	args    arguments
	odd     oddities
}

// keptLine is a line with an event.
type keptLine struct {
	number uint64
	text   []byte
}

// oddities counts what a report cannot use.
type oddities struct {
	bare, headers, unread, long uint64
	holes                       uint64 // zero bytes that were noted where they are
}

func newStream(in *input, s *sum) *stream {
	st := &stream{in: in, sum: s, out: view.Input{Name: in.name, Files: max(len(in.segs), len(in.files))}, tags: map[string]*view.Share{}}
	st.source.Lines.SkipHoles, st.take = true, st.line
	st.joiner = pause.NewJoiner(pause.Handlers{Run: st.begin, Stop: st.stop, Wait: st.wait, Collection: st.collection, Clock: st.dates.correct})
	st.dates.lines = clock.Dating{Class: format.New(format.UL), Window: s.cfg.window(), Timed: s.windowed()}
	return st
}

// line counts the next line.
func (st *stream) line(p cut.Piece) {
	line := p.Head()
	n := len(line)
	if n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	hole, before := st.source.Lines.Holes-st.odd.holes, pause.Clock{}
	if hole > 0 {
		before = st.dates.before()
	}
	class, gap, inside := st.dates.line(line)
	if gap != nil && inside {
		st.gap(gap)
	}
	if gap != nil || !inside {
		return
	}
	st.out.Lines++
	if !p.Last {
		st.odd.long++
	}
	level := &st.sum.levels[class.Level]
	level.Lines++
	level.Bytes += uint64(n) + 1
	if hole > 0 {
		st.broke("hole", fmt.Sprintf("%s: a hole of %d bytes", st.in.name, hole), before)
		st.odd.holes += hole
	}
	if st.broken.kind != "" && class.Kind == ul.Header {
		st.resume(false)
	}
	message := st.decorations(line, class, n, p.Broken())
	if lost, cut := st.cuts.Find(line); cut {
		st.cut(lost)
	}
	if class.Kind == ul.Drop {
		st.dropped(class.Dropped)
	}
	if st.out.Lines%everyLines == 1 && class.Kind == ul.Header {
		st.look()
	}
	st.present = line
	st.recent.add(st.out.Lines, line)
	if e, ok := st.joiner.Line(line, class); ok {
		if e.Kind == pause.Phase || e.Kind == pause.Concurrent {
			st.sum.phases.add(e)
		}
		if e.Kind == pause.Phase {
			return
		}
		if e.Kind == pause.Failure && e.GC < 0 {
			st.sum.out.Totals.Failed++
		}
		st.keep(line)
		if e.Kind == pause.Pause && len(st.in.files) > 1 && st.run != nil && st.run.Number == st.joiner.Run().Number {
			st.run.numbers.add(e.GC)
		}
		if st.run != nil && st.joiner.Run().Number != st.run.Number && !st.last.Known() {
			st.look() // of a run that is not announced yet
		}
	} else if looksLikePause(message) || p.Broken() && mayBecomePause(line, message) {
		st.odd.unread++
	}
}

// decorations counts the line by its tags, and returns its message.
func (st *stream) decorations(line []byte, class ul.Class, n int, broken bool) (message []byte) {
	if class.Kind != ul.Header {
		if class.Kind != ul.Drop && (len(line) == 0 || line[0] != '[') {
			st.odd.bare++
		}
		return nil
	}
	st.odd.headers++
	message = line[class.Message:]
	fields := line[:len(line)-len(message)-len("] ")]
	name := fields[bytes.LastIndexByte(fields, '[')+1:]
	share, ok := st.tags[string(name)]
	if !ok {
		share = st.newTags(line, name)
	}
	share.Lines++
	share.Bytes += uint64(n) + 1
	if share == st.args.tag && !broken && n < cut.HeadBytes {
		st.args.line(message)
	}
	return message
}

// newTags returns the share of the line's tags, and remembers it under the text of the
// last field, which is mostly that of the tags.
func (st *stream) newTags(line, field []byte) *view.Share {
	r, name := st.parser.Parse(line), ""
	if r.Present&ul.Tags != 0 {
		name = string(bytes.TrimRight(r.Tags, " "))
	}
	share := st.sum.tags(name)
	if name == argumentsTag {
		st.args.tag = share
	}
	if len(st.tags) < maxTags {
		st.tags[string(field)] = share
	}
	return share
}

// look notes the time of the last record.
func (st *stream) look() {
	if c := st.dates.clock(); c.Known() {
		st.at(c)
	}
}

// at notes a time that the log shows. A restart is noticed at an event alone, so that a
// time at which the uptime has fallen back waits for it.
func (st *stream) at(c pause.Clock) {
	if st.run == nil {
		st.run = st.sum.newRun(st, st.joiner.Run())
	}
	if st.joiner.Run().Number != st.run.Number || c.HasUptime && st.run.last.HasUptime && ul.Restarted(st.run.last.Uptime, c.Uptime) {
		if st.last.HasUptime && ul.Restarted(st.last.Uptime, c.Uptime) || !st.last.Known() {
			st.last = c
		}
		return
	}
	st.run.see(c, st.sum)
}

// begin is called at the first event of a run.
func (st *stream) begin(r *pause.Run) {
	if st.run == nil {
		st.run = st.sum.newRun(st, r)
	} else if st.run.Number == r.Number {
		st.run.describe(r)
	} else {
		st.run.close(st.sum)
		before := st.run
		st.run = st.sum.newRun(st, r)
		st.run.base = before.place(before.last)
		if st.last.Known() {
			st.run.see(st.last, st.sum)
		}
		st.last = pause.Clock{}
		st.sum.restart(st.run, r.First)
	}
	if !r.Mixed {
		st.args.give(st.run)
	}
	st.run.see(r.First, st.sum)
}

// keep keeps a line with an event.
func (st *stream) keep(line []byte) {
	k := &st.kept[st.events%keptEvents]
	st.events++
	k.number = st.out.Lines
	k.text = append(k.text[:0], line[:min(len(line), view.KeptBytes)]...)
}

// linesOf returns the kept lines of a stop, and the number of the last one.
func (st *stream) linesOf(s *pause.Stop) (texts []string, last uint64) {
	from, to := s.Lines[0], s.Lines[1]
	last = to
	for i := range keptEvents {
		k := &st.kept[(st.events+i)%keptEvents]
		if k.number < from || k.number == 0 {
			continue
		}
		e, _ := pause.Parse(k.text)
		switch {
		case k.number > to && (s.Safepoint || e.Kind != pause.CPU || len(s.Pauses) == 0 || e.GC != s.Pauses[0].GC):
		case e.Kind == pause.Pause, e.Kind == pause.CPU, e.Kind == pause.Safepoint:
			texts, last = append(texts, string(k.text)), max(last, k.number)
		}
	}
	if newest := &st.kept[(st.events+keptEvents-1)%keptEvents]; to == st.out.Lines && newest.number != to {
		texts = append(texts, string(st.present[:min(len(st.present), view.KeptBytes)]))
	}
	return texts[max(0, len(texts)-8):], last
}

// end ends the stream.
func (st *stream) end() {
	st.endLine()
	if c := st.dates.before(); c.Known() {
		st.at(c)
	}
	st.joiner.Flush()
	st.resume(true)
	if st.run == nil && st.out.Lines > 0 && !st.foreign() {
		st.run = st.sum.newRun(st, st.joiner.Run())
	}
	if st.run != nil {
		if !st.args.given {
			st.args.give(st.run) // the log has no event of it
		}
		st.run.describe(st.joiner.Run())
		st.run.close(st.sum)
	}
	st.sum.finish(st)
}
