package cat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// object holds the fields of one line that the tests read from the JSON.
type object struct {
	Time, Stream, Level, Text string
	Run                       int
	Tags                      []string
	Uptime                    *float64
	GC                        *int
}

// objects prints a destination as JSON and decodes the output.
func objects(t *testing.T, dest string) (got []object) {
	t.Helper()
	var out bytes.Buffer
	p := New(Config{JSON: true}, &out, os.Stderr)
	if err := errors.Join(append(p.Find([]string{dest}), p.Run(context.Background()))...); err != nil || p.Failed() {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%.300q is not JSON: %v", line, err)
		}
		got = append(got, o)
	}
	return got
}

// A line of any length is one object, and no character is split between pieces of the line.
func TestJSONOfALongLine(t *testing.T) {
	for shift := range 5 {
		long := strings.Repeat("x", shift) + strings.Repeat("größer → 𝕏 \"quoted\"\t", 20<<10) + "\xe2\x82"
		d := newShipped(t, segment.Zstd)
		s := d.restart("gc.log", segment.Mark{})
		raw := "[0.001s][error][gc] " + long + "\n[0.002s][info][gc] end"
		for len(raw) > 0 {
			n := min(len(raw), 100_003)
			d.append(s, raw[:n])
			raw = raw[n:]
		}
		got := objects(t, d.dir)
		if len(got) != 2 || got[1].Text != "end" {
			t.Fatalf("got %d objects, want 2, the last one with the text \"end\"", len(got))
		}
		if want := strings.TrimSuffix(long, "\xe2\x82") + "\ufffd\ufffd"; got[0].Text != want {
			t.Errorf("the text has %d bytes, want %d", len(got[0].Text), len(want))
		}
	}
}

// Whatever a line contains, encoding/json reads the same text back from its object.
func FuzzJSONText(f *testing.F) {
	f.Add([]byte("a\x00\"\\\x1b[31m größer \xff\xe2\x82 \u2028\x7f"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want string
		if err := json.Unmarshal(append(appendText([]byte{'"'}, text), '"'), &got); err != nil {
			t.Fatal(err)
		}
		ours, err := json.Marshal(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(ours, &want); err != nil || got != want {
			t.Fatalf("the text is %q, want %q (%v)", got, want, err)
		}
	})
}
