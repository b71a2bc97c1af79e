package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const (
	pressedTmpfs = "4m"
	pressedRate  = 30_000_000 // bytes a second, enough to pass all thresholds of the budget after half a second
	pressedMost  = 24 << 20   // of memory
)

// TestKilledUnderPressure repeatedly kills the sidecar. Half of the kills happen while the destination is frozen and the
// sidecar moves and drops lines, or right after the freeze, while the sidecar catches up. Every line is persisted once,
// or is in a gap whose marker counts it.
func TestKilledUnderPressure(t *testing.T) {
	kills := 30
	if os.Getenv("ULLAGE_FAULT_LONG") != "" {
		kills = 200
	}
	random := *seed
	if random == 0 {
		random = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(random, 2))
	v := lab.MountVolume(t, "2G")
	p := &pressed{T: t, volume: v, source: lab.Tmpfs(t, pressedTmpfs), dest: filepath.Join(v.Dir, "dest"), rng: rng}
	p.watch.source = p.source
	flood := lab.RunFlood(t, lab.Flood{Path: filepath.Join(p.source, stream(0)), Seed: random, Rate: pressedRate})
	for n := range kills {
		if n%2 == 0 {
			p.life()
		} else {
			p.frozenLife()
		}
	}
	report, err := flood.Stop()
	if err != nil {
		t.Fatal(err)
	}
	drain(t, p.start())
	account, err := lab.Settle(p.dest, stream(0), report)
	if err != nil || !account.Exact() {
		t.Errorf("seed %d: %v, error %v; want an exact account and no error", random, account, err)
	}
	rows := lab.NewTable("Killed with -9, half the time during a freeze or right after it", "kills", "after lines were discarded", "after all were dropped", "lines", "persisted", "dropped", "gaps",
		"missing without a marker", "twice", "foreign or changed", "most memory")
	rows.Add(kills, p.discarding, p.dropping, account.Written.Total(), account.Persisted.Total(), account.Dropped.Total().Total(), account.Gaps,
		account.Unmarked, account.Twice, account.Foreign+account.Changed, fmt.Sprintf("%.1f MiB", float64(p.memory)/(1<<20)))
	rows.Print(t)
	t.Logf("seed %d: %v", random, account)
	t.Logf("at most %.1f MiB of memory; %v", float64(p.memory)/(1<<20), flood.Latency(0))
	if p.memory > pressedMost {
		t.Errorf("a sidecar took %d bytes of memory, want at most %d", p.memory, pressedMost)
	}
	if p.discarding+p.dropping == 0 {
		t.Error("no sidecar has dropped lines, want some: there was no pressure")
	}
	if account.Cut > 0 {
		t.Logf("while no sidecar ran, the writer found the tmpfs full %d times", len(report.Losses))
	}
	if p.invalid > 0 {
		t.Errorf("%d starts found no usable checkpoint, want 0: one was saved, and nothing else changes it", p.invalid)
	}
}

// pressed is a series of sidecars during a flood.
type pressed struct {
	*testing.T
	watch
	volume       *lab.Volume
	source, dest string
	rng          *rand.Rand
	discarding   int  // how often a sidecar began to drop lines below --keep-level
	dropping     int  // how often a sidecar began to drop all lines
	invalid      int  // starts that found no usable checkpoint although one was saved
	unsaved      bool // the last sidecar logged that the tmpfs had no room for a checkpoint
}

func (p *pressed) start() *lab.Sidecar {
	p.Helper()
	side := start(p.T, p.source, p.dest, []string{"--sync-interval", "100ms", "--segment-bytes", "1Mi", "--drain-timeout", "60s"})
	if _, err := side.Addr(lab.Patience); err != nil {
		p.Fatal(err)
	}
	return side
}

// ended evaluates the log of a killed sidecar.
func (p *pressed) ended(side *lab.Sidecar) {
	for line := range strings.Lines(side.Stderr()) {
		switch {
		case !strings.Contains(line, `msg="dropping lines"`):
		case strings.Contains(line, "below=all"):
			p.dropping++
		default:
			p.discarding++
		}
	}
	none := strings.Contains(side.Stderr(), "no usable checkpoint")
	if none && !p.unsaved {
		if p.invalid == 0 {
			p.Logf("the sidecar said:\n%s", side.Stderr())
		}
		p.invalid++
	}
	p.unsaved = none && p.unsaved || strings.Contains(side.Stderr(), "source has no room for the checkpoint")
	if most := p.watch.memory; most > pressedMost {
		p.Logf("%d bytes of memory", most)
	}
}

// life runs and kills a sidecar without a freeze.
func (p *pressed) life() {
	side := p.start()
	p.live(side, time.Duration(p.rng.IntN(300))*time.Millisecond)
	side.Kill()
	p.ended(side)
	if p.err != nil {
		p.Fatal(p.err)
	}
}

// frozenLife runs a sidecar and kills it in a freeze, or right after the freeze. If the kernel holds the process
// in a frozen call, the process ends at the thaw.
func (p *pressed) frozenLife() {
	p.Helper()
	side := p.start()
	p.live(side, time.Duration(50+p.rng.IntN(200))*time.Millisecond)
	thaw := p.volume.Frozen(p)
	p.live(side, time.Duration(300+p.rng.IntN(500))*time.Millisecond)
	if p.rng.IntN(2) == 0 {
		thaw()
		p.live(side, time.Duration(p.rng.IntN(150))*time.Millisecond)
	}
	if err := side.Signal(syscall.SIGKILL); err != nil {
		p.Fatal(err)
	}
	thaw()
	if _, err := side.Wait(lab.Patience); err != nil {
		p.Fatal(err)
	}
	p.ended(side)
	if p.err != nil {
		p.Fatal(p.err)
	}
}
