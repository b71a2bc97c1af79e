package tail

import (
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// A dropped record, a hole, and a record with lines follow each other. The marker and the
// frame of lines must be two chunks, since a chunk with a frame holds only that frame.
func TestMarkerInFrontOfAHoleIsNoPartOfAFrame(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Frames = true })
	w := r.writer("gc.log")
	r.write(w, strings.Repeat("x", position.PageSize-1)+"\n") // the line fills a page, so the hole begins where the line's record ends
	if err := os.Truncate(r.path("gc.log"), 64<<10); err != nil {
		t.Fatal(err)
	}
	r.write(w, uls("kept", "info", 2000))
	r.move()
	oldest := everything
	oldest.Want = 1
	if r.src.Relief.Drop(ul.DropAll, oldest) == 0 {
		t.Fatal("nothing was dropped")
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	var lines []byte
	frames := 0
	for {
		n, c, ok := r.src.Reader.Next(r.area)
		if !ok {
			break
		}
		if c.Frame == 0 {
			lines = append(lines, r.area[:n]...)
			continue
		}
		frames++
		if lines, err = decoder.DecodeAll(r.area[:n], lines); err != nil {
			t.Fatalf("a chunk of %d bytes, %d of them markers, is not a frame: %v", n, c.Made, err)
		}
	}
	total, n := markers(string(lines))
	if whole := strings.Count(string(lines), "\n") - n; frames == 0 || n != 1 || total != 1 || whole != 2000 {
		t.Errorf("%d frames, %d lines, %d markers of %d lines; want some frames, 2000 lines, and 1 marker of 1 line", frames, whole, n, total)
	}
}
