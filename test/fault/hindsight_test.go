package fault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

const (
	unheldBytes = "ullage_hindsight_lost_bytes_total"
	detail      = stream + "+detail"
)

// Another program's file takes every page of the tmpfs, even the pages that the sidecar frees. Each line that the
// writer manages to write is persisted, or withheld and counted. The oldest held lines make room for the newest,
// so no line is missing among the saved ones. Once there is room again, new lines are held again.
func TestHindsightOnAFullTmpfs(t *testing.T) {
	kills := long(20, 3)
	t.Run("little", func(t *testing.T) { holdsOnAFullTmpfs(t, 300_000, 0) })
	t.Run("little, killed", func(t *testing.T) { holdsOnAFullTmpfs(t, 300_000, kills) })
	t.Run("much, killed", func(t *testing.T) { holdsOnAFullTmpfs(t, 5_000_000, kills) })
}

func holdsOnAFullTmpfs(t *testing.T, rate int64, kills int) {
	p := newPressed(t, "64m", filepath.Join(t.TempDir(), "dest"), "--persist-level", "info", "--hindsight-on", "")
	p.pour(rate)
	p.lasts(time.Second)
	remove := fills(t, p.source)
	lab.Eventually(t, patience, "the writer finds no room", func() bool { return p.flood.Lost() > 0 })
	p.lasts(long(10*time.Second, time.Second))
	for range kills {
		p.side.Kill()
		p.side = lab.Run(t, p.source, p.dest, p.flags...)
		if _, err := p.side.Addr(patience); err != nil {
			t.Fatal(err)
		}
		p.lasts(300 * time.Millisecond)
	}
	lost := p.flood.Lost()
	remove()
	lab.Eventually(t, patience, "the sidecar knows that there is room", func() bool { return p.metric("ullage_budget_bytes") > 32*mib })
	after, unheld := p.passes(), p.metric(unheldBytes)
	p.lasts(time.Second)
	if out, err := command(lab.Binary(), "levels", "save", "--source", p.source); err != nil {
		t.Errorf("ullage levels save ended with %v, want no error: %s", err, out)
	}
	p.lasts(time.Second)
	p.stop()
	if n := p.metric(unheldBytes) - unheld; n != 0 {
		t.Errorf("%v bytes could not be held although there was room, want 0", n)
	}
	if err := p.side.Stop(patience); err != nil {
		t.Error(err)
	}
	unsaved := p.parts(after)
	t.Logf("%d records lost by the writer in %d places, %d bytes of withheld lines not saved", lost, len(p.report.Losses), unsaved)
}

// passes waits until the sidecar has appended all lines that the writer has attempted so far, and returns their
// number.
func (p *pressed) passes() (lines int64) {
	p.Helper()
	lines = p.flood.Lines()
	lab.Eventually(p, patience, "a later line is persisted", func() bool {
		var text bytes.Buffer
		err := lab.ReadStream(&text, p.dest, stream)
		number := text.Bytes()[bytes.LastIndexByte(text.Bytes(), '#')+1:]
		if err != nil || len(number) < 10 {
			return false
		}
		n, err := strconv.ParseInt(string(number[:10]), 10, 64)
		return err == nil && n >= lines
	})
	return lines
}

// fills takes every page of a tmpfs, including the pages that other programs free, until remove is called. Now and
// then it frees a few pages itself, for which the writer and the sidecar compete.
func fills(t *testing.T, dir string) (remove func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "heap.hprof"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	over, done := make(chan struct{}), make(chan error, 1)
	go func() {
		page := make([]byte, 4096)
		for n := 0; ; n++ {
			for err = nil; err == nil; {
				_, err = f.Write(page)
			}
			if info, e := f.Stat(); e == nil && n%20 == 19 {
				_ = f.Truncate(info.Size() - 4*int64(len(page)))
			}
			select {
			case <-over:
				done <- err
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() {
		close(over)
		if err := <-done; !errors.Is(err, unix.ENOSPC) {
			t.Errorf("filling the tmpfs ended with %v, want %v", err, unix.ENOSPC)
		}
		if err := errors.Join(os.Remove(f.Name()), f.Close()); err != nil {
			t.Error(err)
		}
	}
}

// parts requires that each line in the log is persisted or counted as withheld, depending on its level. It also
// requires that each withheld line that follows a saved line, or whose number is at least after, is saved once and
// in order. It returns how many bytes of the other withheld lines are not saved.
func (p *pressed) parts(after int64) (unsaved int) {
	p.Helper()
	var class ul.Classifier
	var persisted, got, saved bytes.Buffer
	var counts lab.Counts
	begun := false // a saved line was found
	for name, to := range map[string]*bytes.Buffer{stream: &got, detail: &saved} {
		if err := lab.ReadStream(to, p.dest, name); err != nil {
			p.Fatal(err)
		}
	}
	for line := range lab.LinesOf(p.report) {
		// A line that is glued to a cut line is classified by the level that the cut line shows.
		level := lab.Level(class.Classify(bytes.TrimSuffix(line.Text, []byte("\n"))).Level)
		if !line.Loose && level != line.Level {
			p.Fatalf("a line at level %s is classified as another level: %s", line.Level, line.Text)
		}
		if !ul.Level(level).Below(ul.Info) {
			persisted.Write(line.Text)
			continue
		}
		counts[level]++
		if bytes.HasPrefix(saved.Bytes(), line.Text) {
			saved.Next(len(line.Text))
			begun = true
			continue
		}
		unsaved += len(line.Text)
		if begun || line.Number >= after {
			p.Errorf("a withheld line is not saved, want it saved, since there was room or an older line was saved: %.100s", line.Text)
		}
	}
	if !bytes.Equal(got.Bytes(), persisted.Bytes()) {
		p.Errorf("%d bytes are persisted, want %d", got.Len(), persisted.Len())
	}
	if saved.Len() > 0 {
		p.Errorf("want each saved line once, withheld and in order; the first wrong one: %.100s", saved.Bytes())
	}
	if counted, err := lab.Withheld(p.source, stream); err != nil || counted != counts {
		p.Errorf("%v lines are counted as withheld, want %v; error: %v", counted, counts, err)
	}
	return unsaved
}
