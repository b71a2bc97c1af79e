package ship

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// TestCommitThatFailsForOneStreamRepeatsNothingOfAnother removes the active segment of one
// stream, whose sync then fails. The other stream is synced before or after it by chance,
// so there are several rounds.
func TestCommitThatFailsForOneStreamRepeatsNothingOfAnother(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.Compress = segment.None
	b.start()
	var fine, broken strings.Builder
	for round := range 12 {
		text := lines(round*100, round*100+100)
		fine.WriteString(text)
		broken.WriteString(text)
		b.appendTo("fine.log", text)
		b.appendTo("broken.log", text)
		last := text[strings.LastIndexByte(text[:len(text)-1], '\n')+1:]
		b.eventually("both streams have the round's lines", func() bool {
			return strings.HasSuffix(b.persisted("fine.log"), last) && strings.HasSuffix(b.persisted("broken.log"), last)
		})
		removeNewest(t, filepath.Join(b.cfg.Dest, "broken.log"))
	}
	b.drain()
	if got := b.persisted("fine.log"); got != fine.String() {
		t.Fatalf("persisted %d bytes of the other stream, want %d", len(got), fine.Len())
	}
}

func removeNewest(t *testing.T, dir string) {
	t.Helper()
	infos, err := segment.List(dir)
	if err != nil || len(infos) == 0 {
		t.Fatalf("%d segments in %s, error %v; want at least one and no error", len(infos), dir, err)
	}
	if err := os.Remove(infos[len(infos)-1].Path); err != nil {
		t.Fatal(err)
	}
}
