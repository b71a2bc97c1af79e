package fault

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// The node loses power: the tmpfs and the checkpoint on it are gone, and the unsynced end of the newest segment may
// be in any state.
func TestPowerCut(t *testing.T) {
	for _, compress := range []string{"zstd", "none"} {
		for _, c := range []struct {
			name string
			tear func(segment []byte) []byte
		}{
			{"truncated", func(s []byte) []byte { return s[:len(s)-len(s)/3-1] }},
			{"zeros", func(s []byte) []byte { return append(s, make([]byte, 10_000)...) }},
			{"zeros_inside", func(s []byte) []byte { clear(s[len(s)-len(s)/4-1:]); return s }},
			{"half_a_frame", func(s []byte) []byte { return append(s, s[:len(s)/2]...)[:len(s)+37] }},
			{"garbage", func(s []byte) []byte { _, _ = rand.Read(s[len(s)-50:]); return s }},
		} {
			if compress == "none" && c.name == "garbage" {
				continue // without frames, garbage cannot be distinguished from lines
			}
			t.Run(compress+"/"+c.name, func(t *testing.T) { powerCut(t, compress, c.tear) })
		}
	}
}

func powerCut(t *testing.T, compress string, tear func([]byte) []byte) {
	flags := []string{"--compress", compress, "--sync-interval", "20ms", "--segment-bytes", "32Ki"}
	source, dest := lab.Tmpfs(t, "32m"), t.TempDir()
	side := lab.Run(t, source, dest, flags...)
	before := lab.NewWriter(lab.Output{Path: filepath.Join(source, stream), Seed: 1})
	for range 8 { // commits
		write(t, before, 500)
		lab.Eventually(t, patience, "all lines are persisted", func() bool {
			var text bytes.Buffer
			err := lab.ReadStream(&text, dest, stream)
			return err == nil && int64(text.Len()) == before.Bytes()
		})
	}
	side.Kill()
	whole := tearLast(t, dest, tear)

	source = lab.Tmpfs(t, "32m")
	side = lab.Run(t, source, dest, flags...)
	again := lab.NewWriter(lab.Output{Path: filepath.Join(source, stream), Seed: 2})
	write(t, again, 3000)
	lab.Eventually(t, patience, "the torn end is counted", func() bool {
		cut, err := side.Metric("ullage_recovered_cut_bytes_total")
		return err == nil && cut > 0
	})
	if err := side.Stop(patience); err != nil {
		t.Error(err)
	}
	var text bytes.Buffer
	if err := lab.ReadStream(&text, dest, stream); err != nil {
		t.Fatal(err)
	}
	kept, ok := bytes.CutSuffix(text.Bytes(), textOf(2, again.Written()))
	if !ok {
		t.Fatalf("the lines written after the power cut are not at the end; the sidecar said:\n%s", side.Stderr())
	}
	if written := textOf(1, before.Written()); !bytes.HasPrefix(written, kept) || len(kept) > 0 && kept[len(kept)-1] != '\n' {
		t.Error("the kept text has a cut or foreign line, want a beginning of the written text that ends with a whole line")
	}
	if len(kept) < whole {
		t.Errorf("%d bytes were kept, want at least the %d in intact segments", len(kept), whole)
	}
}

// write writes lines at once and closes the file.
func write(t *testing.T, w *lab.Writer, lines int) {
	t.Helper()
	if err := w.Write(lines); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// textOf returns at least that many lines of a seed.
func textOf(seed uint64, lines int) []byte {
	var text []byte
	for l := lab.NewLines(seed, 0); l.Count() < lines; {
		text = append(text, l.Next()...)
	}
	return text
}

// tearLast damages the newest segment and returns how many decoded bytes the other segments have.
func tearLast(t *testing.T, dest string, tear func([]byte) []byte) (whole int) {
	t.Helper()
	paths, err := lab.Segments(dest, stream)
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d segments, error %v; want at least 2 segments and no error", len(paths), err)
	}
	last := paths[len(paths)-1]
	var text bytes.Buffer
	for _, path := range paths[:len(paths)-1] {
		if err := lab.ReadSegment(&text, path); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(last, tear(data), 0o640); err != nil {
		t.Fatal(err)
	}
	return text.Len()
}
