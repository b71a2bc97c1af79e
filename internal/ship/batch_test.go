package ship

import (
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

func TestLinesAreAppendedBeforeAFrameIsFull(t *testing.T) {
	for _, c := range []struct {
		name     string
		compress segment.Compression
		frame    int
		want     int
	}{
		{"plain", segment.None, 512 << 10, plainBatch},
		{"plain, small budget", segment.None, 32 << 10, 32 << 10},
		{"compressed", segment.Zstd, 512 << 10, packedBatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.SyncInterval = time.Hour
			b.cfg.Segment.Compress = c.compress
			w := b.log("gc.log")
			s, from := b.begun(true)
			s.begins(t, from)
			s.link.setFrame(b.cfg, c.frame)
			written := 0
			for written < c.want {
				if s.writer.taken.bytes > 0 {
					t.Fatalf("%d bytes were appended when %d had been written, want none below %d", s.writer.taken.bytes, written, c.want)
				}
				text := lines(written, written+200)
				b.write(w, text)
				written += len(text)
				s.rounds()
				if _, err := s.writer.work(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if s.writer.taken.bytes == 0 {
				t.Errorf("none of the %d written bytes were appended", written)
			}
		})
	}
}
