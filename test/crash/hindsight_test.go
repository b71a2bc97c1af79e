package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const (
	heldTmpfs = "256m"
	heldRate  = 50_000_000 // bytes a second
	heldKills = 8
)

// TestKilledWithHindsight kills the sidecar again and again under 50 MB/s, before and
// while held lines are saved. Each line from info on is persisted once, each other one is
// counted once, and the saved ones are a run of those.
func TestKilledWithHindsight(t *testing.T) {
	random := *seed
	if random == 0 {
		random = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(random, 3))
	source, dest := lab.Tmpfs(t, heldTmpfs), t.TempDir()
	flags := []string{"--persist-level", "info", "--hindsight", "2s", "--hindsight-on", "", "--sync-interval", "100ms"}
	flood := lab.RunFlood(t, lab.Flood{Path: filepath.Join(source, stream(0)), Seed: random, Rate: heldRate})
	for n := range heldKills {
		side := start(t, source, dest, flags)
		if _, err := side.Addr(20 * time.Second); err != nil {
			t.Fatal(err)
		}
		if n == heldKills/2 {
			time.Sleep(300 * time.Millisecond) // something is held
			if out, err := exec.Command(lab.Binary(), "log", "save", "--source", source).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			// A kill before the next checkpoint would have the command's wish forgotten.
			lab.Eventually(t, 20*time.Second, "the save is in the checkpoint", func() bool { return savesUntil(source) > 0 })
		}
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		side.Kill()
	}
	side := start(t, source, dest, flags)
	report, err := flood.Stop()
	if err != nil {
		t.Fatal(err)
	}
	drain(t, side)
	if len(report.Losses) > 0 {
		t.Fatalf("the tmpfs was full %d times while no sidecar was there: it is too small for this machine", len(report.Losses))
	}
	var persisted, withheld bytes.Buffer
	counts := map[lab.Level]uint64{}
	for records := lab.NewRecords(report.Seed); records.Count() < report.Records; {
		before := records.Lines()
		text, level := records.Next()
		if level >= lab.Info {
			persisted.Write(text)
			continue
		}
		withheld.Write(text)
		counts[level] += records.Lines() - before
	}
	var got, saved bytes.Buffer
	for name, to := range map[string]*bytes.Buffer{stream(0): &got, stream(0) + "+detail": &saved} {
		if err := lab.ReadStream(to, dest, name); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), persisted.Bytes()) {
		t.Errorf("seed %d: %d bytes are persisted, want %d", random, got.Len(), persisted.Len())
	}
	if saved.Len() == 0 || !bytes.Contains(withheld.Bytes(), saved.Bytes()) {
		t.Errorf("seed %d: the %d bytes that were saved are no run of what was withheld", random, saved.Len())
	}
	counted := withheldIn(t, source, stream(0))
	for level := range lab.Level(lab.NumLevels) {
		if counted[level] != counts[level] {
			t.Errorf("seed %d: %d lines at %s are counted as withheld, want %d", random, counted[level], level, counts[level])
		}
	}
	rows := lab.NewTable("Killed with -9 while lines below info are held and saved", "kills", "bytes written", "bytes persisted", "bytes withheld", "of these saved")
	rows.Add(heldKills, report.Bytes, got.Len(), withheld.Len(), saved.Len())
	rows.Print(t)
}

// savesUntil returns until when lines are saved, as a checkpoint has it. A slot that is being written has nothing.
func savesUntil(source string) (until int64) {
	for i := range 2 {
		text, _ := os.ReadFile(filepath.Join(source, ".ullage", fmt.Sprintf("checkpoint-%d", i)))
		var slot struct {
			Withheld struct{ Held struct{ Until int64 } }
		}
		_, body, _ := bytes.Cut(text, []byte("\n"))
		if json.NewDecoder(bytes.NewReader(body)).Decode(&slot) == nil {
			until = max(until, slot.Withheld.Held.Until)
		}
	}
	return until
}

// withheldIn returns how many lines of a stream the checkpoint counts as withheld.
func withheldIn(t *testing.T, source, stream string) (lines [lab.NumLevels]uint64) {
	t.Helper()
	newest := uint64(0)
	for i := range 2 {
		text, err := os.ReadFile(filepath.Join(source, ".ullage", fmt.Sprintf("checkpoint-%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		var slot struct {
			Seq      uint64
			Withheld struct {
				Lines map[string][lab.NumLevels]uint64
			}
		}
		_, body, _ := bytes.Cut(text, []byte("\n"))
		if err := json.NewDecoder(bytes.NewReader(body)).Decode(&slot); err != nil {
			t.Fatal(err)
		}
		if slot.Seq > newest {
			newest, lines = slot.Seq, slot.Withheld.Lines[stream]
		}
	}
	return lines
}
