package tail

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

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
	if freed := r.src.Drop(ul.DropAll, ul.Warning, 1<<30); freed < 5<<20 {
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

// What was dropped of a file that is truncated while the sidecar is down.
func TestTruncatedWhileDownKeepsCounts(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("w", "warning", 10))
	r.write(w, uls("old", "info", 2000))
	r.look()
	r.read()
	r.commit()
	r.write(w, uls("old", "info", 2000))
	r.look()
	r.src.Drop(ul.Discard, ul.Warning, 1<<30)
	d := r.droppedMetric()
	saved := r.src.Positions()
	r.src.Close()
	r.truncate()
	r.write(w, uls("new", "info", 3))
	r.open()
	r.src.Restore(saved)
	r.look()
	r.read()
	total, n := markers(r.text())
	if n != 1 || float64(total) != d {
		t.Errorf("%v lines were dropped, %d markers tell of %d", d, n, total)
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
		r.src.Restore(saved)
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
	r.src.Restore(saved)
	r.look()
	r.src.Tidy()
	if _, err := os.Stat(r.path(".ullage/kept")); err != nil || len(r.src.Positions()) == 0 {
		t.Errorf("%d positions are known, kept lines: %v", len(r.src.Positions()), err)
	}
}
