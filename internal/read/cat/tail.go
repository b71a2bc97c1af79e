package cat

import (
	"context"
	"fmt"
	"io"

	"github.com/ullage/ullage/internal/segment"
)

// seekTail finds where the last lines begin: the segment of each series, and how many lines
// to skip there. It reads the newest segments twice instead of holding lines in memory.
// Without Follow, lines that are appended in the meantime are not printed.
func (p *Printer) seekTail(ctx context.Context) error {
	if p.cfg.Tail == 0 {
		return nil
	}
	total := 0
	for _, item := range p.items {
		for _, s := range item.series {
			n, err := s.seekTail(ctx)
			if err != nil {
				return err
			}
			total += n
			s.counted = counted{on: !p.cfg.Follow, left: n}
		}
	}
	p.skip = max(0, total-p.cfg.Tail)
	return nil
}

// counted is how many of the counted lines of a series have yet to be printed. It is not used
// if lines that are appended later are printed too.
type counted struct {
	on   bool
	left int
}

// over reports whether the next piece belongs to a line that was not counted. first means that
// the piece begins a line.
func (c *counted) over(first bool) bool {
	switch {
	case !c.on || !first:
		return false
	case c.left == 0:
		return true
	}
	c.left--
	return false
}

// seekTail makes the series begin with the newest segments that together have enough wanted
// lines. It returns how many wanted lines they have. It doubles the number of segments until
// there are enough lines. Anything that cannot be read is reported when it is printed.
func (s *series) seekTail(ctx context.Context) (n int, err error) {
	segs := s.files
	if segs == nil {
		if segs, err = segment.List(s.dir); err != nil {
			return 0, nil // the error is reported when the series is printed
		}
	}
	all := len(segs)
	if s.isForeign() {
		all = 1
	}
	for want := 1; ; want *= 2 {
		last := segs[max(0, all-want):]
		if n, err = s.count(ctx, last); err != nil {
			return 0, err
		}
		if n < s.p.cfg.Tail && want < all {
			continue
		}
		if s.files != nil {
			s.files = last
		} else if len(last) > 0 {
			s.from = last[0].Name
		}
		return n, nil
	}
}

// count returns how many wanted lines are in the given segments.
func (s *series) count(ctx context.Context, segs []segment.Info) (n int, err error) {
	cfg := s.p.cfg
	cfg.Follow = false
	quiet := newSeries(New(cfg, io.Discard, io.Discard), s.name, s.dir)
	quiet.files, quiet.sealed = segs, s.sealed
	if cfg.timed() {
		quiet.index = seekIndex{s.seekIndex(), true}
	}
	if len(segs) == 0 {
		return 0, nil
	}
	defer quiet.source.Close()
	for {
		more, err := quiet.next(ctx)
		if err != nil {
			return 0, fmt.Errorf("count lines: %w", err)
		}
		if !more {
			return n, nil
		}
		if quiet.cur.First {
			n++
		}
	}
}
