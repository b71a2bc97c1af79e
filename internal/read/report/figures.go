package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/segment/clock"
)

// ErrUnmarked is returned if the marks of a sidecar do not cover all of its logs.
var ErrUnmarked = errors.New("the marks do not cover the whole log")

// tolerance is how much later than a log its figures may begin, how much earlier than the log's last segment they may
// end, and how far they may reach beyond the window.
const tolerance = pause.FiguresTime + 2*time.Minute

// maxFigured bounds the number of streams with figures in one directory.
const maxFigured = 64

// figures receives the marks that have the figures of logs and finds out whether they cover all of these logs.
type figures struct {
	cfg  Config
	sum  *sum.Sum
	dirs map[string]*figuresOf
}

func newFigures(cfg Config, s *sum.Sum) *figures {
	return &figures{cfg: cfg, sum: s, dirs: map[string]*figuresOf{}}
}

// of returns an entry for the figures in a directory's stream of marks.
func (f *figures) of(dir string) *figuresOf {
	one := &figuresOf{dir: dir, all: f, ends: map[string]time.Time{}}
	f.dirs[dir] = one
	return one
}

// cover returns an error if the marks do not cover all of the logs that may be in the window.
func (f *figures) cover() error {
	for dir, logs := range f.cfg.Logs {
		one := f.dirs[dir]
		if one != nil && one.lacks != "" {
			return fmt.Errorf("%w: %s", ErrUnmarked, one.lacks)
		}
		if one == nil || one.end.IsZero() {
			return fmt.Errorf("%w: no figures were found", ErrUnmarked)
		}
		first, last := logs.Since, logs.Until
		if first.Before(f.cfg.Since) {
			first = f.cfg.Since
		}
		if until := f.cfg.Until; !until.IsZero() && last.After(until) {
			last = until
		}
		if one.begin.Sub(first) > tolerance || last.Sub(one.end) > tolerance {
			return fmt.Errorf("%w: the figures cover %s to %s, but the log covers %s to %s", ErrUnmarked, shortTime(one.begin), shortTime(one.end), shortTime(first), shortTime(last))
		}
	}
	return nil
}

func shortTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// figuresOf holds the figures from the marks in one directory.
type figuresOf struct {
	dir        string
	all        *figures
	ends       map[string]time.Time // the end of the last figures of each stream: the next figures must begin there
	begin, end time.Time            // of all figures that are in the window
	lacks      string               // why the marks do not cover all of the log
}

// see receives every mark. Where one sidecar follows another, a line may be in the figures of neither or of both.
func (f *figuresOf) see(k mark.Mark) {
	switch k.Kind {
	case mark.SidecarStarted:
		clear(f.ends)
	case mark.MarksSuppressed:
	default:
		return
	}
	if f.all.cfg.window().Has(k.Time) && !f.end.IsZero() {
		f.lacks = "the sidecar was started again, or marks were suppressed"
	}
}

// take adds figures that are inside the window.
func (f *figuresOf) take(k mark.Mark) {
	if f.all.cfg.Logs == nil || f.lacks != "" {
		return
	}
	one, ok := pause.ReadFigures(k.Get)
	if !ok {
		f.lacks = "some figures cannot be read"
		return
	}
	w, stream := f.all.cfg.window(), k.Get("stream")
	begin, known := f.ends[stream]
	if !known && len(f.ends) >= maxFigured {
		f.lacks = "there are figures for too many streams"
		return
	}
	f.ends[stream] = one.Until
	length, in := one.Until.Sub(one.Since), inside(w, one.Since, one.Until)
	switch {
	case in < 0:
		return
	case known && !begin.Equal(one.Since):
		f.lacks = "some are missing"
	case one.Mixed || one.Stops.Coarse():
		f.lacks = "some are not exact"
	case in < length && in > tolerance:
		f.lacks = "some figures cover a long time at the edge of the window"
	case in < length:
		return
	case one.Until.Add(-one.Allocating).Before(w.Since.Add(-tolerance)):
		f.lacks = "some figures include allocations from long before the window"
	case !f.all.sum.Figures(f.dir, stream, &one):
		f.lacks = "there are figures for too many JVMs"
	}
	if f.begin.IsZero() || one.Since.Before(f.begin) {
		f.begin = one.Since
	}
	if one.Until.After(f.end) {
		f.end = one.Until
	}
}

// inside returns how much of the time from begin to end is in a window.
func inside(w clock.Window, begin, end time.Time) time.Duration {
	if begin.Before(w.Since) {
		begin = w.Since
	}
	if !w.Until.IsZero() && end.After(w.Until) {
		end = w.Until
	}
	return end.Sub(begin)
}
