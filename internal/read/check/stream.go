package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
	"github.com/ullage/ullage/internal/segment/seek"
)

// stream checks one stream.
type stream struct {
	cfg  Config
	to   Receiver
	out  Stream
	fail error // of the receiver

	lines  cut.Lines
	take   func(head, rest []byte) // receives the beginning of each line, and what is known to follow
	class  format.Classifier
	cuts   ul.Cuts
	clock  clock.Stream
	run    Run
	inside bool // the last record is in the window, and so are its further lines
	began  bool // there was a record
	past   clock.Past

	ends     time.Time // when the last line that was read was written; zero: unknown
	dir      string
	segs     []segment.Info
	progress *progress // of all streams
}

func newStream(name, dir string, cfg Config, to Receiver) *stream {
	s := &stream{dir: dir, cfg: cfg, to: to, out: Stream{Stream: name}, progress: &progress{}, class: cfg.Formats.Classifier(name)}
	s.run = Run{Stream: name, Run: 1}
	s.take = s.line
	s.clock.Spans = !cfg.Since.IsZero() || !cfg.Until.IsZero()
	s.clock.Index = sync.OnceValue(func() *seek.Index {
		index, _ := seek.Read(dir, seek.MaxBytes) // one that cannot be read is as none
		return index
	})
	return s
}

// check reads the stream. The error is that of ctx or of the receiver.
func (s *stream) check(ctx context.Context) error {
	var err error
	if s.segs, err = segment.List(s.dir); err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // retention has deleted it meanwhile
			s.unreadable(err)
		}
		return s.end()
	}
	s.list()
	if err := s.read(ctx); err != nil {
		return err
	}
	s.endLine()
	return s.end()
}

// list finds what the names of the segments show.
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

// read reads the segments that can have lines of the window.
func (s *stream) read(ctx context.Context) error {
	opt := segment.FollowOptions{Since: s.cfg.Since, Once: true}
	if !s.cfg.Since.IsZero() {
		opt.Seek = s.clock.Index()
	}
	f, err := segment.OpenFollower(s.dir, opt)
	if err != nil {
		return fmt.Errorf("follow %s: %w", s.dir, err)
	}
	defer f.Close()
	for !s.past.Over() {
		if err := errors.Join(ctx.Err(), s.fail); err != nil {
			return err
		}
		raw, err := f.Next()
		if err == nil {
			if s.clock.Frame(f.Segment(), f.Frame(), raw) && clock.HasRecord(raw) {
				s.began, s.inside = true, false // until the next record, lines belong to one that was skipped
			}
			s.feed(raw)
			s.progress.report(s.segs, f.Segment(), f.Frame().End)
		} else if !s.meet(f, err) {
			break
		}
	}
	return s.fail
}

// meet counts what an error of the follower means. It reports whether there can be more
// to read.
func (s *stream) meet(f *segment.Follower, err error) (more bool) {
	var damage *segment.DamageError
	var gone *segment.GoneError
	var torn *segment.TornError
	var read *segment.ReadError
	switch {
	case errors.As(err, &damage):
		s.out.DamagedBytes += damage.To - damage.From
		s.endLine() // no line continues across it
		return true
	case errors.As(err, &gone): // retention was faster
		s.endLine()
		return true
	case errors.As(err, &torn):
		if stat, err := os.Stat(torn.Path); err == nil {
			s.out.OpenBytes = stat.Size() - torn.Offset
		}
		return false
	case err == io.EOF:
		return false
	}
	s.unreadable(err)
	if !errors.As(err, &read) || read.Path == s.dir {
		return false
	}
	f.Skip()
	s.endLine()
	return true
}

// feed hands on the lines that end in raw, and the beginnings of long ones.
func (s *stream) feed(raw []byte) {
	for p := range s.lines.Heads(raw) {
		s.take(p.Head(), s.lines.Rest())
	}
}

// endLine ends the present line: bytes are missing here.
func (s *stream) endLine() {
	s.lines.End()
	s.feed(nil)
}

func (s *stream) unreadable(err error) {
	s.out.Unreadable++
	s.out.Error = err.Error()
}

// line counts the line with this beginning. Rest is what is known to follow.
func (s *stream) line(head, rest []byte) {
	if g, ok := ul.ParseMarker(head); ok {
		if s.cfg.overlaps(g.First, g.Last) {
			s.run.gap(g)
			// The sidecar's clock and not a date of the log: lines may have been dropped long
			// after the JVM wrote them.
			s.run.span(g.First, true)
		}
		return
	}
	class := s.class.Classify(head, rest)
	if class.Kind == ul.Header || class.Kind == ul.Drop {
		s.date(head)
	} else if !s.began {
		s.inside = s.clock.Inside(s.cfg.Since, s.cfg.Until)
	}
	lost, cut := s.cuts.Find(head)
	if !s.inside {
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
	s.run.Levels[class.Level]++
	s.run.JVMDropped += class.Dropped
	s.run.span(s.clock.Last())
}

// date finds the time of a record, and ends the run before it if it begins another.
func (s *stream) date(head []byte) {
	before := s.clock.Run()
	s.clock.Line(head)
	if before > 0 && s.clock.Run() > before {
		s.endRun()
	}
	when, _ := s.clock.Last()
	if when.After(s.ends) {
		s.ends = when
	}
	s.began, s.inside = true, s.clock.Inside(s.cfg.Since, s.cfg.Until)
	s.past.See(when, s.cfg.Until)
}

// endRun hands on the run that ends here, unless all of it is outside of the window.
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

// untimed gives a run without any times those of the segments: it is the only one of its
// stream.
func (s *stream) untimed() {
	if !s.run.First.IsZero() || len(s.segs) == 0 {
		return
	}
	s.run.span(s.segs[0].Start, true)
	s.run.span(s.segs[len(s.segs)-1].ModTime, true)
}

// end hands on the last run and the stream.
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
