package cat

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ul"
)

// series is the segments of one stream, or files that the user named.
type series struct {
	p      *Printer
	name   string         // the name of the stream
	dir    string         // the directory of the stream; empty for a file that is not a segment
	files  []segment.Info // named by the user; nil: all in dir
	sealed bool           // the last of files has a successor

	follower *segment.Follower // nil before the first catchUp
	lines    *filter           // nil: all bytes pass unchanged
	bad      segment.DamageError
	over     bool   // everything is printed
	gone     bool   // dir no longer exists
	lament   string // the error of the last listing of dir
}

func newSeries(p *Printer, name, dir string) *series {
	s := &series{p: p, name: name, dir: dir}
	// Series that are followed together take turns, and no turn ends inside a
	// line.
	cfg := p.cfg
	if cfg.Follow || cfg.Gaps || cfg.Level != ul.Unknown || !cfg.Since.IsZero() {
		s.lines = newFilter(p.out, cfg.Level, cfg.Since)
	}
	if cfg.Gaps {
		s.lines.gap = func(g ul.Gap) { p.listGap(name, g) }
	}
	return s
}

// addFile adds a file that the user named.
func (s *series) addFile(info segment.Info, sealed bool) {
	s.files, s.sealed = append(s.files, info), sealed
}

// open creates the follower.
func (s *series) open() (err error) {
	opt := segment.FollowOptions{Since: s.p.cfg.Since, Once: !s.p.cfg.Follow}
	if s.files != nil {
		s.follower = segment.FollowFiles(s.files, s.sealed, opt)
		return nil
	}
	s.follower, err = segment.OpenFollower(s.dir, opt)
	return err
}

// catchUp prints everything that was not printed before.
func (s *series) catchUp(ctx context.Context) error {
	if s.over {
		return nil
	}
	if s.dir == "" && isCompressed(s.files[0].Name) {
		s.over = true
		return s.printForeign(ctx, s.files[0])
	}
	if s.follower == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := s.follower.Next()
		if err == nil {
			if err := s.print(raw); err != nil {
				return err
			}
			continue
		}
		if more := s.meet(err); !more {
			return nil
		}
	}
}

// print prints raw bytes. No line continues across damage.
func (s *series) print(raw []byte) error {
	if s.reportDamage() && s.lines != nil {
		if err := s.lines.end(); err != nil {
			return err
		}
	}
	if s.lines != nil {
		return s.lines.write(raw)
	}
	_, err := s.p.out.Write(raw)
	return err
}

// meet reports an error of the follower. It returns false if there is nothing
// more to read for now.
func (s *series) meet(err error) (more bool) {
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

// end prints the part of the last line that is held back, and closes the
// follower.
func (s *series) end() error {
	if s.follower != nil {
		_ = s.follower.Close() // a descriptor that was only read from
	}
	if s.lines == nil {
		return nil
	}
	return s.lines.end()
}
