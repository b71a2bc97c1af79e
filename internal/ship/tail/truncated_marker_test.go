package tail

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/ship/position"
)

// A marker of the lines that were dropped before a truncation precedes the new lines.
func TestTruncationKeepsCounts(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("w", "warning", 10))
	r.look()
	r.read()
	r.write(w, uls("old", "info", 2000))
	r.discard()
	rewrite(r, w, uls("new", "info", 3))
	r.read()
	r.accounted()
}

// If a sidecar is killed before the marker of a truncated file is durable, the dropped lines are
// still counted. If the file is truncated once more, they are not counted twice.
func TestTruncationKeepsCountsAfterAKill(t *testing.T) {
	for _, commit := range []bool{false, true} {
		r := newRig(t)
		w := r.writer("gc.log")
		saved := map[position.Content]position.Saved{}
		for round := range 3 {
			r.write(w, uls("old", "info", 2000))
			r.discard()
			rewrite(r, w, uls("new", "info", 2000+round))
			r.discard()
			saved = r.src.Start.Positions()
		}
		dropped := r.droppedMetric()
		r.src.Close()
		r.open()
		r.src.Start.Restore(saved, false)
		r.look()
		r.read()
		if commit {
			r.commit()
		}
		rewrite(r, w, uls("newest", "info", 3))
		if !commit {
			r.src.Start.Rewind()
			delete(r.got, "gc.log")
		}
		r.read()
		accountedFor(r, dropped)
	}
}

// The marker was read but is not durable when the file is truncated again.
func TestTruncatedAgainBeforeTheMarkerIsDurable(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	for range 3 {
		r.write(w, uls("old", "info", 2000))
		r.discard()
		rewrite(r, w, uls("new", "info", 10))
		r.read()
	}
	r.commit()
	r.write(w, uls("end", "info", 1))
	r.read()
	r.accounted()
}

// The marker of one gap was read, but not that of the next gap, when the file is truncated.
func TestTruncatedBetweenTwoMarkers(t *testing.T) {
	for _, rewind := range []bool{false, true} {
		r := newRig(t)
		w := r.writer("gc.log")
		for range 2 {
			r.write(w, uls("old", "debug", 2000))
			r.write(w, uls("kept", "warning", 3))
		}
		r.discard()
		n, c, ok := r.src.Reader.Next(r.area)
		if !ok {
			t.Fatal("Next returned no marker, want one")
		}
		rewrite(r, w, uls("new", "info", 3))
		r.look()
		if rewind {
			r.src.Start.Rewind()
		} else {
			r.got["gc.log"] = &strings.Builder{}
			r.got["gc.log"].Write(r.area[:n])
			r.last[c.File] = c
		}
		r.read()
		r.commit()
		r.accounted()
		for _, f := range r.src.table.Files {
			if !f.Records.Empty() {
				t.Errorf("rewind %t: %d records are left, want none", rewind, len(f.Records.List))
			}
		}
	}
}

// A JVM truncates its log and ends before it writes a line.
func TestTruncatedToNothingIsMarked(t *testing.T) {
	r, w := discarding(t, uls("old", "info", 2000))
	r.truncate()
	w.Close()
	for range 4 {
		r.read()
		r.commit()
	}
	r.accounted()
	if left := r.names(); len(left) > 0 {
		t.Errorf("the files %v are left, want none", left)
	}
}

// The file is truncated while the sidecar is down, whether or not lines were committed before.
func TestTruncatedWhileDownIsMarked(t *testing.T) {
	for _, committed := range []bool{false, true} {
		r := newRig(t)
		w := r.writer("gc.log")
		if committed {
			r.write(w, uls("first", "error", 10))
			r.read()
			r.commit()
		}
		r.write(w, flood())
		r.discard()
		dropped := rewrittenWhileDown(r, w, uls("new", "info", 3))
		r.read()
		r.commit()
		if dropped += r.droppedMetric(); dropped < 299*90 {
			t.Errorf("committed %t: %v lines were dropped, want at least %d", committed, dropped, 299*90)
		}
		accountedFor(r, dropped)
	}
}

// The destination fails. The following rewind finds the truncation.
func TestTruncatedBeforeARewindKeepsMovedLines(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("first", "error", 10))
	r.read()
	r.commit()
	r.write(w, flood())
	r.discard()
	kept := testutil.ToFloat64(r.src.env.metrics.readLines.WithLabelValues("gc.log", "warning"))
	rewrite(r, w, uls("new", "info", 3))
	r.src.Start.Rewind()
	r.read()
	r.commit()
	r.accounted()
	if got := strings.Count(r.text(), "][warning][gc] "); kept == 0 || float64(got) != kept {
		t.Errorf("%v warnings were kept, %d of them were handed on, want all, and more than 0", kept, got)
	}
}

// flood returns warnings far enough apart for gaps between them.
func flood() string {
	var b strings.Builder
	for i := range 300 {
		b.WriteString(uls("keep", "warning", 1))
		b.WriteString(uls(fmt.Sprint("r", i), "debug", 90))
	}
	return b.String()
}
