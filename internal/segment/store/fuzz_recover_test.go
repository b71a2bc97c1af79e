package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

// FuzzRecover cuts a segment and flips a byte of it: the kept bytes must be a prefix of the
// appended bytes, and the stream must continue after them.
func FuzzRecover(f *testing.F) {
	for how := range allCompressions {
		f.Add(uint8(how), uint16(0), uint16(0), uint8(0), uint8(0))
		f.Add(uint8(how), uint16(100), uint16(0), uint8(0), uint8(9))
		f.Add(uint8(how), uint16(0), uint16(700), uint8(4), uint8(0))
		f.Add(uint8(how), uint16(5), uint16(1200), uint8(128), uint8(200))
	}
	batches := [][]byte{lines(1, 2000), lines(2, 90), lines(3, 4000), lines(4, 300)}
	whole := join(batches...)
	f.Fuzz(func(t *testing.T, how uint8, cut, at uint16, flip, zeros uint8) {
		format := allCompressions[int(how)%len(allCompressions)]
		var data []byte
		for _, b := range batches {
			data = append(data, encoded(t, format, b)...)
		}
		data = data[:len(data)-int(cut)%len(data)]
		if format != segment.None { // without compression, no checksum reveals a flip
			data[int(at)%len(data)] ^= flip
		}
		data = append(data, make([]byte, zeros)...)
		dest := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dest, "gc"), 0o750))
		name := segment.FileName(time.Unix(0, 0), 1, format)
		must(t, os.WriteFile(filepath.Join(dest, "gc", name), data, 0o640))
		s, err := Open(dest, configOf(format), nil, nil)
		must(t, err)
		defer s.Close()
		str := s.Stream("gc")
		tail, lost, err := str.Recover()
		must(t, err)
		kept := contents(t, dest, "gc")
		if !bytes.HasPrefix(whole, kept) || !bytes.Equal(tail, last(kept, TailBytes)) {
			t.Fatalf("kept %d bytes, tail of %d; want a prefix of what was written, and its last %d bytes", len(kept), len(tail), len(last(kept, TailBytes)))
		}
		if str.Mark().Offset != int64(len(data))-lost {
			t.Fatalf("mark %+v, lost %d of %d; want Offset %d", str.Mark(), lost, len(data), int64(len(data))-lost)
		}
		appendAll(t, str, lines(5, 100))
		sync(t, str)
		wantContents(t, dest, "gc", join(kept, lines(5, 100)))
	})
}

// encoded returns the frame that Append writes.
func encoded(t testing.TB, how segment.Compression, raw []byte) []byte {
	t.Helper()
	e, err := newEncoder(how)
	must(t, err)
	return bytes.Clone(e.encode(raw))
}
