package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestScreenShowsWhatATerminalWouldObey(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"[0.1s][info] größer →\n": "[0.1s][info] größer →\n",
		"a\tb\r\nc":               "a\tb\r\nc",
		"over\rwritten":           `over\x0dwritten`,
		"\x1b]0;title\x07\x1b[2J": `\x1b]0;title\x07\x1b[2J`,
		"\x00\x7f\u009b":          `\x00\x7f\u009b`,
		"\x9b31m \xff":            `\x9b31m \xff`,
		"a\u202egol\u2066":        `a\u202egol\u2066`,
		"cut: \xe2\x82":           `cut: \xe2\x82`,
		"end\r":                   `end\x0d`,
		`\x1b as text`:            `\x1b as text`,
	} {
		for size := 1; size <= max(1, len(text)); size++ {
			var out bytes.Buffer
			s := &Screen{w: &out}
			for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				if n, err := s.Write(rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
					t.Fatalf("Write returned %d, %v; want %d and no error", n, err, min(size, len(rest)))
				}
			}
			if err := s.Flush(); err != nil || out.String() != want {
				t.Errorf("%q in pieces of %d is shown as %q, want %q (%v)", text, size, &out, want, err)
			}
		}
	}
}

func TestOnlyATerminalIsAScreen(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if NewScreen(file) != nil || NewScreen(w) != nil || NewScreen(&bytes.Buffer{}) != nil {
		t.Error("NewScreen returned a Screen for a file, a pipe or a buffer, want nil")
	}
	if terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil {
		defer terminal.Close()
		if NewScreen(terminal) == nil {
			t.Error("NewScreen returned nil for a terminal, want a Screen")
		}
	}
}
