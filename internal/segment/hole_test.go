package segment_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// withHoles reads a file without frames. In the text it returns, (hole) stands for each hole and (torn) for a cut end.
func withHoles(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, data, 0o640))
	r := openReader(t, path)
	var text []byte
	for {
		raw, err := r.Next()
		var bad *segment.CorruptionError
		switch {
		case err == nil:
			text = append(text, raw...)
			continue
		case errors.Is(err, io.EOF):
			if r.Offset() != int64(len(data)) {
				t.Fatalf("reading ended at %d of %d, want the end", r.Offset(), len(data))
			}
			return string(text)
		case errors.As(err, &bad):
			text = append(text, "(hole)"...)
		case errors.Is(err, io.ErrUnexpectedEOF):
			text = append(text, "(torn)"...)
		default:
			t.Fatal(err)
		}
		from, to, err := r.Resync()
		if err != nil || to <= from || len(bytes.Trim(data[from:to], "\x00")) > 0 {
			t.Fatalf("skipped %d to %d: %v; want some bytes, all of them zero, and no error", from, to, err)
		}
	}
}

func TestZerosOfAPowerCutAreDamage(t *testing.T) {
	line := strings.Repeat("x", 299) + "\n" // so the first sector ends 212 bytes later
	nul := func(n int) string { return strings.Repeat("\x00", n) }
	for name, c := range map[string]struct{ data, want string }{
		"no NUL":                        {line + line, line + line},
		"the rest of a sector":          {line + nul(212) + line, line + "(hole)" + line},
		"... and further ones":          {line + nul(212+4096) + line, line + "(hole)" + line},
		"at the beginning":              {nul(512) + line, "(hole)" + line},
		"a sector inside of lines":      {line + line[:212] + nul(512) + line, line + line[:212] + "(hole)" + line},
		"two holes":                     {line + nul(212) + line + nul(212) + line, line + "(hole)" + line + "(hole)" + line},
		"more than a block":             {line + nul(212+1<<20) + line, line + "(hole)" + line},
		"at the end":                    {line + nul(100), line + "(torn)"},
		"a whole sector of a long line": {line[:100] + nul(412+512) + line, line[:100] + nul(412) + "(hole)" + line},
		"NULs in a line":                {line + "a" + nul(211) + line, line + "a" + nul(211) + line},
		"NULs that end a line":          {line + "a" + nul(210) + "\n" + line, line + "a" + nul(210) + "\n" + line},
		"NULs that begin a line":        {line + nul(200) + line, line + nul(200) + line},
		"more than a sector of NULs, ending inside a sector": {line + nul(600) + line, line + nul(600) + line},
		"more than a block of NULs, ending inside a sector":  {line + nul(1<<20) + line, line + nul(1<<20) + line},
		"NULs at the end, inside a line":                     {line + "a" + nul(20), line + "a" + nul(20)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withHoles(t, "20261120T100000.000Z-000001.log", []byte(c.data)); got != c.want {
				t.Errorf("got %d bytes %.700q, want %d bytes %.700q", len(got), got, len(c.want), c.want)
			}
			if got := withHoles(t, "other.log", []byte(c.data)); got != c.data {
				t.Errorf("the file is not a segment: got %d bytes, want all %d", len(got), len(c.data))
			}
		})
	}
}
