package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// scan builds the ledger from the disk. A directory that cannot be read does not stop
// retention in the other directories: scan returns the error, but the ledger is fresh.
func (r *retention) scan(now time.Time) error {
	root, err := r.dest.openDir(".")
	if err != nil {
		return fmt.Errorf("scan destination: %w", err)
	}
	defer root.Close()
	l := ledger{began: r.ledger.began, idle: r.ledger.idle, fresh: true, all: true}
	for _, t := range r.streams {
		for _, f := range hintsOf(t) {
			f.counted = 0
		}
	}
	var first error
	err = segment.EachStream(root, func(stream string) error {
		err := r.scanStream(&l, stream, now)
		if err != nil && first == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			first = fmt.Errorf("scan destination: %w", err)
		}
		return nil // the directory has been deleted, belongs to another user, or is broken
	})
	if err != nil {
		return fmt.Errorf("scan destination: %w", err)
	}
	slices.SortFunc(l.oldest, compareEntry)
	if !l.all {
		l.shorten() // a trim may have dropped segments that are older than those of streams scanned later
	}
	*r.ledger, r.rescan = l, time.Time{}
	return first
}

// scanStream enters the segments of one stream. It remembers the segments with the lowest
// numbers and, for the other segments, only the earliest times.
func (r *retention) scanStream(l *ledger, stream string, now time.Time) error {
	dir, err := r.dest.openDir(stream)
	if err != nil {
		return err
	}
	defer dir.Close()
	found, later, any := []entry(nil), endOfTime, false
	bound := func(most int) {
		slices.SortFunc(found, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
		for i := len(found) - 1; i >= most; i-- {
			later.notAfter(found[i])
		}
		if len(found) > most {
			found, l.all = found[:most], false
		}
	}
	open := r.streams[stream]
	err = segment.Each(dir, func(info segment.Info) error {
		any = true
		e := l.entryOf(info, now)
		e.stream = stream // one string for all segments of the stream
		if open != nil && open.holds(info) {
			later.notAfter(e)
			return nil
		}
		l.plus(e)
		if found = append(found, e); len(found) >= 2*windowSegments {
			bound(windowSegments)
		}
		return nil
	})
	bound(windowSegments)
	for i := len(found) - 1; i >= 0; i-- {
		found[i].notAfter(later)
		later = found[i]
	}
	if any {
		l.dirs++
	}
	for i, name := range hintNames {
		if is := hintUse(dir, name); open != nil {
			hintsOf(open)[i].counted = is.bytes
		} else {
			l.hints = l.hints.plus(is)
		}
	}
	l.oldest = append(l.oldest, found...)
	l.trim()
	return err
}

// held calls fn for the segments that placed streams hold. The ledger leaves these out.
func (r *retention) held(fn func(segment.Info)) {
	for _, t := range r.streams {
		if t.placed && t.seg.Name != "" {
			fn(t.seg)
		}
		if t.before != nil {
			fn(*t.before)
		}
	}
}

// used returns what all segments, hint files and directories of streams take.
func (r *retention) used() use {
	sum := r.ledger.used()
	for _, t := range r.streams {
		for _, f := range hintsOf(t) {
			sum = sum.plus(f.use())
		}
	}
	r.held(func(info segment.Info) { sum = sum.plus(use{bytes: info.Disk, inodes: 1}) })
	return sum
}

// measure updates the gauges.
func (r *retention) measure() {
	count, size, used := r.ledger.count, r.ledger.size, r.used()
	r.held(func(info segment.Info) { count++; size += info.Size })
	r.metrics.segments.Set(float64(count))
	r.metrics.bytes.Set(float64(size))
	r.metrics.disk.Set(float64(used.bytes))
	r.metrics.inodes.Set(float64(used.inodes))
	r.metrics.oldest.Set(float64(r.oldest()) / 1000)
	if st, err := r.dest.space(); err == nil {
		r.metrics.free.Set(float64(st.Bavail) * float64(st.Frsize))
	}
}

// oldest returns when the oldest segment began, in Unix milliseconds as in its
// name. Zero: there is no segment.
func (r *retention) oldest() (start int64) {
	note := func(millis int64) {
		if start == 0 || millis < start {
			start = millis
		}
	}
	for _, e := range r.ledger.oldest {
		note(e.start)
	}
	r.held(func(info segment.Info) { note(info.Start.UnixMilli()) })
	return start
}
