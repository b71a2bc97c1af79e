package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/read/report/view"
)

// markTime is the form of times among the fields of a mark.
const markTime = "2006-01-02T15:04:05.000-0700"

// marks reads a stream of marks, in which a sidecar has noted what happened around the
// logs. They become bands; the stream itself is no log of a JVM.
type marks struct {
	sum    *sum
	out    view.Input
	raised map[string]mark.Mark // without an end yet, by what was raised
}

func newMarks(in *input, s *sum) *marks {
	return &marks{sum: s, out: view.Input{Name: in.name, Files: len(in.segs)}, raised: map[string]mark.Mark{}}
}

// isMarks reports whether the input is a stream of marks, as a sidecar persists it.
func (in *input) isMarks() bool { return len(in.segs) > 0 && in.name == mark.Stream }

// line takes the next line. One that is no mark is passed over.
func (m *marks) line(p cut.Piece) {
	m.out.Lines++
	k, ok := mark.Parse(p.Head())
	if !ok {
		return
	}
	key := k.Get("stream") + "\x00" + k.Get("pid") + "\x00" + k.Get("selection")
	switch k.Kind {
	case mark.LevelRaised:
		if len(m.raised) < maxBands {
			m.raised[key] = k
		}
	case mark.LevelRestored:
		if from, ok := m.raised[key]; ok {
			m.raise(from, k.Time)
			delete(m.raised, key)
		}
	case mark.JVMStarted, mark.JVMSeen:
		m.sum.meet(k)
	case mark.DetailSaved:
		m.saved(k)
	default:
		if m.sum.windowed() && !m.sum.within(k.Time) {
			return
		}
		m.instant(k)
	}
}

// instant notes a mark that has no duration.
func (m *marks) instant(k mark.Mark) {
	lost := &m.sum.lost
	switch k.Kind {
	case mark.ArchivesMissed:
		count, err := strconv.ParseUint(k.Get("count"), 10, 32)
		if err != nil {
			count = 1
		}
		lost.missed += max(1, count)
		m.band("missed", k.Time, k.Time, fmt.Sprintf("%s: %s overwritten before the sidecar read it", k.Get("stream"), view.Plural(count, "archive")))
	case mark.Truncated:
		lost.truncations++
		m.band("truncated", k.Time, k.Time, k.Get("stream")+": truncated in place")
	case mark.SidecarStarted:
		if after := k.Get("after"); after != string(statedir.NoFormer) {
			m.band("sidecar", k.Time, k.Time, "the sidecar started again, after: "+after)
		}
	case mark.JVMEnded:
		if k.Get("how") == mark.Crashed {
			m.band("crash", k.Time, k.Time, fmt.Sprintf("%s: the JVM crashed (pid %s)", k.Get("stream"), k.Get("pid")))
		}
	}
}

// raise adds the band of a raise.
func (m *marks) raise(from mark.Mark, end time.Time) {
	if m.sum.windowed() && end.Before(m.sum.cfg.Since) {
		return
	}
	m.band("raised", from.Time, end, fmt.Sprintf("%s: raised to %s (%s)", from.Get("stream"), from.Get("selection"), from.Get("why")))
}

// saved adds the band of the lines that were withheld and then saved: those that the sidecar
// held when it noted that, and those that it was to read until the end. A bound that the mark
// does not have is the time of the mark.
func (m *marks) saved(k mark.Mark) {
	begin, end := k.Time, k.Time
	if t, err := time.Parse(markTime, k.Get("from")); err == nil && t.Before(begin) {
		begin = t
	}
	if t, err := time.Parse(markTime, k.Get("until")); err == nil && t.After(end) {
		end = t
	}
	text := "withheld lines saved"
	if cause := k.Get("cause"); cause != "" {
		text += ", cause: " + cause
	}
	if why := k.Get("why"); why != "" {
		text += " (" + why + ")"
	}
	m.band("saved", begin, end, text)
}

// band adds a band as far as it lies on the axis.
func (m *marks) band(kind string, begin, end time.Time, text string) {
	s := m.sum
	if !s.dated || !s.placed || end.UnixNano() < s.begin || begin.UnixNano() > s.end {
		return
	}
	s.band(view.Band{Kind: kind, Begin: axis(max(begin.UnixNano(), s.begin)), End: axis(min(end.UnixNano(), s.end)), Text: text}, true)
}

// end notes what has not ended, and adds the stream to the inputs.
func (m *marks) end(bytes uint64) {
	for _, key := range slices.Sorted(maps.Keys(m.raised)) {
		m.raise(m.raised[key], time.Unix(0, m.sum.end))
	}
	m.out.Bytes = bytes
	m.sum.out.Inputs = append(m.sum.out.Inputs, m.out)
}
