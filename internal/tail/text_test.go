package tail

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// flood is kept lines far enough from one another for gaps between them.
func flood() string {
	var b strings.Builder
	for range 300 {
		b.WriteString(uls("k", "warning", 1))
		b.WriteString(uls("d", "debug", 90))
	}
	return b.String()
}

// Less than a page before a gap with text cannot go, and keeps nothing behind it.
func TestDropGoesOnBehindWhatCannotGo(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("first", "warning", 10))
	r.write(w, flood())
	r.discardAndCompact()
	for range 3 {
		r.write(w, uls("keep", "warning", 20000))
	}
	r.look()
	if freed := r.src.Drop(ul.DropAll, ul.Warning, 1<<30, 0, false); freed < 5<<20 {
		t.Errorf("dropping all gives back %d bytes", freed)
	}
}

func TestKeptLinesInATextAreCountedAsRead(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, flood())
	r.discardAndCompact()
	r.read()
	r.commit()
	read := testutil.ToFloat64(r.src.metrics.readLines.WithLabelValues("gc.log", "warning"))
	if handedOn := strings.Count(r.text(), "[warning][gc]"); read != 300 || handedOn != 300 {
		t.Errorf("of 300 warnings %v are counted as read, and %d were handed on", read, handedOn)
	}
}

func TestTruncatedWithATextCountsItsLines(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, flood())
	r.discardAndCompact()
	r.truncate()
	r.write(w, uls("new", "info", 3))
	r.read()
	r.commit()
	total, n := markers(r.text())
	if n != 1 || float64(total) != r.droppedMetric() || total < 300*91-91 {
		t.Errorf("%v lines were dropped, %d markers tell of %d", r.droppedMetric(), n, total)
	}
}

// A restart between two chunks of a text, inside a record.
func TestTextHasItsLevelsAfterARestart(t *testing.T) {
	r := newRig(t, func(c *Config) { c.LineLimit = 5000 })
	w := r.writer("gc.log")
	for range 130 {
		r.write(w, "[9.000s][error  ][gc] head\n")
		for range 30 {
			r.write(w, "  further line of an error "+strings.Repeat("x", 60)+"\n")
		}
		r.write(w, uls("d", "debug", 90))
	}
	r.discardAndCompact()
	var total [ul.NumLevels]uint32
	for {
		r.look()
		_, c, ok := r.src.Next(r.area)
		if !ok {
			break
		}
		for level, n := range c.Lines {
			total[level] += n
		}
		r.src.Committed(c)
		saved := r.src.Positions()
		r.src.Close()
		r.open()
		r.src.Restore(saved, false)
	}
	if total[ul.Error] != 130*31 || total[ul.Unknown] != 0 {
		t.Errorf("lines by level: %v, want %d errors", total, 130*31)
	}
}

// Files that wait for others to be finished keep what is known of them.
func TestTextsOfFilesThatWaitAreKept(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, flood())
	r.discardAndCompact()
	saved := r.src.Positions()
	r.src.Close()
	r.write(r.writer("zz.log"), "[1.0s][info][gc] x\n")
	r.open()
	r.src.maxHeld = 1
	r.src.Restore(saved, false)
	r.look()
	r.src.Tidy()
	if _, err := os.Stat(r.path(".ullage/kept")); err != nil || len(r.src.Positions()) == 0 {
		t.Errorf("%d positions are known, kept lines: %v", len(r.src.Positions()), err)
	}
}

// The text of a truncated file is not needed any more, and is given back only
// later: nothing else may stand in its place by then.
func TestTextOfATruncatedFileIsFreedBesideOthers(t *testing.T) {
	r := newRig(t)
	a, b := r.writer("gc.log"), r.writer("b.log")
	r.write(a, flood())
	r.write(b, flood())
	r.discardAndCompact()
	r.truncate()
	r.write(a, uls("new", "info", 3))
	r.read()
	r.commit()
	c := r.writer("c.log")
	for range 3 {
		r.write(c, flood())
	}
	r.discardAndCompact()
	r.read()
	r.commit()
	text := r.got["c.log"].String()
	if kept := strings.Count(text, "[warning][gc]"); kept != 900 || strings.Contains(text, "\x00") {
		t.Errorf("of 900 kept warnings %d came out, NUL bytes: %t", kept, strings.Contains(text, "\x00"))
	}
	if used := blocks(t, r.path(".ullage/kept")); used > 0 {
		t.Errorf("%d blocks of texts are left", used)
	}
}

// A file waits for a descriptor while the texts of others come to an end, and
// others begin.
func TestTextOfAFileThatWaitsIsKept(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a.log", "b.log"} {
		r.write(r.writer(name), flood())
	}
	r.discardAndCompact()
	saved := r.src.Positions()
	r.src.Close()
	r.open()
	r.src.maxHeld = 1
	r.src.Restore(saved, false)
	r.look()
	r.src.Tidy()
	if n := len(r.src.Unheld()); n > 0 {
		t.Errorf("%d streams count as gone", n)
	}
	want := map[string]int{"a.log": 300, "b.log": 300}
	for _, f := range r.src.files {
		want[f.name] += 300
		r.read()
		r.commit()
		r.write(r.writer(f.name), strings.ReplaceAll(flood(), "] k line", "] "+f.name+" line"))
	}
	r.discardAndCompact()
	r.src.maxHeld = 2
	r.read()
	r.commit()
	for name, want := range want {
		if kept := strings.Count(r.got[name].String(), "[warning][gc]"); kept != want {
			t.Errorf("%s: %d warnings came out, %d were kept", name, kept, want)
		}
	}
}

// Texts that a killed process had no more use for are given back.
func TestTextsOfAKilledProcessAreFreed(t *testing.T) {
	r := newRig(t)
	a, b := r.writer("a.log"), r.writer("b.log")
	r.write(a, flood())
	r.write(b, strings.Repeat(flood(), 3))
	r.discardAndCompact()
	saved := r.src.Positions()
	r.src.Close()
	all := blocks(t, r.path(".ullage/kept"))
	for id, s := range saved {
		if s.Stream == "b.log" {
			s.Gaps = ""
			saved[id] = s
		}
	}
	r.open()
	r.src.Restore(saved, false)
	r.look()
	r.src.Tidy()
	if left := blocks(t, r.path(".ullage/kept")); left == 0 || left > all/2 {
		t.Errorf("%d of %d blocks are left", left, all)
	}
	r.read()
	if kept := strings.Count(r.got["a.log"].String(), "[warning][gc]"); kept != 300 {
		t.Errorf("%d of 300 kept warnings came out", kept)
	}
}

// Whoever forges a checkpoint says that more of a text was consumed than it has.
func TestPositionBehindATextIsNotOne(t *testing.T) {
	for _, text := range []int64{-1, 51, 1 << 60} {
		r := newRig(t)
		r.write(r.writer("gc.log"), uls("x", "info", 3))
		r.look()
		var id position.Identity
		for id = range r.src.files {
		}
		end, err := position.At(r.src.files[id].fd, 10)
		if err != nil {
			t.Fatal(err)
		}
		gaps := encodeGaps([]gap{{start: 0, end: end, text: newText(50)}}, ul.Gap{})
		r.src.Close()
		r.open()
		r.src.Restore(map[position.Identity]Saved{id: {Stream: "gc.log", Position: position.Position{Text: text}, Gaps: gaps}}, false)
		r.read()
		if got := r.text(); got != uls("x", "info", 3) {
			t.Errorf("with %d of it consumed: read %q", text, got)
		}
	}
}

func newText(length int64) *text { return &text{length: length} }
