package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ul"
)

const (
	// catIdle is how long after its last write a followed segment stays open.
	// A destination may hold many streams that are over, and each open one
	// costs a frame's memory. Opening one again costs decoding it once.
	catIdle = 10 * time.Second

	// catMark is how much of a segment's beginning is remembered.
	catMark = 256
)

// catSeries prints the segments of one stream, or files that were named by
// hand, in order.
type catSeries struct {
	cat    *cat
	name   string         // of the stream
	dir    string         // of the stream; empty for a file of another origin
	files  []segment.Info // named by hand, and numbered in their order; nil: all in dir
	sealed bool           // the last of files has a successor
	lines  *catFilter     // nil: all bytes pass as they are

	cur    catPlace
	prev   catPlace        // where cur was before its segment
	reader *segment.Reader // of cur; nil: closed
	repeat catRepeat
	bad    catDamage
	sure   bool // what is bad at cur was seen with fresh eyes

	home   fs.FileInfo // of dir
	gone   bool        // dir does not exist any more
	lament string      // why dir could not be listed the last time
}

// catPlace is how far a segment is printed.
type catPlace struct {
	seg  segment.Info
	file fs.FileInfo // its identity
	off  int64       // bytes on disk
	raw  int64       // bytes printed or, after a cut, passed over
	mark []byte      // the first of them
	done bool        // it has no more
	gone bool        // it was deleted
}

// catRepeat are bytes that come again: when a sidecar restarts, it cuts its
// segments back to the last commit and writes the same bytes again, in other
// frames and perhaps into another segment.
type catRepeat struct {
	cut     catBytes // of the segment that is read again from its beginning
	deleted catBytes // of the one behind it
}

// catBytes is a number of bytes and how they begin.
type catBytes struct {
	n    int64
	mark []byte // nil if that was seen already
}

// strip returns raw without what was printed before.
func (r *catRepeat) strip(raw []byte) []byte {
	for _, b := range []*catBytes{&r.cut, &r.deleted} {
		if b.n == 0 || len(raw) == 0 {
			continue
		}
		if n := min(len(b.mark), len(raw)); !bytes.Equal(b.mark[:n], raw[:n]) {
			*r = catRepeat{} // retention deleted the segment, or it is another one
			return raw
		}
		n := min(b.n, int64(len(raw)))
		b.mark = nil
		b.n -= n
		raw = raw[n:]
	}
	return raw
}

func newCatSeries(c *cat, name, dir string) *catSeries {
	s := &catSeries{cat: c, name: name, dir: dir}
	// Series that are followed together take turns. None of them may end its
	// turn within a line then.
	if c.cfg.follow || c.cfg.gaps || c.cfg.level != ul.Unknown || !c.cfg.since.IsZero() {
		s.lines = newCatFilter(c.out, c.cfg.level, c.cfg.since)
	}
	if c.cfg.gaps {
		s.lines.gap = func(g ul.Gap) { c.listGap(name, g) }
	}
	return s
}

// addFile adds a file that was named by hand.
func (s *catSeries) addFile(info segment.Info, sealed bool) {
	info.Seq = uint64(len(s.files) + 1)
	s.files, s.sealed = append(s.files, info), sealed
}

// catchUp prints what is there and not yet printed.
func (s *catSeries) catchUp(ctx context.Context) error {
	found, ok := s.list()
	if !ok {
		return nil
	}
	if err := s.settle(ctx, found); err != nil {
		return err
	}
	for i, seg := range found {
		begun := order(seg, s.cur.seg)
		if begun < 0 || begun == 0 && s.cur.done {
			continue
		}
		last := i == len(found)-1
		if begun > 0 && !last && s.isBefore(seg, found[i+1]) {
			continue
		}
		if err := s.print(ctx, seg, last && !s.sealed); err != nil {
			return err
		}
	}
	return nil
}

// isBefore says that all of seg was written before --since. A line is written
// before it is persisted, and the last line of a segment is persisted before
// the next segment is created, so the name of that one tells. Not if its time
// is --since itself: names count milliseconds, and lines do. Where the clock
// was set back, or where files were named in another order, names tell nothing.
func (s *catSeries) isBefore(seg, next segment.Info) bool {
	return !seg.Start.IsZero() && !next.Start.Before(seg.Start) && next.Start.Before(s.cat.cfg.since)
}

// order compares two segments of a series by their place in it.
func order(a, b segment.Info) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), strings.Compare(a.Name, b.Name))
}

// list returns the segments that there are. It is false where that is unknown.
func (s *catSeries) list() ([]segment.Info, bool) {
	if s.files != nil {
		return s.listFiles(), true
	}
	home, err := os.Lstat(s.dir)
	var found []segment.Info
	if err == nil {
		found, err = segment.List(s.dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.forget()
		s.gone = true
		return nil, false
	}
	if err != nil {
		if text := readError(s.dir, err).Error(); text != s.lament {
			s.lament = text
			s.cat.complain("%s", text)
		}
		return nil, false
	}
	if s.home != nil && !os.SameFile(s.home, home) {
		s.forget() // the stream was deleted, and there is a new one
	}
	s.home, s.gone, s.lament = home, false, ""
	return found, true
}

// listFiles returns those of the files that exist.
func (s *catSeries) listFiles() []segment.Info {
	var found []segment.Info
	for _, info := range s.files {
		stat, err := os.Stat(info.Path)
		if err == nil {
			info.Size, info.ModTime = stat.Size(), stat.ModTime()
		}
		if err == nil || order(info, s.cur.seg) > 0 { // print tells why it cannot
			found = append(found, info)
		}
	}
	return found
}

// settle looks what became of the segment that is being printed.
func (s *catSeries) settle(ctx context.Context, found []segment.Info) error {
	if s.cur.seg.Name == "" {
		return nil
	}
	at := slices.IndexFunc(found, func(seg segment.Info) bool { return order(seg, s.cur.seg) == 0 })
	if at >= 0 {
		stat, err := os.Stat(found[at].Path)
		if err == nil && (stat.Size() < s.cur.off || s.cur.file != nil && !os.SameFile(stat, s.cur.file)) {
			s.again()
		}
		return nil
	}
	if s.cur.gone {
		return nil
	}
	s.cur.gone = true
	// It was deleted: by retention, as old segments are, or by a restart, as
	// uncommitted ones are, which are then written again. To the open reader
	// that makes no difference, and what comes next will tell.
	if s.reader != nil {
		if err := s.drain(ctx); err != nil {
			return err
		}
	}
	s.leave()
	s.repeat.deleted.add(s.repeat.cut.n, s.repeat.cut.mark)
	s.repeat.deleted.add(s.cur.raw, s.cur.mark)
	s.repeat.cut = catBytes{}
	if n := len(found); n > 0 && s.prev.seg.Name != "" && order(found[n-1], s.prev.seg) == 0 {
		s.cur, s.prev = s.prev, catPlace{} // it is the one that grows again
		s.cur.done = false
	}
	return nil
}

// again prepares for reading cur from its beginning, without printing again
// what was printed of it.
func (s *catSeries) again() {
	s.close()
	s.repeat.cut.add(s.cur.raw, s.cur.mark)
	s.cur = catPlace{seg: s.cur.seg}
	s.bad = catDamage{}
}

// add puts bytes before those that are left.
func (b *catBytes) add(n int64, mark []byte) {
	if n > 0 {
		b.n, b.mark = b.n+n, mark
	}
}

// forget begins anew, as with a stream that was never seen.
func (s *catSeries) forget() {
	s.close()
	s.cur, s.prev, s.repeat, s.bad, s.sure = catPlace{}, catPlace{}, catRepeat{}, catDamage{}, false
}

// close closes the reader; its place is kept.
func (s *catSeries) close() {
	if s.reader != nil {
		_ = s.reader.Close() // a descriptor that was only read from
		s.reader = nil
	}
}

// end prints what is held back of a last line, and closes.
func (s *catSeries) end() error {
	s.close()
	if s.lines == nil {
		return nil
	}
	return s.lines.end()
}
