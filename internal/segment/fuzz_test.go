package segment_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// FuzzReader reads arbitrary bytes as a segment. The reader must not panic and must end, and its memory and the size of
// each frame are bounded.
func FuzzReader(f *testing.F) {
	for _, how := range allCompressions {
		one, two := frameOf(f, how, lines(1, 300)), frameOf(f, how, lines(2, 5000))
		f.Add(uint8(how), join(one, two))
		f.Add(uint8(how), join(one, two[:len(two)/2]))
		f.Add(uint8(how), join(one[:len(one)-3], make([]byte, 50), two))
		f.Add(uint8(how), join(one, []byte{0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}, two))
	}
	f.Add(uint8(segment.Zstd), bytes.Repeat(segment.ZstdMagic, 300))
	f.Add(uint8(segment.Gzip), bytes.Repeat(segment.GzipMagic, 300))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		path := filepath.Join(dir, segment.FileName(time.Time{}, 1, allCompressions[int(how)%len(allCompressions)]))
		must(t, os.WriteFile(path, data, 0o600))
		r, err := segment.OpenReader(path)
		must(t, err)
		defer r.Close()
		for steps := 0; ; steps++ {
			if steps > 2*len(data)+2 {
				t.Fatal("the reader never reached the end")
			}
			before := r.Offset()
			raw, err := r.Next()
			if len(raw) > segment.ReadFrame || r.Window() > segment.ReadFrame {
				t.Fatalf("a frame has %d bytes, with a window of %d; want at most %d", len(raw), r.Window(), segment.ReadFrame)
			}
			var bad *segment.CorruptionError
			var torn *segment.TornError
			switch {
			case err == nil && r.Offset() > before && len(raw) > 0:
			case err == io.EOF && r.Offset() == int64(len(data)):
				return
			case errors.As(err, &bad), errors.As(err, &torn):
				from, to, err := r.Resync()
				must(t, err)
				if to <= from || to != r.Offset() || to > int64(len(data)) {
					t.Fatalf("skipped %d to %d of %d, want some bytes, up to the offset %d", from, to, len(data), r.Offset())
				}
			default:
				t.Fatalf("at offset %d of %d: %d bytes, error %v; want a frame, the end or damage", r.Offset(), len(data), len(raw), err)
			}
		}
	})
}
