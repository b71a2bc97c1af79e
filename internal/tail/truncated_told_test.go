package tail

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// What was dropped before a truncation is told of in front of what is new.
func TestTruncationKeepsCounts(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("w", "warning", 10))
	r.look()
	r.read()
	r.write(w, uls("old", "info", 2000))
	r.discard()
	r.truncate()
	r.write(w, uls("new", "info", 3))
	r.read()
	r.tells()
}

// Nothing of that is lost with a sidecar that is killed before the marker is
// durable, nor told of twice where the file is truncated once more.
func TestTruncationKeepsCountsAfterAKill(t *testing.T) {
	for _, commit := range []bool{false, true} {
		r := newRig(t)
		w := r.writer("gc.log")
		saved := map[position.Identity]Saved{}
		for round := range 3 {
			r.write(w, uls("old", "info", 2000))
			r.discard()
			r.truncate()
			r.write(w, uls("new", "info", 2000+round))
			r.discard()
			r.src.ChangedGaps(func(id position.Identity, s Saved) { saved[id] = s })
		}
		dropped := r.droppedMetric()
		r.src.Close()
		r.open()
		r.src.Restore(saved, false)
		r.look()
		r.read()
		if commit {
			r.commit()
		}
		r.truncate()
		r.write(w, uls("newest", "info", 3))
		if !commit {
			r.src.Rewind()
			delete(r.got, "gc.log")
		}
		r.read()
		if total, n := markers(r.text()); float64(total) != dropped {
			t.Errorf("committed %t: %v lines were dropped, %d markers tell of %d", commit, dropped, n, total)
		}
	}
}

// The marker is on its way when the file is truncated again.
func TestTruncatedAgainBeforeTheMarkerIsDurable(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	for range 3 {
		r.write(w, uls("old", "info", 2000))
		r.discard()
		r.truncate()
		r.write(w, uls("new", "info", 10))
		r.read()
	}
	r.commit()
	r.write(w, uls("end", "info", 1))
	r.read()
	r.tells()
}

// One marker is on its way, and another gap behind it, when the file is
// truncated.
func TestTruncatedBetweenTwoMarkers(t *testing.T) {
	for _, rewind := range []bool{false, true} {
		r := newRig(t)
		w := r.writer("gc.log")
		for range 2 {
			r.write(w, uls("old", "debug", 2000))
			r.write(w, uls("kept", "warning", 3))
		}
		r.discard()
		n, c, ok := r.src.Next(r.area)
		if !ok {
			t.Fatal("there is no marker")
		}
		r.truncate()
		r.write(w, uls("new", "info", 3))
		r.look()
		if rewind {
			r.src.Rewind()
		} else {
			r.got["gc.log"] = &strings.Builder{}
			r.got["gc.log"].Write(r.area[:n])
			r.last[c.File] = c
		}
		r.read()
		r.commit()
		r.tells()
		for _, f := range r.src.files {
			if left := f.untoldOrphan(); left.Total() > 0 {
				t.Errorf("rewind %t: %d lines are still to be told of", rewind, left.Total())
			}
		}
	}
}

// A JVM truncates its log and ends before its first line.
func TestTruncatedToNothingIsToldOf(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("old", "info", 2000))
	r.discard()
	r.truncate()
	w.Close()
	for range 4 {
		r.read()
		r.commit()
	}
	r.tells()
	if left := r.names(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// While the sidecar is down, whatever was committed before.
func TestTruncatedWhileDownIsToldOf(t *testing.T) {
	for _, compact := range []bool{false, true} {
		for _, committed := range []bool{false, true} {
			r := newRig(t)
			w := r.writer("gc.log")
			if committed {
				r.write(w, uls("first", "error", 10))
				r.read()
				r.commit()
			}
			r.write(w, flood())
			if r.discard(); compact {
				r.discardAndCompact()
			}
			dropped := r.droppedMetric()
			saved := r.src.Positions()
			r.src.Close()
			r.truncate()
			r.write(w, uls("new", "info", 3))
			r.open()
			r.src.Restore(saved, false)
			r.read()
			r.commit()
			dropped += r.droppedMetric()
			if total, n := markers(r.text()); n != 1 || float64(total) != dropped || compact && total < 300*90 {
				t.Errorf("compacted %t, committed %t: %v lines were dropped, %d markers tell of %d", compact, committed, dropped, n, total)
			}
		}
	}
}

// The destination fails, and that makes the sidecar look.
func TestTruncatedBeforeARewindCountsKeptLines(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("first", "error", 10))
	r.read()
	r.commit()
	r.write(w, flood())
	r.discardAndCompact()
	r.truncate()
	r.write(w, uls("new", "info", 3))
	r.src.Rewind()
	r.read()
	r.commit()
	r.tells()
	kept := float64(r.src.metrics.dropped.streams["gc.log"].lines[ul.DropAll][ul.Warning])
	if read := testutil.ToFloat64(r.src.metrics.readLines.WithLabelValues("gc.log", "warning")); read == 0 || read != kept {
		t.Errorf("%v kept warnings were read, %v of them are counted as dropped", read, kept)
	}
	r.src.PunchGaps()
	if left := blocks(t, r.path(".ullage/kept")); left > 0 {
		t.Errorf("%d blocks of texts are left", left)
	}
}
