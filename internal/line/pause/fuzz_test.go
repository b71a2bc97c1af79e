package pause

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/line/ul"
)

func FuzzParse(f *testing.F) {
	for _, s := range samples {
		for _, line := range sample(f, s.name) {
			if _, ok := Parse(line); ok {
				f.Add(line)
			}
		}
	}
	f.Add([]byte("[0.4s][info][safepoint] Total time for which application threads were stopped: 0.0123456 seconds, Stopping threads took: 0.0000456 seconds\r"))
	f.Add([]byte("Allocation Stall () 5.811ms"))
	for _, log := range oldLogs {
		for line := range strings.Lines(log) {
			f.Add([]byte(strings.TrimSuffix(line, "\n")))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		e, ok := Parse(line)
		if !bytes.Equal(line, before) {
			t.Fatalf("the line became %q, want %q as before", line, before)
		}
		if !ok {
			if !cmp.Equal(e, Event{}) {
				t.Fatalf("Parse returned false with the event %+v, want the zero event", e)
			}
			return
		}
		if (&jdk8{}).claims(line) {
			checkOldEvent(t, e, line)
			return
		}
		checkEvent(t, e, line)
		if line[0] != '[' {
			tag := "[0.397s][info][gc,x] "
			switch e.Kind {
			case Safepoint, Enter:
				tag = "[safepoint] "
			case Phase:
				tag = "[gc,phases] "
			}
			if decorated, _ := Parse(append([]byte(tag), line...)); !cmp.Equal(decorated, e) {
				t.Fatalf("%+v, with decorations %+v; want the same event", e, decorated)
			}
		}
	})
}

// checkEvent checks that an event is as its documentation says.
func checkEvent(t *testing.T, e Event, line []byte) {
	t.Helper()
	for _, d := range []time.Duration{e.Duration, e.Reaching, e.Cleanup, e.At, e.Leaving, e.User, e.Sys, e.Real} {
		if d < 0 || d >= 1e18 {
			t.Fatalf("%q has an impossible duration, want d at least 0 and d less than 1e18: %+v", line, e)
		}
	}
	for _, size := range []int64{e.Heap.Before, e.Heap.After, e.Heap.Capacity} {
		if size < 0 || size > maxBytes || size > 0 && !e.Heap.Known {
			t.Fatalf("%q has an impossible size, want 0 to %d, and only 0 unless Known: %+v", line, int64(maxBytes), e)
		}
	}
	if (e.GC >= 0) != (e.Kind != Safepoint && e.Kind != Enter && e.Kind != Stall && e.Kind != Init) && (e.GC != -1 || e.Kind != Failure && e.Kind != Cancel) {
		t.Fatalf("%q has an impossible number, want GC below 0 exactly for Safepoint, Enter, Stall and Init, or -1 for Failure and Cancel: %+v", line, e)
	}
	if !isListed(actions, e.Action()) || !isListed(causes, e.Cause()) || !isListed(operations, e.Operation()) {
		t.Fatalf("%q has the names %q, %q, %q, which are not all listed", line, e.Action(), e.Cause(), e.Operation())
	}
	if e.Kind == CPU || e.Kind == Metaspace || e.Kind == Workers || e.Kind == Safepoint && e.Reaching+e.At == e.Duration && e.Name == nil {
		if e.Name != nil {
			t.Fatalf("%q has a name, want none for an event of this kind: %+v", line, e)
		}
		return
	}
	checkPart(t, e.Kind, e.Name, line, maxName)
	if e.Kind == Init {
		checkPart(t, e.Kind, e.Value, line, maxValue)
	}
}

func checkPart(t *testing.T, kind Kind, part, line []byte, most int) {
	t.Helper()
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(line))))
	if len(part) == 0 && kind != Stall || len(part) > most || at < 0 || at+len(part) > len(line) {
		t.Fatalf("%q has a name of %d bytes at offset %d, want 1 to %d bytes (or 0 for a stall) inside the line", line, len(part), at, most)
	}
	for _, c := range part {
		if (c < ' ' || c > '~') && kind != Stall {
			t.Fatalf("%q: name %q, want only printable ASCII unless it is of a stall", line, part)
		}
	}
}

// Whatever the lines are, each pause is in one stop, no collection has a pause of another collection, and nothing grows
// without bound.
func FuzzJoiner(f *testing.F) {
	for _, s := range samples {
		f.Add(bytes.Join(sample(f, s.name), []byte("\n")))
	}
	for _, log := range oldLogs {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		pauses, stopped, collected := 0, 0, 0
		j := NewJoiner(Handlers{
			Pause: func(*GCPause) { pauses++ },
			Stop:  func(s *Stop) { stopped += len(s.Pauses) },
			Collection: func(c *Collection) {
				collected += c.Count
				for i := range c.Pauses {
					if c.Pauses[i].GC != c.GC {
						t.Fatalf("the collection has a pause of another collection, want only its own: %+v", c)
					}
				}
				if c.Allocated < -1 || c.Promoted < -1 || c.Paused < 0 || c.Lines[0] > c.Lines[1] {
					t.Fatalf("the collection is impossible, want Allocated and Promoted at least -1, Paused at least 0 and Lines in order: %+v", c)
				}
			},
		})
		for line := range bytes.Lines(text) {
			j.Line(bytes.TrimSuffix(line, []byte("\n")), ul.Class{})
			if len(j.open) > maxOpen || len(j.free) > maxOpen || len(j.waiting) > maxWaiting || len(j.names) > maxInterned || len(j.run.Settings) > maxSettings {
				t.Fatalf("%d open, %d free, %d waiting, %d names, %d settings; want at most %d, %d, %d, %d, %d", len(j.open), len(j.free), len(j.waiting),
					len(j.names), len(j.run.Settings), maxOpen, maxOpen, maxWaiting, maxInterned, maxSettings)
			}
		}
		j.Flush()
		if stopped != pauses || collected != pauses {
			t.Fatalf("%d pauses, %d in stops, %d in collections; want the same number in each", pauses, stopped, collected)
		}
	})
}

// isListed reports whether a name is in a fixed list, so that it may be a metric label.
func isListed(list map[string]string, name string) bool {
	_, ok := list[name]
	return ok || name == Other || name == None
}
