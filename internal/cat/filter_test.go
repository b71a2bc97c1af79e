package cat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/ul"
)

// filterCases have a line and whether it passes at level warning.
var filterCases = []struct {
	line string
	pass bool
}{
	{"begins in the middle of a record", false},
	{"[0.100s][info   ][gc] one", false},
	{"further line of one", false},
	{"[0.101s][warning][gc] two", true},
	{"further line of two", true},
	{"[                 ] another, as JDK 25 writes it", true},
	{"", true},
	{"[0.102s][warning][] " + "    12 messages dropped due to async logging", true},
	{"[0.103s][error  ][gc] " + strings.Repeat("long ", 100<<10), true},
	{"further line of the long one", true},
	{"[0.104s][debug  ][gc] " + strings.Repeat("long ", 100<<10), false},
	{strings.Repeat("[worker] ", 20<<10), false},
	{"[0.105s][error  ][gc] " + strings.Repeat("x", headBytes-22), true},
	{"[0.106s][info   ][gc] " + strings.Repeat("x", headBytes-22), false},
	{"[0.107s][error  ][gc] without its end", true},
}

// A line's fate must not depend on how its bytes arrive, nor its memory on its
// length.
func TestFilterIsBlindToPieces(t *testing.T) {
	var all, want bytes.Buffer
	for _, c := range filterCases {
		fmt.Fprintln(&all, c.line)
		if c.pass {
			fmt.Fprintln(&want, c.line)
		}
	}
	raw := bytes.TrimSuffix(all.Bytes(), []byte{'\n'})
	for _, size := range []int{1, 2, 3, 7, 100, 4096, headBytes - 1, headBytes, headBytes + 1, 1 << 20, len(raw)} {
		var got bytes.Buffer
		f := newFilter(&got, ul.Warning, time.Time{})
		for piece := range slices.Chunk(raw, size) {
			if err := f.write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.end(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("in pieces of %d: %d bytes pass, want %d", size, got.Len(), want.Len())
		}
		if cap(f.held) > 2*headBytes {
			t.Errorf("in pieces of %d: %d bytes held", size, cap(f.held))
		}
	}
}

func TestFilterWithoutASelectionPassesAllAndKeepsLinesWhole(t *testing.T) {
	var got bytes.Buffer
	f := newFilter(&got, ul.Unknown, time.Time{})
	for _, step := range []struct{ raw, want string }{
		{"one\ntw", "one\n"}, {"o", "one\n"}, {"\n\nthree\nfo", "one\ntwo\n\nthree\n"},
	} {
		if err := f.write([]byte(step.raw)); err != nil || got.String() != step.want {
			t.Fatalf("after %q: %q, want %q (%v)", step.raw, got.String(), step.want, err)
		}
	}
	if err := f.end(); err != nil || got.String() != "one\ntwo\n\nthree\nfo" {
		t.Fatalf("at the end: %q (%v)", got.String(), err)
	}
}
