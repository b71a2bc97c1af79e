package ul

import (
	"bytes"
	"testing"
	"unsafe"
)

func addSamples(f *testing.F, add func(line []byte)) {
	for _, s := range samples {
		for i, line := range sample(f, s.name) {
			if i%8 == 0 {
				add(line)
			}
		}
	}
	for _, line := range []string{"", "[", "[]", "[] ", "[ ] ", "[][] ", "[info] ", "[info", "[error]   293 messages dropped due to async logging",
		"[0,1s][a][1][2][info ][a,b] [x] y", "[1ms][2ms][1ns][2ns] ", "[9999-99-99T99:99:99.999-9999] ", "[a,] x", "[1.s] x"} {
		add([]byte(line))
	}
}

func FuzzParse(f *testing.F) {
	addSamples(f, func(line []byte) { f.Add(line) })
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		var r, again Record
		r.Parse(line)
		again.Parse(before)
		again.When()
		again.Since()
		if !bytes.Equal(line, before) {
			t.Fatalf("the line became %q, want %q as before", line, before)
		}
		if show(&r) != show(&again) || r.Ambiguous != again.Ambiguous || r.Dropped != again.Dropped {
			t.Fatalf("first %s, ambiguous %s, %d dropped; then %s, ambiguous %s, %d dropped; want the same",
				show(&r), r.Ambiguous, r.Dropped, show(&again), again.Ambiguous, again.Dropped)
		}
		checkRecord(t, &r, line)
	})
}

// checkRecord checks that a record is as its documentation says.
func checkRecord(t *testing.T, r *Record, line []byte) {
	t.Helper()
	if !bytes.HasSuffix(line, r.Message) || !within(r.Message, line) {
		t.Fatalf("message %q is not the end of %q", r.Message, line)
	}
	prefix, end, found := line[:len(line)-len(r.Message)], 0, 0
	for i, text := range [...][]byte{r.Time, r.UTCTime, r.Uptime, r.TimeMillis, r.UptimeMillis, r.TimeNanos, r.UptimeNanos,
		r.Hostname, r.PID, r.TID, r.LevelName, r.Tags} {
		if (r.Present&(1<<i) != 0) != (text != nil) {
			t.Fatalf("present %s, but %s is %q; want it present exactly if its text is not nil", r.Present, Decorator(1<<i), text)
		}
		if text == nil {
			continue
		}
		found++
		if !within(text, prefix) || bytes.HasSuffix(text, []byte(" ")) {
			t.Fatalf("%s is %q, want a text inside the prefix %q that does not end with a space", Decorator(1<<i), text, prefix)
		}
		// The fields are in the order of their decorators.
		at := offset(text, line)
		if at <= end || line[at-1] != '[' {
			t.Fatalf("%s at %d, want it after %d and directly after a '[' in %q", Decorator(1<<i), at, end, line)
		}
		end = at + len(text)
	}
	if r.Ambiguous&^r.Present != 0 || r.Level != levelOf(r.LevelName) && r.Kind != Drop {
		t.Fatalf("%s, ambiguous %s, level %s; want only present decorators ambiguous, and level %s unless it is a drop message",
			show(r), r.Ambiguous, r.Level, levelOf(r.LevelName))
	}
	if (len(prefix) == 0) != (found == 0 && r.Kind != Continuation) {
		t.Fatalf("%d fields in the prefix %q of kind %v, want an empty prefix exactly if there is no field and no continuation", found, prefix, r.Kind)
	}
	if r.Kind == Header && bytes.Count(prefix, []byte("]")) != found+r.UnknownFields {
		t.Fatalf("%d fields and %d unknown in %q, want %d in all", found, r.UnknownFields, prefix, bytes.Count(prefix, []byte("]")))
	}
	if len(prefix) > 0 && (prefix[0] != '[' || !bytes.HasSuffix(prefix, []byte("] "))) {
		t.Fatalf(`the prefix is %q, want one that begins with "[" and ends with "] "`, prefix)
	}
}

func offset(part, whole []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole))))
}

func within(part, whole []byte) bool {
	at := offset(part, whole)
	return at >= 0 && at+len(part) <= len(whole)
}

func FuzzClassify(f *testing.F) {
	last := []byte("[0.397s][info][gc] a")
	addSamples(f, func(line []byte) {
		f.Add(last, line)
		last = line
	})
	f.Fuzz(checkClassify)
}

// The result of a Parser must not depend on earlier lines.
func FuzzParser(f *testing.F) {
	last := []byte("[0.397s][info][gc] a")
	addSamples(f, func(line []byte) {
		f.Add(last, line)
		last = line
	})
	f.Add([]byte("[2026-11-20T16:45:11.123+0100][info][gc] a"), []byte("[2026-11-20T16:45:11.123+0000][info][gc] a"))
	f.Add([]byte("[a-b][info][gc] a"), []byte("[a]b][info][gc] a"))
	f.Add([]byte("[0.397s][warning][gc] a"), []byte("[0.397s][warning][  ]    293 messages dropped due to async logging"))
	f.Fuzz(func(t *testing.T, last, line []byte) {
		var p Parser
		for _, line := range [][]byte{last, line, last} {
			var want Record
			want.Parse(line)
			got := p.Parse(line)
			if show(got) != show(&want) || got.Ambiguous != want.Ambiguous || got.Dropped != want.Dropped {
				t.Fatalf("%q after %q: %s, ambiguous %s; want %s, ambiguous %s", line, last, show(got), got.Ambiguous, show(&want), want.Ambiguous)
			}
			checkRecord(t, got, line)
		}
	})
}
