package sum

import (
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// The kinds of stops, as the timeline shows them.
var kinds = [...]string{"young", "full", "degenerated", "concurrent", "safepoint", "stall"}

// maxBands bounds the number of bands.
const maxBands = 300

// timeline is the axis of time and everything on it.
type timeline struct {
	dated, undated bool // some times have dates; some times have none
	estimated      bool // some time on the axis is estimated
	placed         bool // at least one time is on the axis, so begin and end are set
	begin, end     int64

	marks  map[string]*thin // stops by kind
	before *thin            // heap in use before collections
	after  *thin
	size   *thin
	bands  []view.Band
}

func newTimeline() timeline {
	var t timeline
	t.clear()
	return t
}

// clear removes everything from the axis.
func (t *timeline) clear() {
	t.marks, t.before, t.after, t.size, t.bands = map[string]*thin{}, newThin(), newThin(), newThin(), nil
	for _, kind := range kinds {
		t.marks[kind] = newThin()
	}
}

// axis converts a position in ns to seconds.
func axis(at int64) float64 { return float64(at/1e6) / 1e3 }

// see extends the axis to include the time c, whose position is at. A time without a date does not
// extend an axis of dates.
func (t *timeline) see(c pause.Clock, at int64) {
	dated := !c.Wall.IsZero()
	if dated && !t.dated {
		t.dated, t.placed = true, false
		t.clear() // undated data cannot be shown on an axis of dates
	}
	t.undated = t.undated || !dated
	t.estimated = t.estimated || c.Estimated
	if dated != t.dated {
		return
	}
	if !t.placed {
		t.begin, t.end, t.placed = at, at, true
	}
	t.begin, t.end = min(t.begin, at), max(t.end, at)
}

// has reports whether a time belongs on the axis.
func (t *timeline) has(c pause.Clock) bool { return c.Known() && t.dated == !c.Wall.IsZero() }

// mark adds a stop that began at the position at.
func (t *timeline) mark(kind string, at int64, d time.Duration) {
	t.marks[kind].add(at, seconds(d))
}

// band adds a band, or extends the last band if there are too many.
func (t *timeline) band(b view.Band, dated bool) {
	if dated != t.dated && (t.dated || t.undated) {
		return // the times of the band are, or may be, of a different kind from those of the axis
	}
	n := len(t.bands)
	if n > 0 {
		if last := &t.bands[n-1]; last.Kind == b.Kind && b.Begin >= last.Begin && (n >= maxBands || b.Begin-last.End < 0.001 && !apart(b.Kind)) {
			last.End = max(last.End, b.End)
			return
		}
	}
	if n < maxBands {
		t.bands = append(t.bands, b)
	}
}

// apart reports whether each band of a kind is shown separately even if two bands touch.
func apart(kind string) bool {
	return kind == "restart" || kind == "missing" || kind == "unreadable" || kind == "hole" || kind == "saved"
}

// show puts the axis into a report.
func (t *timeline) show(r *view.Report) {
	r.Axis = view.Axis{Timed: t.placed, Dated: t.dated, Begin: axis(t.begin), End: axis(t.end), Estimated: t.estimated}
	r.Bands = t.bands
	for _, kind := range kinds {
		if points := pointsOf(t.marks[kind]); len(points) > 0 {
			r.Series = append(r.Series, view.Series{Kind: kind, Points: points})
		}
	}
	r.Heap = view.Heap{Before: pointsOf(t.before), After: pointsOf(t.after), Capacity: pointsOf(t.size)}
}

func pointsOf(t *thin) []view.Point {
	var all []view.Point
	for _, c := range t.points() {
		all = append(all, view.Point{At: axis(c.at), Value: c.value, N: c.n})
	}
	return all
}
