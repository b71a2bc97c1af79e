package position

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPositionHoldsAsLongAsTheBytesBeforeItAreTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gc.log")
	text := strings.Repeat("0123456789abcde\n", 1000)
	for _, c := range []struct {
		name   string
		offset int64
		after  string // the later content of the file
		want   bool
	}{
		{"untouched", 1000, text, true},
		{"at the beginning", 0, text, true},
		{"at the end", int64(len(text)), text, true},
		{"grown", int64(len(text)), text + "more\n", true},
		{"shorter", 1000, text[:999], false},
		{"another byte right before it", 1000, text[:999] + "x" + text[1000:], false},
		{"another byte in the page before", PageSize + 10, "x" + text[1:], true}, // the page before may have been freed
		{"emptied, at the beginning", 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p, err := At(int(f.Fd()), c.offset)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.after), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := p.In(int(f.Fd())); got != c.want {
				t.Errorf("%+v holds: %v, want %v", p, got, c.want)
			}
		})
	}
}

func TestPositionBehindTheEndIsAnError(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "gc.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := At(int(f.Fd()), 10); err == nil {
		t.Errorf("an empty file has the position %+v, want an error", p)
	}
}

// A checkpoint may contain any numbers.
func TestPositionThatCannotBe(t *testing.T) {
	for _, p := range []Position{
		{Offset: -1}, {Offset: 10, CheckLen: 11}, {Offset: 10, CheckLen: -1}, {Offset: PageSize + 1, CheckLen: 2}, {Level: 99},
	} {
		if p.Valid() {
			t.Errorf("%+v is valid, want invalid", p)
		}
	}
}

func TestSpanStaysInThePageOfTheByteBefore(t *testing.T) {
	for offset, want := range map[int64]int{0: 0, 1: 1, 63: 63, 64: 64, PageSize: 64, PageSize + 1: 1, PageSize + 65: 64} {
		if got := Span(offset); got != want {
			t.Errorf("the span before %d is %d, want %d", offset, got, want)
		}
	}
}
