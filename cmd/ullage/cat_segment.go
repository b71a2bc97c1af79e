package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// catDamage is a range of bytes of a segment that cannot be read.
type catDamage struct {
	from, to int64
	why      error
	torn     bool // it looks like a frame that is not complete yet
}

var errTorn = errors.New("a frame without its end")

// print prints what is new in seg, which is cur or comes after it. last: it is
// the newest one, so it may grow, and its end may be a frame that is being
// written.
func (s *catSeries) print(ctx context.Context, seg segment.Info, last bool) error {
	if s.dir == "" && isCompressed(seg.Name) {
		return s.printForeign(ctx, seg)
	}
	if !s.enter(seg) {
		return nil
	}
	for {
		// Others want their turn too, so never more than was there.
		if s.cat.cfg.follow && last && s.cur.off >= seg.Size {
			break
		}
		if more, err := s.next(ctx, last); err != nil {
			return err
		} else if !more {
			break
		}
	}
	s.report(seg)
	switch {
	case !last:
		s.leave()
	case time.Since(seg.ModTime) > catIdle:
		s.close()
	}
	s.cur.seg.Size = max(seg.Size, s.cur.off)
	return nil
}

// enter opens seg, unless it is open. It is false if there is nothing new.
func (s *catSeries) enter(seg segment.Info) bool {
	if order(seg, s.cur.seg) == 0 && s.cur.seg.Name != "" {
		if s.reader != nil {
			return true
		}
		if s.cur.off > 0 && seg.Size == s.cur.seg.Size {
			return false // nothing has happened since it was closed
		}
		s.again()
	} else {
		s.leave()
		s.prev, s.cur = s.cur, catPlace{seg: seg}
	}
	return s.open()
}

func (s *catSeries) open() bool {
	path := s.cur.seg.Path
	var err error
	if s.reader, err = segment.OpenReader(path); err == nil {
		s.cur.file, _ = os.Stat(path)
		return true
	}
	s.cur.done = true
	if errors.Is(err, fs.ErrNotExist) && s.files == nil {
		s.cat.note("%s was deleted before it was printed", catName(path))
	} else {
		s.cat.complain("%v", readError(path, err))
	}
	return false
}

// leave ends cur: there is nothing more in it.
func (s *catSeries) leave() {
	s.close()
	s.cur.done = true
	s.sure = false
}

// next prints one frame, or gets past what is none. It is false where there is
// no more for now.
func (s *catSeries) next(ctx context.Context, last bool) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	raw, err := s.reader.Next()
	var torn *segment.TornError
	var bad *segment.CorruptionError
	switch {
	case err == nil:
		return true, s.take(raw)
	case err == io.EOF:
		return false, nil
	case errors.As(err, &torn):
		return s.tear(last)
	case errors.As(err, &bad):
		if last && !s.sure {
			// It may have been cut and written again while nobody looked.
			s.sure = true
			s.again()
			return s.open(), nil
		}
		return s.skip(bad.Err, false)
	}
	s.cat.complain("%s: cannot be read from byte %d on: %v", catName(s.cur.seg.Path), s.cur.off, reason(err))
	s.leave()
	return false, nil
}

// take prints the raw bytes of a frame.
func (s *catSeries) take(raw []byte) error {
	s.bad.torn = false // not the end, then
	if err := s.gap(); err != nil {
		return err
	}
	s.cur.off = s.reader.Offset()
	s.cur.raw += int64(len(raw))
	if n := catMark - len(s.cur.mark); n > 0 {
		s.cur.mark = append(s.cur.mark, raw[:min(n, len(raw))]...)
	}
	if raw = s.repeat.strip(raw); len(raw) == 0 {
		return nil
	}
	s.sure = false
	if s.lines != nil {
		return s.lines.write(raw)
	}
	_, err := s.cat.out.Write(raw)
	return err
}

// gap tells of the damage before a frame. No line goes on behind it.
func (s *catSeries) gap() error {
	if s.bad.from == s.bad.to {
		return nil
	}
	s.report(s.cur.seg)
	if s.lines == nil {
		return nil
	}
	return s.lines.end()
}

// tear deals with a frame whose end is missing.
func (s *catSeries) tear(last bool) (more bool, err error) {
	switch {
	case !last:
		return s.skip(errTorn, false)
	case s.cat.cfg.follow, s.bad.torn:
		return false, nil
	}
	// A damaged frame can pretend to a length that reaches behind the end, so
	// look for a sound one behind it. If the file grew meanwhile, what is
	// found there says nothing.
	stat, err := os.Stat(s.cur.seg.Path)
	if err != nil {
		return false, nil
	}
	if more, err = s.skip(errTorn, true); s.bad.to >= stat.Size() {
		s.bad.to = stat.Size()
		return false, err
	}
	return more, err
}

// skip goes on behind damage.
func (s *catSeries) skip(why error, torn bool) (more bool, err error) {
	from, to, err := s.reader.Resync()
	if err != nil {
		s.cat.complain("%s: cannot be read from byte %d on: %v", catName(s.cur.seg.Path), s.cur.off, reason(err))
		s.leave()
		return false, nil
	}
	s.cur.off = to
	switch {
	case s.repeat.cut.n > 0: // it was told before
	case s.bad.from < s.bad.to && s.bad.to == from:
		s.bad.to = to
	default:
		s.bad = catDamage{from: from, to: to, why: why, torn: torn}
	}
	return to > from, nil
}

// report tells of the damage up to here.
func (s *catSeries) report(seg segment.Info) {
	bad := s.bad
	s.bad = catDamage{}
	switch name := catName(seg.Path); {
	case bad.from == bad.to:
	case bad.torn:
		end := bad.to
		if stat, err := os.Stat(seg.Path); err == nil {
			end = max(end, stat.Size())
		}
		s.cat.note("%d bytes at the end of %s are not complete yet", end-bad.from, name)
	default:
		s.cat.complain("%s: bytes %d-%d cannot be read: %v; skipped", name, bad.from, bad.to-1, bad.why)
	}
}

// drain prints what is left of a segment that was deleted while it was open.
func (s *catSeries) drain(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := s.reader.Next()
		var bad *segment.CorruptionError
		more := true
		switch {
		case err == nil:
			err = s.take(raw)
		case errors.As(err, &bad):
			more, err = s.skip(bad.Err, false)
		default:
			more, err = false, nil
		}
		if err != nil || !more {
			s.report(s.cur.seg)
			return err
		}
	}
}
