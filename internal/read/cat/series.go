package cat

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/read"
	"github.com/ullage/ullage/internal/segment"
)

// series reads the segments of one stream, or files that the user named, line by line:
//
//	next... → finish
type series struct {
	p      *Printer
	name   string         // the name of the stream
	dir    string         // the directory of the stream; empty for a file that is not a segment
	files  []segment.Info // files that the user named; nil: all files in dir
	sealed bool           // the last of files has a successor
	from   string         // the name of the first segment to read; empty: the oldest segment

	source  read.Source
	pick    *selector
	cur     cut.Piece // the piece that next has moved to
	muted   bool      // cur belongs to a line before the last Tail lines
	counted counted

	turn
	index seekIndex

	over   bool   // no more of the series is wanted
	gone   bool   // dir no longer exists
	lament string // the last error of listing dir
}

func newSeries(p *Printer, name, dir string) *series {
	s := &series{p: p, name: name, dir: dir, pick: newSelector(p.cfg, name)}
	s.pick.dates.Clock.Spans, s.pick.dates.Clock.Index = true, s.seekIndex
	s.source.Dates = &s.pick.dates
	return s
}

// addFile adds a file that the user named.
func (s *series) addFile(info segment.Info, sealed bool) {
	s.files, s.sealed = append(s.files, info), sealed
}

// isForeign reports whether the series is a compressed file that is not a segment.
func (s *series) isForeign() bool { return s.dir == "" && s.how() != segment.None }

// how returns the compression of a file that is not a segment, as its name shows.
func (s *series) how() segment.Compression {
	if s.files != nil {
		switch filepath.Ext(s.files[0].Name) {
		case ".zst":
			return segment.Zstd
		case ".gz":
			return segment.Gzip
		}
	}
	return segment.None
}

// next moves to the next piece of a wanted line. It returns false if there is no line for now.
// Without Follow, that means that the series has ended.
func (s *series) next(ctx context.Context) (more bool, err error) {
	s.cur = cut.Piece{}
	defer func() { s.idle = !more }()
	for {
		if p, ok := s.source.Lines.Next(); ok {
			if s.pick.take(p, s.source.Lines.Rest()) {
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
		if s.pick.dates.Over() {
			s.finish()
			continue
		}
		if more, err = s.read(ctx); err != nil {
			return false, err
		}
		if !more && s.p.cfg.Follow && !s.over {
			return false, nil
		}
		if !more {
			s.finish()
		}
	}
}

// finish ends the series. It discards the rest of the bytes that were read.
func (s *series) finish() {
	s.over = true
	s.source.Lines.Feed(nil)
	s.pick.dates.Clock.Forget()
	s.source.Lines.End()
	s.source.Close()
	s.p.open = slices.DeleteFunc(s.p.open, func(o *series) bool { return o == s })
}

// read feeds the lines with the next bytes. It returns false if there are none for now. Any
// error is that of ctx.
func (s *series) read(ctx context.Context) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if !s.source.Opened() {
		if err := s.open(); err != nil {
			s.over = true
			s.p.complain("%v", err)
			return false, nil
		}
	}
	kept := s.source.Kept()
	if !kept {
		s.p.makeRoom(s)
	}
	err = s.source.Read()
	if !kept {
		s.p.makeRoom(s)
	}
	var loss *read.Loss
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &loss):
		return s.meet(loss), nil
	}
	s.gone, s.lament, s.over = false, "", s.over || s.isForeign()
	return false, nil
}

// open starts reading.
func (s *series) open() error {
	if s.isForeign() {
		path := s.files[0].Path
		file, err := os.Open(path)
		if err == nil {
			err = s.source.Decode(file, path, s.how(), segment.Info{})
		}
		if err != nil {
			return readError(path, err)
		}
		return nil
	}
	opt := segment.FollowOptions{Since: s.p.cfg.Since, Once: !s.p.cfg.Follow}
	if s.files == nil {
		opt.From.Segment = s.from
	}
	return s.source.Follow(s.dir, s.files, s.sealed, opt)
}

// meet reports a part that was not read. It returns false if there is nothing more to read for
// now; the stream's directory is then listed again later.
func (s *series) meet(loss *read.Loss) (more bool) {
	var at *fs.PathError
	switch loss.Kind {
	case read.Damaged:
		s.p.complain("%s: bytes %d-%d cannot be read: %v; skipped", printable.Name(loss.Path), loss.From, loss.To-1, loss.Err)
	case read.Deleted:
		if loss.Numbers == 0 {
			s.p.note("%s was deleted before it was printed", printable.Name(loss.Path))
		}
	case read.Incomplete:
		s.p.note("%d bytes at the end of %s are not complete yet", loss.To-loss.From, printable.Name(loss.Path))
	case read.Unreadable:
		switch {
		case s.isForeign():
			s.p.complain("%s: cannot be read any further; %d bytes were printed: %v", printable.Name(loss.Path), loss.From, reason(loss.Err))
		case errors.As(loss.Err, &at) && at.Op == "open":
			s.p.complain("%v", readError(loss.Path, loss.Err))
		default:
			s.p.complain("%s: cannot be read after byte %d: %v", printable.Name(loss.Path), loss.From, reason(loss.Err))
		}
	case read.Unlisted:
		if s.gone = errors.Is(loss.Err, fs.ErrNotExist); s.gone {
			break
		}
		if text := readError(s.dir, loss.Err).Error(); text != s.lament {
			s.lament = text
			s.p.complain("%s", text)
		}
	}
	return !loss.Ends()
}
