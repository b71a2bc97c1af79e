package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

const (
	maxDeletes  = 2048 // in one Maintain: more than one commit can create
	rescanAfter = time.Minute
)

// retention bounds how much of the volume the segments of all streams take, and how old they
// get. It deletes segments in the ledger and, if that is not enough, releases the newest
// segments of streams. It reads the state of the open streams and calls only their methods
// seal, release and takeBack; streams never call retention.
//
//	sealOld → enforce → share → measure
type retention struct {
	*parts
	room   room
	rescan time.Time // when to scan although the ledger is fresh; zero: not planned

	needed  func(segment.Info) bool // whether another part of the sidecar needs a segment; nil: no segment is needed
	deleted func(segment.Info)      // called with each segment that was deleted; may be nil
}

func (r *retention) sealOld(now time.Time) {
	if r.cfg.SegmentAge > 0 {
		r.sealBefore(now, r.cfg.SegmentAge)
	}
}

// sealBefore seals committed segments that have at least the given age; 0: all.
func (r *retention) sealBefore(now time.Time, age time.Duration) {
	for _, t := range r.streams {
		if t.placed && t.failed == nil && !t.dirty && t.seg.Name != "" && !t.mark.Sealed && (age == 0 || now.Sub(t.seg.Start) >= age) {
			t.seal()
		}
	}
}

// enforce deletes segments until no bound is exceeded. See [Store.Maintain] for save.
func (r *retention) enforce(now time.Time, save func([]*Stream) error) error {
	l := r.ledger
	if !r.rescan.IsZero() && !now.Before(r.rescan) {
		l.forget()
	}
	var errs []error
	for scans, budget := 0, maxDeletes; scans < 3 && budget > 0 && len(errs) == 0; scans++ {
		if !l.fresh {
			if err := r.scan(now); err != nil {
				errs = append(errs, err)
			}
		}
		if !l.fresh {
			break // the destination itself cannot be read
		}
		if err := r.look(); err != nil {
			errs = append(errs, err)
		}
		due := r.choose(now, budget)
		budget -= len(due)
		if err := r.delete(due, save); err != nil {
			errs = append(errs, err)
		}
		if l.all || len(l.oldest) > 0 {
			break
		}
		l.forget() // the window is used up, and there are more segments on the disk
	}
	if len(errs) > 0 {
		r.rescan = now.Add(rescanAfter)
	}
	return errors.Join(errs...)
}

// due is a segment that is to be deleted.
type due struct {
	entry
	newest *Stream // the stream whose newest segment it is; nil: the entry is from the ledger
	reason string
}

// choice is what Maintain deletes.
type choice struct {
	of      *retention
	used    use   // what is used without the chosen segments
	expired int64 // segments last written before this are too old, on the clock of the ledger
	most    int
	chosen  []due
	left    map[string]int // how many known segments of each stream are not chosen
}

// choose chooses segments that exceed a bound, from the window and from the newest segments of
// streams, the oldest first.
func (r *retention) choose(now time.Time, most int) []due {
	c := choice{of: r, used: r.used(), expired: math.MinInt64, most: most}
	if r.cfg.RetainAge > 0 {
		c.expired = (now.Sub(r.ledger.began) - r.cfg.RetainAge).Milliseconds()
	}
	newest, l := r.newest(now, c.expired), r.ledger
	kept := l.oldest[:0]
	for _, e := range l.oldest {
		for len(newest) > 0 && compareEntry(newest[0].entry, e) < 0 {
			c.take(newest[0])
			newest = newest[1:]
		}
		t := r.streams[e.stream]
		resumable := t != nil && !t.placed // Resume may receive a mark in this segment
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
	if d.reason = c.of.exceeded(c.used); d.reason == "" && d.wrote <= c.expired && !c.of.spares(d) {
		d.reason = reasonAge
	}
	if d.reason == "" {
		return false
	}
	if c.left == nil {
		c.left = c.of.known()
	}
	c.used = c.used.minus(d.use())
	if c.left[d.stream]--; c.left[d.stream] == 0 {
		c.used = c.used.minus(directory) // the directory is deleted with its last segment
	}
	c.chosen = append(c.chosen, d)
	return true
}

// spares reports whether d is kept because another part of the sidecar needs it and RetainBytes
// bounds the cost.
func (r *retention) spares(d due) bool {
	return r.needed != nil && r.cfg.RetainBytes > 0 && r.needed(d.info())
}

// known counts the segments of each stream that are known by name.
func (r *retention) known() map[string]int {
	known := map[string]int{}
	for _, e := range r.ledger.oldest {
		known[e.stream]++
	}
	r.held(func(info segment.Info) { known[info.Stream]++ })
	return known
}

// newest returns the newest segments of streams that may be deleted, in the order of their
// last writes. If no size bound is exceeded, it returns only expired segments. A stream keeps
// its newest segment while it has unsynced bytes or is not placed. The segment that was
// written last of all is kept unless it is expired.
func (r *retention) newest(now time.Time, expired int64) (list []due) {
	over := r.exceeded(r.used()) != ""
	last := int64(math.MinInt64)
	for _, t := range r.streams {
		if !t.placed || t.failed != nil || t.seg.Name == "" {
			continue
		}
		wrote := r.ledger.clock(t.seg.ModTime, now)
		last = max(last, wrote)
		if t.dirty || !over && wrote > expired {
			continue
		}
		e := r.ledger.entryOf(t.seg, now)
		e.order = wrote
		list = append(list, due{entry: e, newest: t})
	}
	slices.SortFunc(list, func(a, b due) int { return compareEntry(a.entry, b.entry) })
	if n := len(list); n > 0 && list[n-1].wrote == last && last > expired {
		list = list[:n-1]
	}
	return list
}

// release releases the streams whose newest segments were chosen, and saves their
// marks. If save fails, the streams keep these segments, sealed.
func (r *retention) release(chosen []due, save func([]*Stream) error) error {
	var released []*Stream
	var kept []end
	for _, d := range chosen {
		if t := d.newest; t != nil {
			released, kept = append(released, t), append(kept, t.release())
		}
	}
	if len(released) == 0 {
		return nil
	}
	if err := save(released); err != nil {
		for i, t := range released {
			t.takeBack(kept[i])
		}
		r.ledger.forget() // the window no longer holds the other chosen segments
		return fmt.Errorf("save the marks of released streams: %w", err)
	}
	for _, d := range chosen {
		if d.newest != nil {
			r.ledger.plus(d.entry)
		}
	}
	return nil
}

// delete deletes the chosen segments. If one of them is the newest segment of its stream, the
// checkpoint must first have the stream's mark as Gone; see release. A segment that cannot be
// deleted stays out of the window until the next scan, so that it does not block the others.
func (r *retention) delete(chosen []due, save func([]*Stream) error) error {
	if err := r.release(chosen, save); err != nil {
		return err
	}
	changed := map[string]bool{} // directories that need a sync
	var errs []error
	for i, d := range chosen {
		if err := r.dest.removeSegment(d.info()); err != nil {
			errs = append(errs, err)
			var rest []entry
			for _, d := range chosen[i+1:] {
				rest = append(rest, d.entry)
			}
			r.ledger.restore(rest)
			break
		}
		r.ledger.minus(d.entry)
		r.metrics.deleted.WithLabelValues(d.reason).Inc()
		if r.deleted != nil {
			r.deleted(d.info())
		}
		changed[d.stream] = true
		if removed, err := r.removeEmpty(d.stream); err != nil {
			errs = append(errs, err)
		} else if removed {
			delete(changed, d.stream)
			changed["."] = true
		}
	}
	for name := range changed {
		if err := r.dest.syncDir(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// removeEmpty removes the directory of a stream if it is empty or has only hint files.
// Retention has just deleted a segment in it, so the directory is not another program's.
func (r *retention) removeEmpty(stream string) (removed bool, err error) {
	if t := r.streams[stream]; t != nil && (!t.placed || t.seg.Name != "") {
		return false, nil
	}
	removed, err = r.dest.removeDir(stream)
	if !removed && err == nil {
		if removed, err = r.removeHints(stream); removed {
			removed, err = r.dest.removeDir(stream)
		}
	}
	if removed {
		r.ledger.dirs--
	}
	return removed, err
}

// removeHints removes the hint files of a stream without segments.
func (r *retention) removeHints(stream string) (removed bool, err error) {
	dir, err := r.dest.openDir(stream)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	left := errors.New("a segment is left")
	if err := segment.Each(dir, func(segment.Info) error { return left }); err != nil {
		return false, nil
	}
	for i, name := range hintNames {
		is := hintUse(dir, name)
		if is == (use{}) {
			continue
		}
		if err := r.dest.removeSegment(segment.Info{Stream: stream, Name: name, Path: filepath.Join(dir.Name(), name)}); err != nil {
			return removed, err
		}
		removed = true
		if t := r.streams[stream]; t != nil && hintsOf(t)[i].counted > 0 {
			hintsOf(t)[i].loaded, hintsOf(t)[i].counted = false, 0
		} else {
			r.ledger.hints = r.ledger.hints.minus(is)
		}
	}
	return removed, nil
}

// look asks the file system how much space segments may take, unless segments have grown little
// and the last answer showed that the reserve was free.
func (r *retention) look() error {
	used := r.used()
	r.room.full = r.room.full || r.dest.full
	r.dest.full = false
	if r.cfg.RetainBytes == 0 || !r.room.stale(used) {
		return nil
	}
	st, err := r.dest.space()
	if err != nil {
		return err
	}
	if !r.room.looked {
		r.room.taken = used
	}
	r.room.measure(st, int64(r.cfg.RetainBytes), int64(r.cfg.SegmentBytes), used)
	return nil
}

// exceeded returns the bound that the use exceeds, or "".
func (r *retention) exceeded(used use) string {
	if r.cfg.RetainBytes == 0 {
		return ""
	}
	if used.bytes > int64(r.cfg.RetainBytes) {
		return reasonBytes
	}
	return r.room.exceeded(used)
}

// share returns the size at which segments are sealed: SegmentBytes, or a smaller size with which
// the newest segments of all streams, which are the last to be deleted, take at most a quarter of
// what retention keeps.
func (r *retention) share() int64 {
	size, growing := int64(r.cfg.SegmentBytes), int64(0)
	for _, t := range r.streams {
		if t.placed && t.seg.Name != "" && !t.mark.Sealed {
			growing++
		}
	}
	if r.room.looked && growing > 0 {
		size = min(size, max(int64(minSegment), r.room.reach/4/growing))
	}
	return size
}
