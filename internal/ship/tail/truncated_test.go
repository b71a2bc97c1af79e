package tail

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

func uls(tag string, level string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[%d.%03ds][%-7s][gc] %s line %d %s\n", i/1000, i%1000, level, tag, i, strings.Repeat("x", 60))
	}
	return b.String()
}

func markers(text string) (total uint64, n int) {
	for line := range strings.Lines(text) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			total += g.Total()
			n++
		}
	}
	return total, n
}

func (r *rig) droppedMetric() float64 { return float64(countedDrops(r.src)) }

func (r *rig) look() {
	r.src.Watcher.LookAgain()
	if _, err := r.src.Scanner.Scan(); err != nil {
		r.t.Fatal(err)
	}
}

// everything asks to free all memory.
var everything = Relief{Want: 1 << 40, Least: 1, Keep: ul.Warning}

// move moves all unread lines into the spool.
func (r *rig) move() {
	r.t.Helper()
	r.look()
	r.src.Relief.Weigh()
	r.src.Relief.Move(everything)
}

// discard moves all unread lines and drops those below warning.
func (r *rig) discard() {
	r.t.Helper()
	r.move()
	r.src.Relief.Drop(ul.Discard, everything)
}

// truncate truncates the log as a JVM with filecount=0 does at its start.
func (r *rig) truncate() {
	r.t.Helper()
	if err := os.Truncate(r.path("gc.log"), 0); err != nil {
		r.t.Fatal(err)
	}
}

// rewrite truncates the file and writes text to it.
func rewrite(r *rig, w *os.File, text string) {
	r.t.Helper()
	r.truncate()
	r.write(w, text)
}

// accounted fails the test unless the markers count as many lines as the metric.
func (r *rig) accounted() {
	r.t.Helper()
	accountedFor(r, r.droppedMetric())
}

// accountedFor fails the test unless the markers count this many dropped lines.
func accountedFor(r *rig, dropped float64) {
	r.t.Helper()
	if total, n := markers(r.text()); float64(total) != dropped {
		r.t.Errorf("%d markers count %d lines, want the %v that were dropped", n, total, dropped)
	}
}

// moving returns a rig with a log whose text was moved.
func moving(t *testing.T, text string) (*rig, *os.File) {
	t.Helper()
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, text)
	r.move()
	return r, w
}

// discarding returns a rig with a log that has the texts. Its lines below warning were
// dropped.
func discarding(t *testing.T, texts ...string) (*rig, *os.File) {
	t.Helper()
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, strings.Join(texts, ""))
	r.discard()
	return r, w
}

// rewrittenWhileDown truncates the file and writes text to it while the sidecar is down. It
// returns how many lines were dropped before.
func rewrittenWhileDown(r *rig, w *os.File, text string) (dropped float64) {
	r.t.Helper()
	dropped = r.droppedMetric()
	saved := r.src.Start.Positions()
	r.src.Close()
	rewrite(r, w, text)
	r.open()
	r.src.Start.Restore(saved, false)
	return dropped
}

func (r *rig) text() string {
	if b := r.got["gc.log"]; b != nil {
		return b.String()
	}
	return ""
}

// A JVM with filecount=0 starts again during a stall: its file is truncated and grows past
// the old gap. At the end of the gap, the file has the same bytes as before.
func TestTruncatedWhileStalledKeepsNewLines(t *testing.T) {
	r, w := discarding(t, uls("old", "info", 2000))
	rewrite(r, w, uls("new", "warning", 2000)) // must be kept
	r.write(w, uls("new2", "info", 500))
	r.discard()
	r.read()
	if kept := strings.Count(r.text(), "][warning][gc] new line"); kept != 2000 {
		t.Errorf("%d of 2000 new warnings are left, want 2000", kept)
	}
	r.accounted()
}

// After a restart, the gaps in the checkpoint reach past the end of the truncated file.
func TestTruncatedBehindAGapThenRestarted(t *testing.T) {
	r, w := discarding(t, uls("old", "info", 2000))
	dropped := rewrittenWhileDown(r, w, uls("new", "info", 500))
	r.discard()
	r.read()
	accountedFor(r, dropped+r.droppedMetric())
}

// The truncated file grows slowly up to the old gap, without a restart.
func TestTruncatedAheadOfReading(t *testing.T) {
	r, w := discarding(t, uls("a", "warning", 100), uls("old", "info", 2000))
	r.truncate()
	r.look()
	size := 0
	for range 3000 {
		line := uls("new", "info", 1)
		r.write(w, line)
		size += len(line)
		if size%4096 < 100 {
			r.look()
			r.src.Relief.Weigh()
			r.src.Relief.Drop(ul.DropAll, everything)
		}
	}
	r.read()
	r.accounted()
}

// A file with a gap is truncated before any of its lines was read.
func TestTruncatedBeforeAGapIsReadOnce(t *testing.T) {
	r, w := discarding(t, uls("w", "warning", 100), uls("old", "info", 2000))
	text := uls("new", "info", 3000)
	want := uls("w", "warning", 100) + text // the spool has kept the warnings
	rewrite(r, w, text)
	r.read()
	got := r.text()
	var jvm strings.Builder
	for line := range strings.Lines(got) {
		if _, ok := ul.ParseMarker([]byte(line)); !ok {
			jvm.WriteString(line)
		}
	}
	if jvm.String() != want {
		t.Errorf("handed on %d lines, want %d", strings.Count(jvm.String(), "\n"), strings.Count(want, "\n"))
	}
	r.accounted()
}

// The segments decide where reading begins. Records after that place stay.
func TestAlignKeepsRecords(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	head := uls("head", "warning", 100)
	r.write(w, head)
	r.read() // these lines are persisted, but the checkpoint is lost
	r.write(w, uls("old", "info", 2000))
	r.write(w, uls("tail", "warning", 10))
	r.discard()
	r.src.Start.Rewind()
	ok, err := r.src.Start.Align("gc.log", []byte(head[len(head)-500:]))
	if !ok || err != nil {
		t.Fatalf("Align returned %v, %v; want true and no error", ok, err)
	}
	r.read()
	r.accounted()
}

// The further lines of a message may be written with a second write.
func TestFurtherLinesShareTheirRecordsFate(t *testing.T) {
	r, w := discarding(t, uls("old", "info", 100), "[9.000s][info   ][gc] header of a record\n")
	r.write(w, "  its second line\n  its third line\n") // the second write(2) of one message
	r.read()
	if strings.Contains(r.text(), "its second line") != strings.Contains(r.text(), "header of a record") {
		t.Errorf("a header and its further lines have different fates, want both dropped or both persisted: %s", abbreviate(r.text()))
	}
}

// manyGaps makes a file with n gaps and a kept warning after each.
func manyGaps(r *rig, n int) {
	w := r.writer("gc.log")
	var b strings.Builder
	for i := range n {
		b.WriteString(uls(fmt.Sprint("r", i), "info", 60))
		b.WriteString(uls(fmt.Sprint("r", i), "debug", 20))
		b.WriteString(uls(fmt.Sprint("r", i), "trace", 20))
		b.WriteString(uls("keep", "warning", 1))
		if b.Len() > 1<<20 {
			r.write(w, b.String())
			b.Reset()
			r.discard()
		}
	}
	r.write(w, b.String())
	r.discard()
}

// Kept lines between gaps are dropped one by one until enough memory is free.
func TestDropTakesNoMoreThanItIsAskedFor(t *testing.T) {
	r := newRig(t)
	manyGaps(r, 3000)
	before := r.src.Relief.Weigh().Memory
	relief := everything
	relief.Want = 64 << 10
	r.src.Relief.Drop(ul.DropAll, relief)
	after := r.src.Relief.Weigh().Memory
	gone := r.src.env.metrics.dropped.streams["gc.log"].lines[ul.DropAll][ul.Warning]
	t.Logf("asked for 64 KiB; %d KiB were freed, %v of 3000 kept warnings were dropped", (before-after)>>10, gone)
	if before-after > 256<<10 {
		t.Errorf("%d KiB were freed, want at most 256", (before-after)>>10)
	}
}
