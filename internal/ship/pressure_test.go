package ship

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/settings"
	"github.com/ullage/ullage/internal/tail"
	"github.com/ullage/ullage/internal/ul"
)

func TestMarksHaveHysteresis(t *testing.T) {
	p := pressure{discardAt: 0.6, dropAt: 0.85}
	for i, step := range []struct {
		used               float64
		discards, dropsAll bool
	}{
		{0.59, false, false},
		{0.61, true, false},
		{0.55, true, false}, // not before a sixth below the mark
		{0.49, false, false},
		{0.55, false, false},
		{0.86, true, true},
		{0.70, true, true}, // not before the first mark
		{0.59, true, false},
		{0.49, false, false},
		{1.00, true, true},
		{0.10, false, false},
	} {
		p.take(step.used)
		if p.discarding != step.discards || p.dropping != step.dropsAll {
			t.Fatalf("step %d, %v in use: discarding %v, dropping all %v; want %v, %v", i, step.used, p.discarding, p.dropping, step.discards, step.dropsAll)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		flag   settings.Size
		source tail.Usage
		want   int64
		bad    bool
	}{
		{"the tmpfs has a size", 0, tail.Usage{Tmpfs: true, Total: 64 << 20}, 64 << 20, false},
		{"less than the tmpfs", 16 * settings.Mi, tail.Usage{Tmpfs: true, Total: 64 << 20}, 16 << 20, false},
		{"more than the tmpfs", 65 * settings.Mi, tail.Usage{Tmpfs: true, Total: 64 << 20}, 64 << 20, true},
		{"the tmpfs has no size", 0, tail.Usage{Tmpfs: true}, defaultBudget, false},
		{"the tmpfs has no size, and there is a budget", 32 * settings.Mi, tail.Usage{Tmpfs: true}, 32 << 20, false},
		{"the tmpfs may have all of the memory", 0, tail.Usage{Tmpfs: true, Total: 1 << 50}, defaultBudget, false},
		{"a disk", 0, tail.Usage{Total: 1 << 40}, 1 << 40, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Budget = c.flag
			b.start()
			b.drain()
			r := b.ship.reader
			if got := r.budget(c.source); got != c.want {
				t.Errorf("the budget is %d, want %d", got, c.want)
			}
			if err := r.checkBudget(c.source); (err != nil) != c.bad {
				t.Errorf("error: %v", err)
			}
		})
	}
}

func TestKeepLevelIsALevelOrOff(t *testing.T) {
	k := KeepLevel(ul.Warning)
	for text, want := range map[string]string{"off": "off", "error": "error", "trace": "trace", "": "", "unknown": "", "Warning": ""} {
		err := k.Set(text)
		if (err == nil) != (want != "") || err == nil && k.String() != want {
			t.Errorf("%q gives %q, error: %v", text, k.String(), err)
		}
	}
}

// One stream writes more than the budget, another one little: the latter keeps
// its lines past both marks.
func TestDroppingSparesTheStreamBelowItsShare(t *testing.T) {
	for _, p := range []pressure{{discarding: true}, {discarding: true, dropping: true}} {
		b := newBench(t)
		b.small()
		b.write(b.log("noise.log"), debugLines(0, 40000))
		b.write(b.log("gc.log"), debugLines(0, 2000))
		s, _ := b.begun(true)
		p.discardAt, p.dropAt = s.reader.press.discardAt, s.reader.press.dropAt
		s.reader.press = p
		for s.reader.drop(1<<20, s.reader.measure()) > 0 {
		}
		gaps := map[string]bool{}
		for _, f := range s.ledger.state().Files {
			gaps[f.Stream] = f.Gaps != ""
		}
		if m := s.reader.measure(); !gaps["noise.log"] || gaps["gc.log"] || m.used > s.reader.press.low()+0.3 {
			t.Errorf("dropping all %v: streams with gaps: %v, %.2f of the budget is in use", p.dropping, gaps, m.used)
		}
	}
}

// The queue has no room, and looking at the pressure took long: new files are
// seen nevertheless.
func TestNewFilesAreSeenWhileTheQueueIsFull(t *testing.T) {
	for _, c := range []struct {
		name             string
		relief, rotation time.Duration // from now
		most             time.Duration
	}{
		{"relief goes on", 0, -time.Hour, 0},
		{"at rest", time.Hour, -time.Hour, pressurePace},
		{"relief is due soon", time.Millisecond, -time.Hour, time.Millisecond},
		{"at rest, files come and go", time.Hour, -time.Millisecond, hurryPace},
	} {
		now := time.Now()
		r := &reader{full: true, reliefAt: now.Add(c.relief), rotated: now.Add(c.rotation)}
		if pace := r.paceFull(); pace > c.most {
			t.Errorf("%s: the reader waits %s", c.name, pace)
		}
	}
}
