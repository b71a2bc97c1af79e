package tail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
)

func TestTextsOfEventsAreFollowedAndRingsNever(t *testing.T) {
	narrow, wide := DefaultConfig(), DefaultConfig()
	narrow.Match, wide.Match = "gc*.log", "*"
	for name, want := range map[string]struct {
		stream       string
		narrow, wide bool
	}{
		"events-7-1763722140123.log":        {"events-7.log", true, true},
		"events-7-1763722140123-2.log":      {"events-7.log", true, true},
		"events-4194304-1763722140123.log":  {"events-4194304.log", true, true},
		"events-2026-11.log":                {"events-2026-11.log", false, true}, // another program's own log
		"events-7-1763722140123.log.1":      {"events-7-1763722140123.log", false, true},
		"events-7-1763722140123-2-3.log":    {"events-7-1763722140123-2-3.log", false, true},
		"events--1763722140123.log":         {"events--1763722140123.log", false, true},
		"events-7-1763722140123.ring":       {"events-7-1763722140123.ring", false, false},
		"recorder-7-1763722140123.ring":     {"recorder-7-1763722140123.ring", false, false},
		"events-7-17637221x0123.log":        {"events-7-17637221x0123.log", false, true},
		"my-events-7-1763722140123.log":     {"my-events-7-1763722140123.log", false, true},
		"events-7-1763722140123.log.backup": {"events-7-1763722140123.log.backup", false, true},
	} {
		if got := naming.StreamOf(name); got != want.stream {
			t.Errorf("%s is of stream %s, want %s", name, got, want.stream)
		}
		if got := narrow.follows(name); got != want.narrow {
			t.Errorf("%s is followed: %v with %s, want %v", name, got, narrow.Match, want.narrow)
		}
		if got := wide.follows(name); got != want.wide {
			t.Errorf("%s is followed: %v with %s, want %v", name, got, wide.Match, want.wide)
		}
	}
}

// ringText returns a text in the form that package ring makes from a ring: events, and markers
// of events that the ring refused. It also returns how many events the text represents.
func ringText(n int) (text string, events uint64) {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[2026-11-21T10:49:00.%03d+0000][%-7s][event] %d %s\n", i%1000, []string{"trace", "info", "warning"}[i%3], i, strings.Repeat("x", i%90))
		events++
		if i%7 == 0 {
			g := ul.Gap{Bytes: uint64(i * 60), First: time.Unix(1, 0), Last: time.Unix(2, 0)}
			g.Lines[ul.Discard][ul.Debug], g.Lines[ul.DropAll][ul.Error] = uint64(i), uint64(i%5)
			b.Write(g.AppendMarker(nil))
			events += g.Total()
		}
	}
	return b.String(), events
}

// A ring reports refused events in markers among its lines. These lines are spooled,
// discarded and dropped like others. In each case, every event is a line or is counted
// once.
func TestMarkersOfRefusedEventsKeepTheirNumbersUnderPressure(t *testing.T) {
	const name, off = "events-7-1763722140123.log", ul.Level(ul.NumLevels)
	for what, relieve := range map[string]func(r *rig, relief Relief){
		"moved":             func(r *rig, relief Relief) { r.src.Relief.Move(relief) },
		"discarded":         func(r *rig, relief Relief) { r.src.Relief.Move(relief); r.src.Relief.Drop(ul.Discard, relief) },
		"discarded at once": func(r *rig, relief Relief) { r.src.Relief.Drop(ul.Discard, relief) },
		"dropped":           func(r *rig, relief Relief) { r.src.Relief.Move(relief); r.src.Relief.Drop(ul.DropAll, relief) },
		"dropped at once":   func(r *rig, relief Relief) { r.src.Relief.Drop(ul.DropAll, relief) },
		"discarded, then dropped": func(r *rig, relief Relief) {
			r.src.Relief.Drop(ul.Discard, relief)
			r.src.Relief.Drop(ul.DropAll, relief)
		},
	} {
		for _, keep := range []ul.Level{ul.Trace, ul.Warning, ul.Error, off} {
			t.Run(fmt.Sprintf("%s, keep level %d", what, keep), func(t *testing.T) {
				r := newRig(t)
				f := r.writer(name)
				relief := everything
				relief.Keep = keep
				events := uint64(0)
				for range 3 {
					text, n := ringText(3000)
					events += n
					r.write(f, text)
					r.look()
					r.src.Relief.Weigh()
					relieve(r, relief)
				}
				r.read()
				text := r.got["events-7.log"]
				lines := uint64(strings.Count(text.String(), "\n"))
				marked, n := markers(text.String())
				if got := lines - uint64(n) + marked; got != events {
					t.Errorf("%d lines and %d markers represent %d events, want %d", lines, n, got, events)
				}
			})
		}
	}
}

// The marker of events that a ring refused is not withheld, whatever its level.
func TestMarkersOfRefusedEventsAreNotWithheld(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.PersistLevel = ul.Error })
	text, events := ringText(100)
	f := r.writer("events-7-1763722140123.log")
	r.write(f, text)
	r.look()
	n, c, ok := r.src.Reader.Next(r.area)
	if !ok {
		t.Fatal("nothing was read")
	}
	persisted, withheld := string(r.area[:n-c.Withheld]), string(r.area[n-c.Withheld:n])
	marked, _ := markers(persisted)
	if lost, _ := markers(withheld); lost > 0 || marked != events-100 || c.Made != len(persisted) {
		t.Errorf("markers of %d events are withheld, markers of %d are not; want 0 and %d; Made is %d, want all persisted bytes", lost, marked, events-100, c.Made)
	}
	counted := uint32(0)
	for _, n := range c.Lines {
		counted += n
	}
	if counted != 100 {
		t.Errorf("%d lines were counted, want the 100 events", counted)
	}
}
