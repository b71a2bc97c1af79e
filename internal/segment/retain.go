package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxDeletes  = 2048 // in one Maintain: more than one commit can create
	rescanAfter = time.Minute
)

// Maintain seals the segments that are older than SegmentAge, deletes what
// retention releases, and updates the gauges. Call it after a commit: it
// trusts that the checkpoint has the mark of the last Sync, and that every
// stream of the checkpoint was opened with Stream. With nothing to do it costs
// no I/O. An error is one of the destination; no stream need be abandoned.
//
// Where older segments are not enough, Maintain also deletes the newest segments of
// streams, in the order of their last writes, but never the one that was written
// last. It releases their streams in this order: it sets their marks to Gone, calls
// save, which puts these marks into the checkpoint, and only then deletes. If save
// fails, it deletes nothing: a kill after a deletion would leave a checkpoint whose
// mark names a missing segment. The next Maintain releases them again.
func (s *Store) Maintain(now time.Time, save func(released []*Stream) error) error {
	s.reader = nil // recoveries are over
	s.sealOld(now)
	err := s.retain(now, save)
	s.sealAt = s.share()
	s.measure()
	if err != nil {
		return fmt.Errorf("retain segments: %w", err)
	}
	return nil
}

func (s *Store) sealOld(now time.Time) {
	if s.cfg.SegmentAge <= 0 {
		return
	}
	for _, t := range s.streams {
		if t.placed && t.failed == nil && !t.dirty && t.seg.Name != "" && !t.mark.Sealed &&
			now.Sub(t.seg.Start) >= s.cfg.SegmentAge {
			t.seal()
		}
	}
}

// held calls fn for the segments that open streams count.
func (s *Store) held(fn func(Info)) {
	for _, t := range s.streams {
		if t.placed && t.seg.Name != "" {
			fn(t.seg)
		}
		if t.before != nil {
			fn(*t.before)
		}
	}
}

// used is what all segments and the directories of streams take.
func (s *Store) used() use {
	l := &s.ledger
	dirs := max(0, l.dirs)
	sum := use{bytes: l.disk + dirs*directory.bytes, inodes: int64(l.count) + dirs*directory.inodes}
	s.held(func(info Info) { sum = sum.plus(use{bytes: info.Disk, inodes: 1}) })
	return sum
}

func (s *Store) retain(now time.Time, save func([]*Stream) error) error {
	l := &s.ledger
	if !l.rescan.IsZero() && !now.Before(l.rescan) {
		l.fresh = false
	}
	var errs []error
	for scans, budget := 0, maxDeletes; scans < 3 && budget > 0 && len(errs) == 0; scans++ {
		if !l.fresh {
			if err := s.scan(now); err != nil {
				errs = append(errs, err)
			}
		}
		if !l.fresh {
			break // the destination itself cannot be read
		}
		if err := s.look(); err != nil {
			errs = append(errs, err)
		}
		due := s.choose(now, budget)
		budget -= len(due)
		if err := s.delete(due, save); err != nil {
			errs = append(errs, err)
		}
		if l.all || len(l.oldest) > 0 {
			break
		}
		l.fresh = false // the window is used up, and there is more
	}
	if len(errs) > 0 {
		l.rescan = now.Add(rescanAfter)
	}
	return errors.Join(errs...)
}

// due is a segment that is to go.
type due struct {
	entry
	newest *Stream // of which it is the newest one, or nil: then it is from the ledger
	reason string
}

// choice is what Maintain deletes.
type choice struct {
	store   *Store
	used    use   // what is taken without the chosen ones
	expired int64 // what was written last by then, on the clock of the Store
	most    int
	chosen  []due
	left    map[string]int // segments that a stream keeps, as far as they are known
}

// choose takes from the window, and from the newest segments of streams, what
// exceeds a bound, the oldest first.
func (s *Store) choose(now time.Time, most int) []due {
	c := choice{store: s, used: s.used(), expired: math.MinInt64, most: most}
	if s.cfg.RetainAge > 0 {
		c.expired = (now.Sub(s.began) - s.cfg.RetainAge).Milliseconds()
	}
	newest, l := s.newest(now, c.expired), &s.ledger
	kept := l.oldest[:0]
	for _, e := range l.oldest {
		for len(newest) > 0 && compareEntry(newest[0].entry, e) < 0 {
			c.take(newest[0])
			newest = newest[1:]
		}
		t := s.streams[e.stream]
		resumable := t != nil && !t.placed // it may yet be the one to resume
		if resumable || !c.take(due{entry: e}) {
			kept = append(kept, e)
		}
	}
	l.oldest = kept
	for ; l.all && len(newest) > 0; newest = newest[1:] {
		c.take(newest[0])
	}
	return c.chosen
}

// take chooses d if there is a reason to delete it.
func (c *choice) take(d due) bool {
	if len(c.chosen) == c.most {
		return false
	}
	if d.reason = c.store.exceeded(c.used); d.reason == "" && d.wrote <= c.expired {
		d.reason = reasonAge
	}
	if d.reason == "" {
		return false
	}
	if c.left == nil {
		c.left = c.store.known()
	}
	c.used = c.used.minus(d.use())
	if c.left[d.stream]--; c.left[d.stream] == 0 {
		c.used = c.used.minus(directory) // it goes with the last one
	}
	c.chosen = append(c.chosen, d)
	return true
}

// known counts the segments of each stream that are known by name.
func (s *Store) known() map[string]int {
	known := map[string]int{}
	for _, e := range s.ledger.oldest {
		known[e.stream]++
	}
	s.held(func(info Info) { known[info.Stream]++ })
	return known
}

// newest returns those newest segments of streams that may go, in the order of
// their last writes: none if nothing asks for it. Something appended, or being
// resumed, keeps the newest segment; and so does being the one of all that was
// written last, unless that is long ago.
func (s *Store) newest(now time.Time, expired int64) (list []due) {
	over := s.exceeded(s.used()) != ""
	last := int64(math.MinInt64)
	for _, t := range s.streams {
		if !t.placed || t.failed != nil || t.seg.Name == "" {
			continue
		}
		wrote := s.clock(t.seg.ModTime, now)
		last = max(last, wrote)
		if t.dirty || !over && wrote > expired {
			continue
		}
		e := s.entryOf(t.seg, now)
		e.order = wrote
		list = append(list, due{entry: e, newest: t})
	}
	slices.SortFunc(list, func(a, b due) int { return compareEntry(a.entry, b.entry) })
	if n := len(list); n > 0 && list[n-1].wrote == last && last > expired {
		list = list[:n-1]
	}
	return list
}

// release releases the streams whose newest segments were chosen. Where save fails
// they keep them.
func (s *Store) release(chosen []due, save func([]*Stream) error) error {
	var released []*Stream
	var kept []Stream // as they were
	for _, d := range chosen {
		if t := d.newest; t != nil {
			released, kept = append(released, t), append(kept, Stream{seg: t.seg, mark: t.mark})
			t.release()
		}
	}
	if len(released) == 0 {
		return nil
	}
	if err := save(released); err != nil {
		for i, t := range released {
			t.seg, t.mark = kept[i].seg, kept[i].mark
			t.mark.Sealed = true // as release has done
		}
		s.ledger.fresh = false // the others that were chosen are still there
		return fmt.Errorf("save the marks of released streams: %w", err)
	}
	for _, d := range chosen {
		if d.newest != nil {
			s.ledger.count++
			s.ledger.size += d.size
			s.ledger.disk += d.disk
		}
	}
	return nil
}

// delete deletes what was chosen, after save has made sure that no checkpoint
// needs it. A segment that cannot be deleted leaves the window until the next
// scan, so that it doesn't keep the others.
func (s *Store) delete(chosen []due, save func([]*Stream) error) error {
	if err := s.release(chosen, save); err != nil {
		return err
	}
	changed := map[string]bool{} // directories that need a sync
	var errs []error
	for i, d := range chosen {
		if err := s.removeSegment(d.info()); err != nil {
			errs = append(errs, err)
			for _, d := range chosen[i+1:] {
				s.ledger.oldest = append(s.ledger.oldest, d.entry)
			}
			slices.SortFunc(s.ledger.oldest, compareEntry)
			break
		}
		s.ledger.count--
		s.ledger.size -= d.size
		s.ledger.disk -= d.disk
		s.metrics.deleted.WithLabelValues(d.reason).Inc()
		changed[d.stream] = true
		if removed, err := s.removeDirectory(d.stream); err != nil {
			errs = append(errs, err)
		} else if removed {
			delete(changed, d.stream)
			changed["."] = true
		}
	}
	for name := range changed {
		if err := s.syncDir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeDirectory removes the directory of a stream if it is empty and retention has
// just deleted a segment in it. It never touches other empty directories, which may
// belong to another program.
func (s *Store) removeDirectory(stream string) (removed bool, err error) {
	if t := s.streams[stream]; t != nil && (!t.placed || t.seg.Name != "") {
		return false, nil
	}
	err = retry(func() error { return unix.Unlinkat(int(s.root.Fd()), stream, unix.AT_REMOVEDIR) })
	switch err {
	case nil:
		s.ledger.dirs--
		return true, nil
	case unix.ENOTEMPTY, unix.EEXIST, unix.ENOENT:
		return false, nil
	}
	return false, &fs.PathError{Op: "rmdir", Path: filepath.Join(s.dir, stream), Err: err}
}
