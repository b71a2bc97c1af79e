package check

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// cut returns the beginnings of the lines in raw, which comes in pieces of a size.
func cut(raw []byte, size int) (heads []string) {
	l := lines{take: func(head, _ []byte) { heads = append(heads, string(head)) }}
	for piece := range slices.Chunk(raw, max(size, 1)) {
		l.write(piece)
	}
	l.end()
	return heads
}

func TestLinesAreTheSameInAnyPieces(t *testing.T) {
	long := strings.Repeat("x", headBytes)
	raw := []byte("one\n\ntwo\n" + long + "\n" + long + "and more\nthree\n" + long[1:] + "\nwithout its end")
	want := []string{"one", "", "two", long, long, "three", long[1:], "without its end"}
	for _, size := range []int{1, 2, 3, 7, 4096, headBytes - 1, headBytes, headBytes + 1, len(raw)} {
		if got := cut(raw, size); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %d lines, want %d", size, len(got), len(want))
		}
	}
}

func TestNoLineGoesOnAcrossDamage(t *testing.T) {
	var heads []string
	l := lines{take: func(head, _ []byte) { heads = append(heads, string(head)) }}
	l.write([]byte("one\ntw"))
	l.end()
	l.write([]byte("hree\n"))
	l.write([]byte(strings.Repeat("x", 2*headBytes)))
	l.end()
	l.write([]byte("four\n"))
	if want := []string{"one", "tw", "hree", strings.Repeat("x", headBytes), "four"}; !slices.Equal(heads, want) {
		t.Errorf("%.40q, want %.40q", heads, want)
	}
}

// The oracle is a split of the whole, with the piece of every line that counts.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\n\ntwo"), 2)
	f.Add(bytes.Repeat([]byte("x"), headBytes+10), headBytes)
	f.Fuzz(func(t *testing.T, raw []byte, size int) {
		var want []string
		for line := range bytes.Lines(raw) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			want = append(want, string(line[:min(len(line), headBytes)]))
		}
		if got := cut(raw, int(uint16(size))); !slices.Equal(got, want) {
			t.Errorf("%.200q, want %.200q", got, want)
		}
	})
}
