package cat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
)

// series reads the segments of one stream, or files that the user named, line by line:
//
//	open... → next... → close
type series struct {
	p      *Printer
	name   string         // the name of the stream
	dir    string         // the directory of the stream; empty for a file that is not a segment
	files  []segment.Info // named by the user; nil: all in dir
	sealed bool           // the last of files has a successor
	from   string         // the name of the segment to begin with; empty: the oldest

	follower *segment.Follower // nil before the first read
	foreign  *foreign          // reads a compressed file that is not a segment, instead
	lines    cut.Lines
	pick     *selector
	cur      cut.Piece // what next has moved to
	muted    bool      // it belongs to a line before the last Tail
	counted  counted

	turn
	parked
	index seekIndex

	bad    segment.DamageError
	over   bool   // nothing more is wanted of it
	gone   bool   // dir no longer exists
	lament string // the error of the last listing of dir
}

func newSeries(p *Printer, name, dir string) *series {
	s := &series{p: p, name: name, dir: dir, pick: &selector{cfg: p.cfg, class: p.cfg.Formats.Classifier(name), marks: name == mark.Stream}}
	s.pick.clock.Spans, s.pick.clock.Index = true, s.seekIndex
	return s
}

// addFile adds a file that the user named.
func (s *series) addFile(info segment.Info, sealed bool) {
	s.files, s.sealed = append(s.files, info), sealed
}

// isForeign reports whether the series is a compressed file that is not a segment.
func (s *series) isForeign() bool { return s.dir == "" && isCompressed(s.files[0].Name) }

// next moves to the next piece of a line that is wanted. It returns false if there is
// none for now; without Follow, that is the end.
func (s *series) next(ctx context.Context) (more bool, err error) {
	s.cur = cut.Piece{}
	defer func() { s.idle = !more }()
	for {
		if p, ok := s.lines.Next(); ok {
			if s.pick.take(p, s.lines.Rest()) {
				if s.counted.over(p.First) {
					s.finish()
					return false, nil
				}
				s.cur = p
				s.setKey()
				return true, nil
			}
			continue
		}
		if s.over {
			return false, nil
		}
		if s.pick.over() {
			s.finish()
			continue
		}
		raw, err := s.read(ctx)
		if err != nil {
			return false, err
		}
		if raw == nil && s.p.cfg.Follow && !s.over {
			return false, nil
		}
		if raw == nil {
			s.finish()
			continue
		}
		s.lines.Feed(raw)
	}
}

// finish ends the series with the bytes that were read. What is left of these is not wanted.
func (s *series) finish() {
	s.over = true
	s.lines.Feed(nil)
	s.pick.clock.Forget()
	s.lines.End()
	s.close()
	s.p.open = slices.DeleteFunc(s.p.open, func(o *series) bool { return o == s })
}

// close closes what the series reads from.
func (s *series) close() {
	if s.follower != nil {
		_ = s.follower.Close() // a descriptor that was only read from
	}
	if s.foreign != nil {
		s.foreign.close()
		s.foreign = nil
	}
}

// read returns the next raw bytes, or nil if there are none for now. It ends the last
// line where bytes are missing. The error is that of ctx.
func (s *series) read(ctx context.Context) ([]byte, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.isForeign() {
			return s.readForeign(), nil
		}
		if raw := s.kept; len(raw) > 0 {
			s.kept = nil
			return raw, nil
		}
		if s.follower == nil {
			if err := s.open(); err != nil {
				return nil, err
			}
		}
		s.p.makeRoom(s)
		s.pick.clock.Forget()
		raw, err := s.follower.Next()
		s.p.makeRoom(s)
		if err == nil {
			if s.reportDamage() {
				s.lines.End()
			}
			if s.again == 0 { // else it did so when it read the frame before
				s.clock(raw)
			}
			s.frame = len(raw)
			n := min(s.again, len(raw))
			if s.again -= n; n < len(raw) {
				return raw[n:], nil
			}
			continue
		}
		if more := s.meet(err); !more {
			return nil, nil
		}
	}
}

// clock lets the clock of the series take in raw, a frame that was just read.
func (s *series) clock(raw []byte) {
	clock, seg := &s.pick.clock, s.follower.Segment()
	switch {
	case !s.pick.timed && !s.p.cfg.timed():
	case s.p.live:
		clock.Live(seg, raw)
	case clock.Frame(seg, s.follower.Frame(), raw):
		s.pick.orphan = hasRecord(raw, s.pick.class)
	}
}

// lookLines is how many lines at the beginning of a frame are examined.
const lookLines = 100

// hasRecord reports whether a record, as class finds them, begins in the first lines of raw.
func hasRecord(raw []byte, class format.Classifier) bool {
	n := 0
	for line := range bytes.Lines(raw) {
		if class.Classify(bytes.TrimSuffix(line, []byte{'\n'}), nil).Kind == ul.Header {
			return true
		}
		if n++; n == lookLines {
			break
		}
	}
	return false
}

// open creates the follower.
func (s *series) open() (err error) {
	opt := segment.FollowOptions{Since: s.p.cfg.Since, Once: !s.p.cfg.Follow}
	if s.pick.timed || s.p.cfg.timed() {
		opt.Seek = s.seekIndex()
	}
	if s.files != nil {
		s.follower = segment.FollowFiles(s.files, s.sealed, opt)
		return nil
	}
	opt.From.Segment = s.from
	s.follower, err = segment.OpenFollower(s.dir, opt)
	return err
}

// meet reports an error of the follower. It returns false if there is nothing
// more to read for now.
func (s *series) meet(err error) (more bool) {
	if err != io.EOF {
		s.again = 0 // what was read is not there any more
	}
	var damage *segment.DamageError
	if errors.As(err, &damage) {
		if s.bad.Path == damage.Path && s.bad.To == damage.From {
			s.bad.To = damage.To
			return true
		}
		s.reportDamage()
		s.bad = *damage
		return true
	}
	s.reportDamage()
	var gone *segment.GoneError
	var torn *segment.TornError
	var read *segment.ReadError
	switch {
	case err == io.EOF:
		s.gone, s.lament = false, ""
		return false
	case errors.As(err, &gone):
		if gone.Numbers == 0 {
			s.p.note("%s was deleted before it was printed", quoted(gone.Path))
		}
		return true
	case errors.As(err, &torn):
		if stat, err := os.Stat(torn.Path); err == nil {
			s.p.note("%d bytes at the end of %s are not complete yet", stat.Size()-torn.Offset, quoted(torn.Path))
		}
		return false
	case errors.As(err, &read):
		return s.meetRead(read)
	}
	s.p.complain("%v", err)
	return false
}

// meetRead reports that the stream's directory or a segment cannot be read. It
// retries the directory later, and skips the segment.
func (s *series) meetRead(err *segment.ReadError) (more bool) {
	var at *fs.PathError
	switch {
	case err.Path == s.dir && errors.Is(err, fs.ErrNotExist):
		s.gone = true
		return false
	case err.Path == s.dir:
		if text := readError(s.dir, err.Err).Error(); text != s.lament {
			s.lament = text
			s.p.complain("%s", text)
		}
		return false
	case errors.As(err.Err, &at) && at.Op == "open":
		s.p.complain("%v", readError(err.Path, err.Err))
	default:
		s.p.complain("%s: cannot be read from byte %d on: %v", quoted(err.Path), err.Offset, reason(err.Err))
	}
	s.follower.Skip()
	return true
}

// reportDamage reports the damage before the last bytes read, and returns
// whether there was any.
func (s *series) reportDamage() bool {
	bad := s.bad
	s.bad = segment.DamageError{}
	if bad.From == bad.To {
		return false
	}
	s.p.complain("%s: bytes %d-%d cannot be read: %v; skipped", quoted(bad.Path), bad.From, bad.To-1, bad.Err)
	return true
}
