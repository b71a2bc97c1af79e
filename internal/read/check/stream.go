package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/segment/seek"
)

// stream checks one stream.
type stream struct {
	cfg  Config
	to   Receiver
	out  Stream
	fail error // the receiver's error

	source read.Source
	dates  clock.Dating
	take   func(head, rest []byte) // receives the beginning of each line, and the following text that has been read
	cuts   ul.Cuts
	run    Run
	jvm    int // the number of the last line's run; 0: unknown

	whole bool         // segments may be counted from their sums, without reading each line
	sums  *index.Index // the sums of the segments

	ends     time.Time // when the last line that was read was written; zero: unknown
	dir      string
	segs     []segment.Info
	progress *read.Progress // of all streams
}

func newStream(name, dir string, cfg Config, to Receiver) *stream {
	s := &stream{dir: dir, cfg: cfg, to: to, out: Stream{Stream: name}, run: Run{Stream: name, Run: 1}, progress: &read.Progress{}}
	s.dates = clock.Dating{Class: cfg.Formats.Classifier(name), Window: cfg.window(), Timed: true}
	s.dates.Clock.Spans, s.dates.Clock.Index = s.dates.Window.Bounded(), seek.Once(dir)
	s.source.Dates, s.take = &s.dates, s.line
	return s
}

// check reads the stream. The error is that of ctx or of the receiver.
func (s *stream) check(ctx context.Context) error {
	var err error
	if s.segs, err = segment.List(s.dir); err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // retention has deleted it in the meantime
			s.unreadable(err)
		}
		return s.end()
	}
	s.list()
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.end()
}

// list records the findings that the names of the segments show.
func (s *stream) list() {
	for i, seg := range s.segs {
		s.out.Segments++
		s.out.Bytes += seg.Size
		if i == 0 {
			s.out.Reaches, s.out.Cut = seg.Start, seg.Follows() > 0
			s.out.Short = s.out.Cut && s.cfg.Since.Before(seg.Start) && !s.cfg.Since.IsZero()
			continue
		}
		s.out.Missing += segment.Missing(s.segs[i-1], seg, s.cfg.Since, s.cfg.Until)
	}
}

// read reads the segments that may have lines in the window.
func (s *stream) read(ctx context.Context) error {
	if s.whole {
		s.sums = index.Read(s.dir)
		s.source.Pass = func(seg segment.Info) bool { return ctx.Err() == nil && s.pass(seg) }
	}
	if err := s.source.Follow(s.dir, nil, false, segment.FollowOptions{Since: s.cfg.Since, Once: true}); err != nil {
		return fmt.Errorf("follow %s: %w", s.dir, err)
	}
	defer s.source.Close()
	for more := true; more && !s.dates.Over(); {
		if err := errors.Join(ctx.Err(), s.fail); err != nil {
			return err
		}
		err := s.source.Read()
		if err == nil {
			s.progress.At(s.source.Done(s.segs))
		} else if more = s.meet(err); !more {
			s.source.Lines.End()
		}
		for p := range s.source.Lines.Heads() {
			s.take(p.Head(), s.source.Lines.Rest())
		}
	}
	return s.fail
}

// meet counts a part that was not read. It reports whether there may be more to read.
func (s *stream) meet(err error) (more bool) {
	var loss *read.Loss
	if !errors.As(err, &loss) {
		return false
	}
	switch loss.Kind {
	case read.Damaged:
		s.out.DamagedBytes += loss.To - loss.From
	case read.Incomplete:
		s.out.OpenBytes = loss.To - loss.From
	case read.Unreadable, read.Unlisted:
		s.unreadable(loss)
	}
	return !loss.Ends()
}

func (s *stream) unreadable(err error) {
	s.out.Unreadable++
	s.out.Error = err.Error()
}

// line counts the line that begins with head. rest is the following text that has already been read.
func (s *stream) line(head, rest []byte) {
	l := s.dates.Line(head, rest)
	if g := l.Gap; g != nil {
		if l.Inside {
			s.run.gap(*g)
			// This time is from the sidecar's clock, not from a date in the log: lines may have been
			// dropped long after the JVM wrote them.
			s.run.span(g.First, true)
		}
		return
	}
	s.goOn(l.Run)
	if l.Time.After(s.ends) {
		s.ends = l.Time
	}
	lost, cut := s.cuts.Find(head, l.Class)
	if !l.Inside {
		return
	}
	if cut {
		s.run.JVMCuts++
		s.run.JVMCutSeconds += lost.Seconds()
	}
	if ul.IsShortened(head) {
		s.run.Shortened++
	}
	s.run.Lines++
	s.run.Levels[l.Level]++
	s.run.JVMDropped += l.Dropped
	s.run.span(l.Time, l.Estimated)
}

// goOn continues the run of a JVM, or begins the next one.
func (s *stream) goOn(jvm int) {
	if s.jvm > 0 && jvm > s.jvm {
		s.endRun()
	}
	s.jvm = jvm
}

// endRun passes on the run that ends here, unless it lies entirely outside the window.
func (s *stream) endRun() {
	number := s.run.Run + 1
	if !s.run.empty() {
		s.untimed()
		s.out.Runs++
		s.out.add(s.run.Counts)
		if err := s.to.Run(s.run); err != nil && s.fail == nil {
			s.fail = err
		}
	}
	s.run = Run{Stream: s.out.Stream, Run: number}
}

// untimed takes the times of the run from the segments if the run has none. Such a run is the
// only run of its stream.
func (s *stream) untimed() {
	if !s.run.First.IsZero() || len(s.segs) == 0 {
		return
	}
	s.run.span(s.segs[0].Start, true)
	s.run.span(s.segs[len(s.segs)-1].ModTime, true)
}

// end passes on the last run and the stream.
func (s *stream) end() error {
	s.endRun()
	if n := len(s.segs); n > 0 && s.ends.IsZero() {
		s.ends = s.segs[n-1].ModTime
	}
	if s.fail != nil {
		return s.fail
	}
	return s.to.Stream(s.out)
}
