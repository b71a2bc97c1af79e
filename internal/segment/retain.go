package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	windowSegments = 4096 // how many of the next ones to delete are known
	maxDeletes     = 512  // in one Maintain
	rescanAfter    = time.Minute
)

// entry is a segment that retention may delete.
type entry struct {
	stream string
	seq    uint64
	start  int64 // Unix milliseconds, as in the name
	wrote  int64 // Unix milliseconds of the last write
	size   int64
	how    Compression
}

func (e entry) name() string { return segmentName(time.UnixMilli(e.start), e.seq, e.how) }

func compareEntry(a, b entry) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq), strings.Compare(a.stream, b.stream))
}

// ledger is what retention knows without looking at the disk. The newest
// segments of open streams are not in it: those streams know them.
type ledger struct {
	fresh  bool    // false: the disk must be scanned
	oldest []entry // what can be deleted, in order: all of it, or the beginning
	all    bool    // oldest is all of it
	count  int
	bytes  int64
	rescan time.Time // after a failed delete, when to scan again; or zero
}

// add takes note of a segment that was sealed and that no mark needs.
func (l *ledger) add(info Info) {
	if !l.fresh {
		return // the scan will find it
	}
	l.count++
	l.bytes += info.Size
	e := newEntry(info)
	at, _ := slices.BinarySearchFunc(l.oldest, e, compareEntry)
	if at < len(l.oldest) || l.all {
		l.oldest = slices.Insert(l.oldest, at, e)
	}
	l.trim()
}

func newEntry(info Info) entry {
	return entry{stream: info.Stream, seq: info.Seq, start: info.Start.UnixMilli(),
		wrote: info.ModTime.UnixMilli(), size: info.Size, how: info.Compress}
}

// trim bounds the window once it is twice as long as it needs to be.
func (l *ledger) trim() {
	if len(l.oldest) >= 2*windowSegments {
		slices.SortFunc(l.oldest, compareEntry)
		l.oldest = slices.Delete(l.oldest, windowSegments, len(l.oldest))
		l.all = false
	}
}

// Maintain seals the segments that are older than SegmentAge, deletes what
// retention lets go of and updates the gauges. Call it after a commit: it
// trusts that the checkpoint has the mark of the last Sync, and that every
// stream of the checkpoint was opened with Stream. With nothing to do it costs
// no I/O. An error is one of the destination; nothing need be abandoned.
func (s *Store) Maintain(now time.Time) error {
	s.reader = nil // recoveries are over
	s.sealOld(now)
	err := s.retain(now)
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

// totals counts what is on disk.
func (s *Store) totals() (count int, size int64) {
	count, size = s.ledger.count, s.ledger.bytes
	for _, t := range s.streams {
		if t.placed && t.seg.Name != "" {
			count++
			size += t.seg.Size
		}
		if t.before != nil {
			count++
			size += t.before.Size
		}
	}
	return count, size
}

func (s *Store) retain(now time.Time) error {
	if l := &s.ledger; !l.rescan.IsZero() && !now.Before(l.rescan) {
		l.fresh = false
	}
	emptied := map[string]bool{} // streams of which something was deleted
	budget := maxDeletes
	var errs []error
	for scans := 0; scans < 3 && budget > 0 && len(errs) == 0; scans++ {
		if !s.ledger.fresh {
			if err := s.scan(); err != nil {
				errs = append(errs, err)
				break
			}
		}
		n, err := s.deleteDue(now, budget, emptied)
		budget -= n
		if err != nil {
			errs = append(errs, err)
			s.ledger.rescan = now.Add(rescanAfter)
		}
		if s.ledger.all || len(s.ledger.oldest) > 0 {
			break
		}
		s.ledger.fresh = false // the window is used up, and there is more
	}
	for stream := range emptied {
		errs = append(errs, s.settle(stream))
	}
	return errors.Join(errs...)
}

// deleteDue deletes from the window. A segment that cannot be deleted leaves
// it, so that it doesn't keep the others, until the next scan.
func (s *Store) deleteDue(now time.Time, budget int, emptied map[string]bool) (deleted int, err error) {
	_, size := s.totals()
	expired := now.Add(-s.cfg.RetainAge).UnixMilli()
	l := &s.ledger
	kept := l.oldest[:0]
	for i, e := range l.oldest {
		var reason string
		switch {
		case s.cfg.RetainBytes > 0 && size > int64(s.cfg.RetainBytes):
			reason = reasonBytes
		case s.cfg.RetainAge > 0 && e.wrote <= expired:
			reason = reasonAge
		}
		if reason == "" {
			kept = append(kept, e)
			continue
		}
		if deleted == budget || err != nil {
			kept = append(kept, l.oldest[i:]...)
			break
		}
		path := filepath.Join(s.dir, e.stream, e.name())
		if err = s.removeSegment(Info{Stream: e.stream, Path: path, Name: e.name()}); err != nil {
			continue
		}
		deleted++
		size -= e.size
		l.count--
		l.bytes -= e.size
		emptied[e.stream] = true
		s.metrics.deleted.WithLabelValues(reason).Inc()
	}
	l.oldest = kept
	return deleted, err
}

// settle makes deletions durable, and removes the directory of a stream that
// is not open if it is empty.
func (s *Store) settle(stream string) error {
	if _, open := s.streams[stream]; !open {
		err := retry(func() error { return unix.Unlinkat(int(s.root.Fd()), stream, unix.AT_REMOVEDIR) })
		if err == nil {
			return s.syncDir(".")
		}
		if err != unix.ENOTEMPTY && err != unix.EEXIST && err != unix.ENOENT {
			return &fs.PathError{Op: "rmdir", Path: filepath.Join(s.dir, stream), Err: err}
		}
	}
	if err := s.syncDir(stream); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// scan builds the ledger from the disk.
func (s *Store) scan() error {
	l := ledger{fresh: true, all: true}
	root, err := s.openDir(".")
	if err != nil {
		return fmt.Errorf("scan destination: %w", err)
	}
	defer root.Close()
	err = eachStream(root, func(stream string) error {
		dir, err := s.openDir(stream)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil // deleted since, or another user's
		}
		if err != nil {
			return err
		}
		defer dir.Close()
		open := s.streams[stream]
		found := false
		err = each(dir, func(info Info) error {
			found = true
			l.note(info, stream, open)
			return nil
		})
		if err == nil && !found && open == nil {
			err = s.settle(stream)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("scan destination: %w", err)
	}
	slices.SortFunc(l.oldest, compareEntry)
	if !l.all && len(l.oldest) > windowSegments {
		// Older ones may have been trimmed away for those that came last.
		l.oldest = slices.Delete(l.oldest, windowSegments, len(l.oldest))
	}
	s.ledger = l
	return nil
}

// note enters a segment that a scan found. open is its stream, if it is open.
func (l *ledger) note(info Info, stream string, open *Stream) {
	if open != nil && open.placed && (info.Name == open.seg.Name || open.before != nil && info.Name == open.before.Name) {
		return // the stream itself counts it
	}
	l.count++
	l.bytes += info.Size
	if open != nil && !open.placed {
		return // it may yet be the one to resume
	}
	e := newEntry(info)
	e.stream = stream // one string for all segments of the stream
	l.oldest = append(l.oldest, e)
	l.trim()
}
