package store

import (
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// A segment's CRC is known to the Stream that has appended all of it, and to no other.
func TestWritten(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dir := memory(t)
		store := openStore(t, dir, configOf(how))
		must(t, store.Acquire(t.Context()))
		s := store.Stream("gc.log")
		_, _, err := s.Recover()
		must(t, err)
		if got := s.Written(); got.Whole || got.Segment != "" {
			t.Errorf("of nothing: %+v", got)
		}
		for n := range 3 {
			must(t, s.Append([]byte(strings.Repeat("line\n", 1000*(n+1)))))
		}
		_, err = s.Sync()
		must(t, err)
		store.SealAll()
		got := s.Written()
		text, err := os.ReadFile(s.seg.Path)
		must(t, err)
		if !got.Whole || got.Size != int64(len(text)) || got.CRC != crc32.Checksum(text, castagnoli) || got.Segment != s.Mark().Segment {
			t.Errorf("%+v, the file has %d bytes and CRC %x", got, len(text), crc32.Checksum(text, castagnoli))
		}

		must(t, s.Append([]byte("in the next one\n")))
		mark, err := s.Sync()
		must(t, err)
		must(t, s.Append([]byte("cut off\n")))
		s.Abandon()
		must(t, s.Resume(mark, Unbounded))
		must(t, s.Append([]byte("behind it\n")))
		_, err = s.Sync()
		must(t, err)
		if got := s.Written(); got.Whole || got.Segment != mark.Segment {
			t.Errorf("after a cut: %+v", got)
		}
	})
}
