package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/clock"
)

// Config says which part of the log a report is about. The zero value selects all of it.
type Config struct {
	Since time.Time // zero: from the beginning
	Until time.Time // zero: to the end

	Floor pause.Floor // the shortest length at which a stop is suspected of being a stall

	// SizingWindow is how long the log of a JVM must be before a size for its heap is derived.
	// Zero: ten minutes.
	SizingWindow time.Duration

	// Logs, if not nil, means that the logs themselves are not read: the report is made from the marks of their
	// sidecars. For each directory with a stream of marks, Logs has the beginning of the first and of the last segment
	// of its logs that may be in the window. If the marks do not cover the time between, the error is [ErrUnmarked].
	Logs map[string]clock.Window

	// Progress, if not nil, is called now and then with how many of the bytes on disk have
	// been read.
	Progress func(done, total int64)
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	if err := c.window().Validate(); err != nil {
		return []error{err}
	}
	return nil
}

func (c Config) window() clock.Window { return clock.Window{Since: c.Since, Until: c.Until} }

// ErrNoLog is returned for input that has no line of a JVM's log.
var ErrNoLog = errors.New("the input has no line of a JVM's Unified Logging (-Xlog) or of a JDK 8 collector log (-Xloggc)")

// ErrNoDate is returned if a window is given and no line of the input has a known time.
var ErrNoDate = errors.New("no line has a date, and nothing else shows when it was written")

// Read reads the directories or files in args and reports on them. Data that cannot be read is
// one of the report's problems. Read returns an error if there is nothing to report on, or the
// error of ctx.
func Read(ctx context.Context, args []string, cfg Config) (*view.Report, error) {
	all, err := find(args)
	if err != nil {
		return nil, err
	}
	s := sum.New(strings.Join(args, ", "), cfg.Floor, cfg.SizingWindow)
	for _, in := range all {
		if in.err != nil {
			s.Problem(view.ProblemUnreadable, 1, true, fmt.Sprintf("%s: %v", in.dir, in.err))
		}
	}
	all, again := once(all)
	s.Problem(view.ProblemAgain, again, false, fmt.Sprintf("%s named more than once, but read once", view.Plural(again, "file")))
	figures := newFigures(cfg, s)
	p := read.Progress{Tell: cfg.Progress}
	for _, in := range all {
		p.Total += in.bytes
	}
	for _, noted := range []bool{false, true} { // marks are read last because they need the axis of time
		for _, in := range all {
			if in.isMarks() != noted {
				continue
			}
			if err := readInput(ctx, in, s, figures, &p); err != nil {
				return nil, err
			}
			p.Next(in.bytes)
		}
	}
	if cfg.Logs != nil {
		if err := figures.cover(); err != nil {
			return nil, err
		}
	}
	if s.Empty() {
		return nil, nothing(s, cfg)
	}
	return s.Report(), nil
}

// nothing returns the error for input that has no line of a JVM's log.
func nothing(s *sum.Sum, cfg Config) error {
	text := "the input is empty"
	report, crashed := s.LastCrash()
	switch {
	case cfg.window().Bounded():
		text = "no line is in the requested window"
	case crashed:
		text = "there is only a crash report, " + report.File
	}
	for _, p := range s.Problems() {
		if text = p.Text; p.Kind == view.ProblemUndated {
			return fmt.Errorf("%w: %s; log with the decorator time, or report on a destination of 'ullage run', which records when lines were written", ErrNoDate, text)
		}
	}
	return fmt.Errorf("%w: %s", ErrNoLog, text)
}

// readInput reads one stream.
func readInput(ctx context.Context, in *input, s *sum.Sum, of *figures, p *read.Progress) error {
	cfg := of.cfg
	st := newStream(in, s, cfg)
	var other interface {
		line(cut.Piece)
		end(bytes uint64)
	}
	switch {
	case in.isMarks():
		other = newMarks(in, s, of)
	case in.isCrash():
		other = newCrashes(in, s, cfg)
	default:
		defer st.end()
		return st.read(ctx, p)
	}
	st.take = other.line
	err := st.read(ctx, p)
	st.endLine()
	other.end(st.out.Bytes)
	return err
}

// read reads all of the stream.
func (st *stream) read(ctx context.Context, p *read.Progress) error {
	defer st.source.Close()
	if len(st.in.segs) > 0 {
		return st.readSegments(ctx, p)
	}
	if st.in.guessed() {
		st.sum.Problem(view.ProblemOrder, uint64(len(st.in.files)), false, fmt.Sprintf("%s: the files of the rotated set have no dates; they are ordered by uptime or modification time", st.in.name))
	}
	done := int64(0)
	for i := range st.in.files {
		f := &st.in.files[i]
		st.runs.dates.useFile(f)
		if err := f.open(&st.source); err != nil {
			st.unreadable(f.path, err)
			continue
		}
		read := int64(0)
		if err := st.readAll(ctx, func(raw []byte) {
			read += int64(len(raw))
			p.At(done + min(read, f.size))
		}); err != nil {
			return err
		}
		done += f.size
	}
	return nil
}

// readAll reads all data of the source, or as much of it as may be in the window. For each
// block, it calls enter before it passes on the lines.
func (st *stream) readAll(ctx context.Context, enter func(raw []byte)) error {
	for more := true; more && !st.runs.dates.lines.Over(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := st.source.Read()
		var loss *read.Loss
		switch {
		case err == nil:
			raw := st.source.Lines.Rest()
			st.out.Bytes += uint64(len(raw))
			enter(raw)
			st.lines()
		case errors.As(err, &loss):
			st.lines() // the end of the line before the loss
			st.meet(loss)
			more = !loss.Ends()
		default:
			more = false
		}
	}
	return nil
}

// lines passes on the lines that the source has. Of a long line, it passes on only the beginning.
func (st *stream) lines() {
	for p := range st.source.Lines.Heads() {
		st.take(p)
	}
}

// endLine ends a line without a newline at the end of the stream.
func (st *stream) endLine() {
	st.source.Lines.End()
	st.lines()
}

// readSegments reads the segments as they are now.
func (st *stream) readSegments(ctx context.Context, p *read.Progress) error {
	st.runs.dates.useSegments(st.in)
	opt := segment.FollowOptions{Since: st.cfg.Since, Once: true}
	if index := st.runs.dates.lines.Clock.Index; st.cfg.window().Bounded() && index != nil {
		opt.Seek = index()
	}
	if st.in.isMarks() || st.in.isCrash() {
		opt.Since = time.Time{} // a JVM may have started, or a level may have been raised, before the window; a crash report has only one time
	}
	if err := st.source.Follow(st.in.dir, st.in.segs, true, opt); err != nil {
		return err
	}
	st.sequence()
	at := -1
	return st.readAll(ctx, func(raw []byte) {
		seg := st.source.Segment()
		if next := int(seg.Seq) - 1; next != at { // a follower of files numbers the files by their position
			st.enter(at, next)
			at = next
		}
		st.runs.dates.frame(seg, st.source.Frame(), raw)
		p.At(st.source.Done(st.in.segs))
	})
}

// meet records a part that was not read.
func (st *stream) meet(loss *read.Loss) {
	switch loss.Kind {
	case read.Damaged:
		st.unreadable(loss.Path, fmt.Errorf("bytes %d-%d are damaged", loss.From, loss.To-1))
	case read.Deleted:
		st.unreadable(loss.Path, errors.New("it was deleted before it was read"))
	case read.Incomplete:
		if loss.To > loss.From {
			st.sum.Problem(view.ProblemUnreadable, 1, false, fmt.Sprintf("%s: %d bytes at the end are not complete yet", filepath.Base(loss.Path), loss.To-loss.From))
		}
	case read.Unreadable:
		if len(st.in.segs) == 0 {
			st.unreadable(loss.Path, fmt.Errorf("it cannot be read after %d bytes of log: %w", loss.From, loss.Err))
			break
		}
		fallthrough
	case read.Unlisted:
		st.unreadable(st.in.dir, loss)
	}
}

// unreadable records a file or directory that cannot be read completely.
func (st *stream) unreadable(path string, err error) {
	st.sum.Problem(view.ProblemUnreadable, 1, !st.in.isCrash(), fmt.Sprintf("%s: %v", path, err))
	st.runs.broke("unreadable", fmt.Sprintf("%s: a part cannot be read: %v", st.in.name, err), st.runs.dates.before())
}

// sequence records segments that are missing between others, and whether retention has
// deleted the beginning of the stream.
func (st *stream) sequence() {
	in, cfg, n := st.in, st.cfg, uint64(0)
	for i := range in.segs[1:] {
		n += segment.Missing(in.segs[i], in.segs[i+1], cfg.Since, cfg.Until)
	}
	st.sum.Problem(view.ProblemMissing, n, !in.isCrash(), fmt.Sprintf("%s: %s missing although retention did not delete them", in.name, view.Plural(n, "segment")))
	if first := in.segs[0]; in.whole && first.Follows() > 0 && !in.isMarks() {
		short := !cfg.Since.IsZero() && cfg.Since.Before(first.Start)
		st.sum.Problem(view.ProblemRetention, 1, short, fmt.Sprintf("%s: retention has deleted lines before %s", in.name, first.Start.UTC().Format("2006-01-02 15:04:05Z")))
	}
}

// enter records that the segment at index next is read now, after the segment at index before.
func (st *stream) enter(before, next int) {
	n, cfg := uint64(0), st.cfg
	for i := max(before, 0); i < next; i++ {
		n += segment.Missing(st.in.segs[i], st.in.segs[i+1], cfg.Since, cfg.Until)
	}
	if n > 0 {
		st.runs.broke("missing", fmt.Sprintf("%s: %s missing", st.in.name, view.Plural(n, "segment")), st.runs.dates.before())
	}
}
