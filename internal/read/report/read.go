package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/segment"
)

// Config says what of the log a report is about. The zero value is all of it.
type Config struct {
	Since time.Time // zero: from the beginning
	Until time.Time // zero: to the end

	Floor pause.Floor // from which length on a stop is suspected of being a stall

	// Progress, if not nil, is called now and then with how many of the bytes on disk
	// are read.
	Progress func(done, total int64)
}

// Validate returns one error for each setting that cannot work.
func (c Config) Validate() []error {
	if !c.Until.IsZero() && c.Until.Before(c.Since) {
		return []error{errors.New("--until is before --since: no line can be between them")}
	}
	return nil
}

// ErrNoLog is returned for input without a line of Unified Logging.
var ErrNoLog = errors.New("no line of it is Unified Logging (-Xlog) of a JVM")

// ErrNoDate is returned for a window and input none of whose lines has a known time.
var ErrNoDate = errors.New("no line has a date, and nothing else shows when it was written")

// Read reads what args name, directories or files, and reports on it. Whatever cannot be
// read is one of the report's problems; the error is that there is nothing to report on,
// or that of ctx.
func Read(ctx context.Context, args []string, cfg Config) (*view.Report, error) {
	all, err := find(args)
	if err != nil {
		return nil, err
	}
	s := newSum(cfg)
	s.out.Name = strings.Join(args, ", ")
	all, again := once(all)
	s.problem("again", again, false, fmt.Sprintf("%s named more than once, and read once", view.Plural(again, "file")))
	p := progress{tell: cfg.Progress}
	for _, in := range all {
		p.total += in.bytes
	}
	for _, noted := range []bool{false, true} { // marks come last, since they need the axis of time
		for _, in := range all {
			if in.isMarks() != noted {
				continue
			}
			if err := s.read(ctx, in, &p); err != nil {
				return nil, err
			}
			p.base += in.bytes
		}
	}
	return s.report()
}

// read reads one stream.
func (s *sum) read(ctx context.Context, in *input, p *progress) error {
	st := newStream(in, s)
	var other interface {
		line(cut.Piece)
		end(bytes uint64)
	}
	switch {
	case in.isMarks():
		other = newMarks(in, s)
	case in.isCrash():
		other = newCrashes(in, s)
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

// progress counts bytes on disk.
type progress struct {
	tell        func(done, total int64)
	base, total int64
}

func (p *progress) report(done int64) {
	if p.tell != nil {
		p.tell(min(p.base+done, p.total), p.total)
	}
}

// read reads all of the stream.
func (st *stream) read(ctx context.Context, p *progress) error {
	if len(st.in.segs) > 0 {
		return st.readSegments(ctx, p)
	}
	if st.in.guessed() {
		st.sum.problem("order", uint64(len(st.in.files)), false, fmt.Sprintf("%s: the files of the rotated set have no dates; their order follows from uptimes or from when they were written", st.in.name))
	}
	done := int64(0)
	for i := range st.in.files {
		if err := st.readFile(ctx, &st.in.files[i], p, done); err != nil {
			return err
		}
		done += st.in.files[i].size
	}
	return nil
}

// readFile reads one file. The error is that of ctx.
func (st *stream) readFile(ctx context.Context, f *file, p *progress, before int64) error {
	r, err := openFile(f.path)
	if err != nil {
		st.unreadable(f.path, err)
		return nil
	}
	defer r.Close()
	st.dates.useFile(f)
	block := make([]byte, blockBytes)
	for read := int64(0); !st.dates.ended.Over(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(block)
		st.write(block[:n])
		read += int64(n)
		p.report(before + min(read, f.size))
		if err == io.EOF {
			return nil
		}
		if err != nil {
			st.endLine()
			st.unreadable(f.path, fmt.Errorf("it cannot be read further, behind %d bytes of log: %w", read, err))
			return nil
		}
	}
	return nil
}

// write hands on the lines that end in block, and the beginnings of long ones.
func (st *stream) write(block []byte) {
	st.out.Bytes += uint64(len(block))
	st.lines.Feed(block)
	for p := range st.lines.Heads() {
		st.take(p)
	}
}

// endLine ends the line that has no newline: the stream ends here, or bytes are missing.
func (st *stream) endLine() {
	st.lines.End()
	st.write(nil)
}

// readSegments reads the segments, as they are now.
func (st *stream) readSegments(ctx context.Context, p *progress) error {
	st.dates.useSegments(st.in)
	opt := segment.FollowOptions{Since: st.sum.cfg.Since, Once: true}
	if st.sum.windowed() && st.dates.stream.Index != nil {
		opt.Seek = st.dates.stream.Index()
	}
	if st.in.isMarks() || st.in.isCrash() {
		opt.Since = time.Time{} // a JVM may have started, or a level been raised, before the window; the report of a crash has one time
	}
	f := segment.FollowFiles(st.in.segs, true, opt)
	defer f.Close()
	st.sequence()
	at, before, size := -1, int64(0), int64(0)
	for !st.dates.ended.Over() {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := f.Next()
		if err == nil {
			if seg := f.Segment(); int(seg.Seq)-1 != at {
				next := int(seg.Seq) - 1 // FollowFiles numbers them in their order
				st.enter(at, next)
				at, before, size = next, before+size, seg.Size
			}
			st.dates.frame(f.Segment(), f.Frame(), raw)
			st.write(raw)
			p.report(before + min(f.Frame().End, size))
			continue
		}
		if !st.meet(f, err) {
			return nil
		}
	}
	return nil
}

// meet notes an error of the follower. It reports whether there is more to read.
func (st *stream) meet(f *segment.Follower, err error) (more bool) {
	var damage *segment.DamageError
	var gone *segment.GoneError
	var torn *segment.TornError
	var read *segment.ReadError
	switch {
	case err == io.EOF:
		return false
	case errors.As(err, &damage):
		st.endLine()
		st.unreadable(damage.Path, fmt.Errorf("bytes %d-%d are damaged", damage.From, damage.To-1))
		return true
	case errors.As(err, &gone):
		st.endLine()
		st.unreadable(gone.Path, errors.New("it was deleted before it was read"))
		return true
	case errors.As(err, &torn):
		if stat, err := os.Stat(torn.Path); err == nil && stat.Size() > torn.Offset {
			st.sum.problem("unreadable", 1, false, fmt.Sprintf("%s: %d bytes at the end are not complete yet", filepath.Base(torn.Path), stat.Size()-torn.Offset))
		}
		return false
	}
	st.endLine()
	st.unreadable(st.in.dir, err)
	if errors.As(err, &read) && read.Path != st.in.dir {
		f.Skip()
		return true
	}
	return false
}

// unreadable notes a file that cannot be read, or not to its end.
func (st *stream) unreadable(path string, err error) {
	st.sum.problem("unreadable", 1, !st.in.isCrash(), fmt.Sprintf("%s: %v", path, err))
	st.broke("unreadable", fmt.Sprintf("%s: a part cannot be read: %v", st.in.name, err), st.dates.before())
}
