package cut

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// heads feeds raw in pieces of the given size and returns the heads of its lines.
func heads(l *Lines, raw []byte, size int) (heads []string) {
	for piece := range slices.Chunk(raw, max(size, 1)) {
		heads = append(heads, fed(l, piece)...)
	}
	return append(heads, ended(l)...)
}

func fed(l *Lines, raw []byte) (heads []string) {
	l.Feed(raw)
	for p := range l.Heads() {
		heads = append(heads, string(p.Head()))
	}
	return heads
}

func ended(l *Lines) []string {
	l.End()
	return fed(l, nil)
}

func TestLinesAreTheSameInAnyPieces(t *testing.T) {
	long := strings.Repeat("x", HeadBytes)
	raw := []byte("one\n\ntwo\n" + long + "\n" + long + "and more\nthree\n" + long[1:] + "\nwithout its end")
	want := []string{"one", "", "two", long, long, "three", long[1:], "without its end"}
	for _, size := range []int{1, 2, 3, 7, 4096, HeadBytes - 1, HeadBytes, HeadBytes + 1, len(raw)} {
		var l Lines
		if got := heads(&l, raw, size); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %d lines, want %d", size, len(got), len(want))
		}
		if held := cap(l.held); held > 2*HeadBytes {
			t.Errorf("in pieces of %d: Lines holds %d bytes, want at most %d", size, held, 2*HeadBytes)
		}
	}
}

func TestNoLineGoesOnAcrossDamage(t *testing.T) {
	var l Lines
	got := slices.Concat(fed(&l, []byte("one\ntw")), ended(&l), fed(&l, []byte("hree\n")),
		fed(&l, []byte(strings.Repeat("x", 2*HeadBytes))), ended(&l), fed(&l, []byte("four\n")))
	if want := []string{"one", "tw", "hree", strings.Repeat("x", HeadBytes), "four"}; !slices.Equal(got, want) {
		t.Errorf("the heads are %.40q, want %.40q", got, want)
	}
}

// A partly reclaimed file has zero bytes in place of its first lines.
func TestAHoleIsNoPartOfALine(t *testing.T) {
	hole := strings.Repeat("\x00", 3*HeadBytes)
	raw := []byte(hole + "the rest of one\ntwo\x00\n\x00three\n")
	for _, size := range []int{1, 7, HeadBytes, len(raw)} {
		l := Lines{SkipHoles: true}
		if got, want := heads(&l, raw, size), []string{"the rest of one", "two\x00", "three"}; !slices.Equal(got, want) || l.Holes != uint64(len(hole))+1 {
			t.Errorf("in pieces of %d: %q after %d zero bytes, want %q after %d", size, got, l.Holes, want, len(hole)+1)
		}
	}
}

func TestLinesAreReturnedOnceTheyAreWhole(t *testing.T) {
	var l Lines
	var got []byte
	for _, step := range []struct{ raw, want string }{
		{"one\ntw", "one\n"}, {"o", "one\n"}, {"\n\nthree\nfo", "one\ntwo\n\nthree\n"},
	} {
		l.Feed([]byte(step.raw))
		for p, ok := l.Next(); ok; p, ok = l.Next() {
			if !p.First || !p.Last {
				t.Fatalf("%q is only part of a line, want a whole line", p.Text)
			}
			got = append(got, p.Text...)
		}
		if string(got) != step.want {
			t.Fatalf("after %q: %q, want %q", step.raw, got, step.want)
		}
	}
	l.End()
	if p, ok := l.Next(); !ok || string(p.Text) != "fo" || !p.First || !p.Last {
		t.Fatalf(`at the end: %q, %v, First %v, Last %v; want "fo" and true for all`, p.Text, ok, p.First, p.Last)
	}
	if p, ok := l.Next(); ok {
		t.Fatalf("after the end: %q, want no further line", p.Text)
	}
}

// The oracle splits the whole text at once: each line appears once, and all bytes are in order.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\n\ntwo"), 2)
	f.Add(bytes.Repeat([]byte("x"), HeadBytes+10), HeadBytes)
	f.Fuzz(func(t *testing.T, raw []byte, size int) {
		var want []string
		for line := range bytes.Lines(raw) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			want = append(want, string(line[:min(len(line), HeadBytes)]))
		}
		size = int(uint16(size))
		if got := heads(&Lines{}, raw, size); !slices.Equal(got, want) {
			t.Errorf("the heads are %.200q, want %.200q", got, want)
		}
		var l Lines
		var all []byte
		for piece := range slices.Chunk(raw, max(size, 1)) {
			l.Feed(piece)
			for p, ok := l.Next(); ok; p, ok = l.Next() {
				all = append(all, p.Text...)
			}
		}
		l.End()
		for p, ok := l.Next(); ok; p, ok = l.Next() {
			all = append(all, p.Text...)
		}
		if !bytes.Equal(all, raw) {
			t.Errorf("the text is %.200q, want %.200q", all, raw)
		}
	})
}
