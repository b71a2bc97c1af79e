package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// If a link replaces a segment after it was listed, the link is not followed: a process that can write to the volume
// could point it at any file.
func TestRunsAheadAreNotLookedForThroughALink(t *testing.T) {
	dir := t.TempDir()
	name := "20261120T120000.000Z-000001.log"
	seg := segment.Info{Name: name, Path: filepath.Join(dir, name), Compress: segment.None}
	text := []byte("[1.000s][info][gc] one\n[7.000s][info][gc] two\n[0.500s][info][gc] of another JVM\n")
	if err := os.WriteFile(seg.Path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ends, ok := endsUntil(seg, 0, int64(len(text)), nil)
	if want := (Ends{7 * time.Second, time.Second / 2}); !ok || len(ends) != 2 || ends[0] != want[0] || ends[1] != want[1] {
		t.Fatalf("%v, %v, want %v", ends, ok, want)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.Rename(seg.Path, secret); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, seg.Path); err != nil {
		t.Fatal(err)
	}
	if ends, ok := endsUntil(seg, 0, int64(len(text)), nil); ok {
		t.Errorf("found %v through a link, want nothing", ends)
	}
}
