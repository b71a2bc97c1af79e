package tail

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

// wantUnpersisted fails the test unless the source reports this much unpersisted data at
// the given time.
func wantUnpersisted(r *rig, when string, at time.Time, want admin.Unpersisted) {
	r.t.Helper()
	if got := statsOf(r.src.env, r.src.table, r.src.listing, r.src.Capacity, at).Unpersisted; got != want {
		r.t.Fatalf("%s: %+v, want %+v", when, got, want)
	}
}

func TestWhatIsNotDurableIsKnownWithSinceWhen(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	at := time.Unix(1000, 0)
	second := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	r.write(w, "one\n")
	r.read()
	wantUnpersisted(r, "one line is read", second(0), admin.Unpersisted{Bytes: 4, Since: second(0)})
	r.write(w, "two\n")
	r.src.Watcher.LookAgain()
	if _, err := r.src.Scanner.Scan(); err != nil {
		t.Fatal(err)
	}
	wantUnpersisted(r, "another one is not", second(1), admin.Unpersisted{Bytes: 8, Since: second(0)})
	r.commit()
	wantUnpersisted(r, "one is durable", second(2), admin.Unpersisted{Bytes: 4, Since: second(2)})
	r.read()
	r.commit()
	wantUnpersisted(r, "both are", second(3), admin.Unpersisted{})
	r.write(w, "half a li")
	r.read()
	wantUnpersisted(r, "a line has not ended", second(4), admin.Unpersisted{})
	r.put(mark.Stream, "[2026-11-20T10:00:00.000+0000][info][ullage,mark] x\n")
	r.read()
	wantUnpersisted(r, "a mark is not durable", second(5), admin.Unpersisted{})
}

// The marker of a gap waits for the destination like any other line.
func TestDroppedLinesAreNotDurableBeforeTheirMarkerIs(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, strings.Repeat("[0.100s][debug][gc] one of many lines\n", 40000))
	r.src.Watcher.LookAgain()
	if _, err := r.src.Scanner.Scan(); err != nil {
		t.Fatal(err)
	}
	r.src.Relief.Weigh()
	if r.src.Relief.Drop(ul.DropAll, Relief{Want: 4 << 20, Least: 1, Keep: ul.Warning}) == 0 {
		t.Fatal("no line was dropped, want some")
	}
	u := r.src.Stats().Unpersisted
	if u.DroppedLines == 0 || u.Since.IsZero() {
		t.Fatalf("after a drop: %+v, want dropped lines and the time since when", u)
	}
	dropped := u.DroppedLines
	r.killed(r.committed(), false)
	if u = r.src.Stats().Unpersisted; u.DroppedLines != dropped {
		t.Errorf("after a kill: %+v, want %d dropped lines", u, dropped)
	}
	r.read()
	if u = r.src.Stats().Unpersisted; u.DroppedLines != dropped {
		t.Errorf("the marker is read and not durable: %+v, want %d dropped lines", u, dropped)
	}
	r.commit()
	if u = r.src.Stats().Unpersisted; u != (admin.Unpersisted{}) {
		t.Errorf("the marker is durable: %+v, want nothing", u)
	}
}
