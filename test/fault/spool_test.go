package fault

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/spool"
	"github.com/ullage/ullage/test/lab"
)

// TestSpoolOnAFullTmpfs fills the tmpfs several times, so that no byte is left for lines. There is still room for
// records without lines: otherwise nothing could be dropped.
func TestSpoolOnAFullTmpfs(t *testing.T) {
	lab.NeedsRoot(t, "it mounts a tmpfs")
	dir := lab.Tmpfs(t, "8m")
	f, err := os.Create(filepath.Join(dir, "spool"))
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := spool.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var b spool.Block
	line := make([]byte, 200<<10)
	for i := range line {
		line[i] = byte(rand.Uint32()) // random bytes do not compress
	}
	for i := range int64(8) {
		lab.Fill(t, filepath.Join(dir, fmt.Sprint("filler-", i)))
		b.Begin(position.Content{}, "gc.log", i*int64(len(line)), line)
		b.Take(line, ul.Info, false, true)
		b.End.Offset = b.From + int64(len(line))
		r, err := l.Append(&b, spool.Without{})
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if !r.Empty() {
			t.Fatalf("record %d has lines, want none: the tmpfs is not full", i)
		}
	}
}
