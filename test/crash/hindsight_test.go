package crash

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const (
	heldTmpfs  = "512m" // an eighth of it has room for the lines of a window
	heldRate   = 50_000_000
	heldWindow = 2 * time.Second
	heldKills  = 12
)

// TestKilledWithHindsight repeatedly kills the sidecar under a flood of 50 MB/s, before and while held lines are
// saved. Each line at info or above is persisted once, and each other line is counted once as withheld. The saved
// lines are consecutive withheld lines, and include the whole window before the command and the whole window after
// it.
func TestKilledWithHindsight(t *testing.T) {
	random := *seed
	if random == 0 {
		random = rand.Uint64()
	}
	k := &heldKilling{T: t, seed: random, rng: rand.New(rand.NewPCG(random, 3)), source: lab.Tmpfs(t, heldTmpfs), dest: t.TempDir()}
	k.flood = lab.RunFlood(t, lab.Flood{Path: filepath.Join(k.source, stream(0)), Seed: random, Rate: heldRate})
	k.kills()
	side := k.start()
	took := time.Since(k.looks[0].at)
	report, err := k.flood.Stop()
	if err != nil {
		t.Fatal(err)
	}
	drain(t, side)
	if len(report.Losses) > 0 {
		t.Fatalf("the tmpfs was full %d times while no sidecar ran, want 0: it is too small for this machine", len(report.Losses))
	}
	persisted, withheld, saved := k.compare(report)
	rate := fmt.Sprintf("%.1f", float64(report.Bytes)/took.Seconds()/1e6)
	rows := lab.NewTable("Killed with -9 while lines below info are held and saved", "kills", "MB/s", "bytes written", "bytes persisted", "bytes withheld", "of these saved")
	rows.Add(heldKills, rate, report.Bytes, persisted, withheld, saved)
	rows.Print(t)
}

// heldKilling is a flood whose sidecar is repeatedly killed, and gets one command to save its held
// lines.
type heldKilling struct {
	*testing.T
	seed         uint64
	rng          *rand.Rand
	source, dest string
	flood        *lab.Flooding
	looks        []look
	asked        time.Time // the time of the command to save
}

// look is the number of lines that the flood had attempted at a time.
type look struct {
	at    time.Time
	lines int64
}

func (k *heldKilling) look() { k.looks = append(k.looks, look{time.Now(), k.flood.Lines()}) }

func (k *heldKilling) start() *lab.Sidecar {
	k.Helper()
	k.look()
	return start(k.T, k.source, k.dest, []string{"--persist-level", "info", "--hindsight", heldWindow.String(),
		"--hindsight-on", "", "--sync-interval", "100ms"})
}

func (k *heldKilling) kills() {
	k.Helper()
	for n := range heldKills {
		side := k.start()
		if _, err := side.Addr(lab.Patience); err != nil {
			k.Fatal(err)
		}
		if n == heldKills/2 {
			k.save()
		}
		time.Sleep(time.Duration(k.rng.IntN(400)) * time.Millisecond)
		side.Kill()
	}
}

// save sends the command to save, and waits until the checkpoint has it, so that it survives a
// kill.
func (k *heldKilling) save() {
	k.Helper()
	lab.Eventually(k, lab.Patience, "the window has passed", func() bool { return time.Since(k.looks[0].at) > heldWindow+500*time.Millisecond })
	k.asked = time.Now()
	if out, err := exec.Command(lab.Binary(), "levels", "save", "--source", k.source).CombinedOutput(); err != nil {
		k.Fatalf("%v: %s", err, out)
	}
	lab.Eventually(k, lab.Patience, "the save is in the checkpoint", func() bool { return lab.SavesUntil(k.source) > 0 })
}

// compare compares the flood's lines with the persisted and saved ones, and returns how many bytes were persisted,
// withheld and saved.
func (k *heldKilling) compare(report lab.FloodReport) (persisted, withheld, saved int) {
	k.Helper()
	var info, less, got, kept bytes.Buffer
	var counts lab.Counts
	from, to := k.window()
	first, last := -1, 0 // the range of the windows within the withheld bytes
	for line := range lab.LinesOf(report) {
		if line.Level >= lab.Info {
			info.Write(line.Text)
			continue
		}
		counts[line.Level]++
		if first < 0 && line.Number >= from {
			first = less.Len()
		}
		if less.Write(line.Text); line.Number < to {
			last = less.Len()
		}
	}
	for name, to := range map[string]*bytes.Buffer{stream(0): &got, stream(0) + "+detail": &kept} {
		if err := lab.ReadStream(to, k.dest, name); err != nil {
			k.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), info.Bytes()) {
		k.Errorf("seed %d: %d bytes are persisted, want %d", k.seed, got.Len(), info.Len())
	}
	at := bytes.Index(less.Bytes(), kept.Bytes())
	if kept.Len() == 0 || at < 0 || at > first || at+kept.Len() < last {
		k.Errorf("seed %d: the %d saved bytes are not consecutive withheld bytes that include %d to %d; they begin at %d", k.seed, kept.Len(), first, last, at)
	}
	if counted, err := lab.Withheld(k.source, stream(0)); err != nil || counted != counts {
		k.Errorf("seed %d: %v lines are counted as withheld, want %v, error: %v", k.seed, counted, counts, err)
	}
	return got.Len(), less.Len(), kept.Len()
}

// window returns two line numbers. All lines from the first to before the second are known to be in the window
// before the command or in the window after it.
func (k *heldKilling) window() (from, to int64) {
	for _, l := range k.looks {
		if from == 0 && l.at.After(k.asked.Add(-heldWindow)) {
			from = l.lines
		}
		if l.at.Before(k.asked.Add(heldWindow)) {
			to = l.lines
		}
	}
	return from, to
}
