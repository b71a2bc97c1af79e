package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
)

// maxRaised bounds the number of raises that have not ended.
const maxRaised = 300

// marks reads a stream of marks, in which a sidecar has recorded what happened around the logs.
// Marks become bands; the stream itself is not a JVM's log.
type marks struct {
	sum    *sum.Sum
	cfg    Config
	only   []string // the streams whose marks are wanted; nil: all
	out    view.Input
	found  *figuresOf
	raised map[string]mark.Mark // raises that have not ended so far, by what was raised
}

func newMarks(in *input, s *sum.Sum, all *figures) *marks {
	return &marks{sum: s, cfg: all.cfg, only: in.only, out: view.Input{Name: in.name, Files: len(in.segs)}, found: all.of(filepath.Dir(in.dir)), raised: map[string]mark.Mark{}}
}

// isMarks reports whether the input is a stream of marks that a sidecar persisted.
func (in *input) isMarks() bool { return len(in.segs) > 0 && in.name == mark.Stream }

// line takes the next line. A line that is not a mark is skipped.
func (m *marks) line(p cut.Piece) {
	m.out.Lines++
	k, ok := mark.Parse(p.Head())
	if !ok || m.only != nil && !k.Concerns(func(stream string) bool { return slices.Contains(m.only, stream) }) {
		return
	}
	m.found.see(k)
	key := k.Get("stream") + "\x00" + k.Get("pid") + "\x00" + k.Get("selection")
	switch k.Kind {
	case mark.LevelRaised:
		if len(m.raised) < maxRaised {
			m.raised[key] = k
		}
	case mark.LevelRestored:
		if from, ok := m.raised[key]; ok {
			m.raise(from, k.Time)
			delete(m.raised, key)
		}
	case mark.JVMStarted, mark.JVMSeen:
		m.jvm(k)
	case mark.DetailSaved:
		m.saved(k)
	case mark.JVMFigures:
		m.found.take(k)
	default:
		if m.cfg.window().Has(k.Time) {
			m.instant(k)
		}
	}
}

// instant records a mark that has no duration.
func (m *marks) instant(k mark.Mark) {
	lost := &m.sum.Lost
	switch k.Kind {
	case mark.ArchivesMissed:
		count, err := strconv.ParseUint(k.Get("count"), 10, 32)
		if err != nil {
			count = 1
		}
		lost.Missed += max(1, count)
		m.sum.BandOver("missed", k.Time, k.Time, fmt.Sprintf("%s: %s overwritten before the sidecar read it", k.Get("stream"), view.Plural(count, "archive")))
	case mark.Truncated:
		lost.Truncations++
		m.sum.BandOver("truncated", k.Time, k.Time, k.Get("stream")+": truncated in place")
	case mark.SidecarStarted:
		if after := k.Get("after"); after != string(statedir.NoFormer) {
			m.sum.BandOver("sidecar", k.Time, k.Time, "the sidecar started again, after: "+after)
		}
	case mark.JVMStalled:
		m.stalled(k)
	case mark.JVMEnded:
		if k.Get("how") == mark.Crashed {
			text := fmt.Sprintf("%s: the JVM crashed (pid %s)", k.Get("stream"), k.Get("pid"))
			if why := k.Get("why"); why != "" {
				text += ": " + why
			}
			m.sum.BandOver("crash", k.Time, k.Time, text)
		} else if why := cmp.Or(k.Get("why"), k.Get("cause")); why != "" || k.Get("how") == mark.Killed {
			reason := fmt.Sprintf("pid %s, %s: %s", k.Get("pid"), k.Get("stream"), cmp.Or(why, mark.Killed))
			m.sum.Crash(k.Time, view.Crash{Marked: true, Reason: reason, File: mark.Stream, Command: view.MarksCommand})
		}
	}
}

// stalled adds the band of a stop that seems to have been a stall, with the verdict of the sidecar.
func (m *marks) stalled(k mark.Mark) {
	end, err := time.Parse(ul.TimeLayout, k.Get("ended"))
	if err != nil {
		end = k.Time
	}
	length, _ := time.ParseDuration(k.Get("seconds") + "s") // zero: the mark has no valid length
	length = max(0, length)
	text := fmt.Sprintf("%s: stopped for %s, verdict: %s", k.Get("stream"), view.Duration(length.Seconds()), cmp.Or(k.Get("verdict"), "unknown"))
	if why := k.Get("why"); why != "" {
		text += " (" + why + ")"
	}
	m.sum.BandOver("stalled", end.Add(-length), end, text)
}

// raise adds the band of a raise.
func (m *marks) raise(from mark.Mark, end time.Time) {
	if end.Before(m.cfg.Since) {
		return
	}
	m.sum.BandOver("raised", from.Time, end, fmt.Sprintf("%s: raised to %s (%s)", from.Get("stream"), from.Get("selection"), from.Get("why")))
}

// saved adds the band of the withheld lines that were saved: the lines that were held when the
// mark was written, and the lines read after that, until the time that the mark gives. If the
// mark lacks the beginning or the end, the time of the mark is used.
func (m *marks) saved(k mark.Mark) {
	begin, end := k.Time, k.Time
	if t, err := time.Parse(ul.TimeLayout, k.Get("from")); err == nil && t.Before(begin) {
		begin = t
	}
	if t, err := time.Parse(ul.TimeLayout, k.Get("until")); err == nil && t.After(end) {
		end = t
	}
	text := "withheld lines saved"
	if cause := k.Get("cause"); cause != "" {
		text += ", cause: " + cause
	}
	if why := k.Get("why"); why != "" {
		text += " (" + why + ")"
	}
	m.sum.BandOver("saved", begin, end, text)
}

// jvm adds the known properties of a JVM to each of its streams.
func (m *marks) jvm(k mark.Mark) {
	if up, err := time.ParseDuration(k.Get("uptime")); err == nil {
		known := view.JVM{Collector: k.Get("collector"), Version: k.Get("version"), Flags: k.Get("flags")}
		m.sum.Complete(strings.Split(k.Get("stream"), ","), k.Time.Add(-up), known)
	}
}

// end adds the bands that have not ended and adds the stream to the inputs.
func (m *marks) end(bytes uint64) {
	for _, key := range slices.Sorted(maps.Keys(m.raised)) {
		m.raise(m.raised[key], m.sum.End())
	}
	m.out.Bytes = bytes
	m.sum.Input(m.out)
}
