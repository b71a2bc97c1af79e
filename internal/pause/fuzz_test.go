package pause

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func FuzzParse(f *testing.F) {
	for _, s := range samples {
		for _, line := range sample(f, s.name) {
			if ends(line) {
				f.Add(line)
			}
		}
	}
	f.Add([]byte("[0.4s][info][safepoint] Total time for which application threads were stopped: 0.0123456 seconds, Stopping threads took: 0.0000456 seconds\r"))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		e, ok := Parse(line)
		if !bytes.Equal(line, before) {
			t.Fatalf("the line became %q", line)
		}
		if !ok {
			if !cmp.Equal(e, Event{}) {
				t.Fatalf("no event, but %+v", e)
			}
			return
		}
		checkEvent(t, e, line)
		if line[0] != '[' {
			tag := "[0.397s][info][gc,x] "
			if e.Kind == Safepoint {
				tag = "[safepoint] "
			}
			if decorated, _ := Parse(append([]byte(tag), line...)); !cmp.Equal(decorated, e) {
				t.Fatalf("%+v, with decorations %+v", e, decorated)
			}
		}
	})
}

// checkEvent holds an event to what its documentation promises.
func checkEvent(t *testing.T, e Event, line []byte) {
	t.Helper()
	for _, d := range []time.Duration{e.Duration, e.Reaching, e.Cleanup, e.At, e.Leaving, e.User, e.Sys, e.Real} {
		if d < 0 || d >= 1e18 {
			t.Fatalf("%q: %+v", line, e)
		}
	}
	safepoint := Event{Kind: Safepoint, GC: -1, Name: e.Name, Duration: e.Duration, Reaching: e.Reaching, Cleanup: e.Cleanup, At: e.At, Leaving: e.Leaving}
	switch {
	case e.Kind == Pause && e.GC >= 0 && cmp.Equal(e, Event{Kind: Pause, GC: e.GC, Name: e.Name, Duration: e.Duration}):
	case e.Kind == CPU && e.GC >= 0 && cmp.Equal(e, Event{Kind: CPU, GC: e.GC, Duration: e.Real, User: e.User, Sys: e.Sys, Real: e.Real}):
		return
	case cmp.Equal(e, safepoint) && e.Name == nil && e.Reaching+e.At == e.Duration: // of JDK 9 to 12
		return
	case cmp.Equal(e, safepoint):
	default:
		t.Fatalf("%q: %+v", line, e)
	}
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(e.Name))) - uintptr(unsafe.Pointer(unsafe.SliceData(line))))
	if len(e.Name) == 0 || len(e.Name) > maxName || at < 0 || at+len(e.Name) > len(line) {
		t.Fatalf("%q: %d bytes of name at %d", line, len(e.Name), at)
	}
	for _, c := range e.Name {
		if c < ' ' || c > '~' {
			t.Fatalf("%q: name %q", line, e.Name)
		}
	}
}
