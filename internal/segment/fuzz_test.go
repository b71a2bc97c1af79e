package segment

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReader reads arbitrary bytes as a segment: it must not panic, it must
// end, and its memory and each frame are bounded.
func FuzzReader(f *testing.F) {
	for _, how := range allCompressions {
		one, two := frameOf(f, how, lines(1, 300)), frameOf(f, how, lines(2, 5000))
		f.Add(uint8(how), join(one, two))
		f.Add(uint8(how), join(one, two[:len(two)/2]))
		f.Add(uint8(how), join(one[:len(one)-3], make([]byte, 50), two))
		f.Add(uint8(how), join(one, []byte{0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}, two))
	}
	f.Add(uint8(Zstd), bytes.Repeat(zstdMagic, 300))
	f.Add(uint8(Gzip), bytes.Repeat(gzipMagic, 300))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		path := filepath.Join(dir, "fuzz"+compressions[int(how)%len(compressions)].suffix)
		must(t, os.WriteFile(path, data, 0o600))
		r, err := OpenReader(path)
		must(t, err)
		defer r.Close()
		for steps := 0; ; steps++ {
			if steps > 2*len(data)+2 {
				t.Fatal("no end")
			}
			before := r.Offset()
			raw, err := r.Next()
			if len(raw) > readFrame || cap(r.in.buf) > readFrame {
				t.Fatalf("a frame of %d, a window of %d", len(raw), cap(r.in.buf))
			}
			var bad *CorruptionError
			var torn *TornError
			switch {
			case err == nil && r.Offset() > before && len(raw) > 0:
			case err == io.EOF && r.Offset() == int64(len(data)):
				return
			case errors.As(err, &bad), errors.As(err, &torn):
				from, to, err := r.Resync()
				must(t, err)
				if to <= from || to != r.Offset() || to > int64(len(data)) {
					t.Fatalf("skipped %d to %d of %d", from, to, len(data))
				}
			default:
				t.Fatalf("at %d of %d: %d bytes, %v", r.Offset(), len(data), len(raw), err)
			}
		}
	})
}

// FuzzRecover cuts a segment and flips a byte of it: what is kept must be a
// prefix of what was appended, and the stream must continue behind it.
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
		format := Compression(how % uint8(len(compressions)))
		var data []byte
		for _, b := range batches {
			data = append(data, frameOf(t, format, b)...)
		}
		data = data[:len(data)-int(cut)%len(data)]
		if format != None { // which has nothing to find a flip by
			data[int(at)%len(data)] ^= flip
		}
		data = append(data, make([]byte, zeros)...)
		dest := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dest, "gc"), 0o750))
		name := "20261120T100000.000Z-000001" + compressions[format].suffix
		must(t, os.WriteFile(filepath.Join(dest, "gc", name), data, 0o640))
		s, err := Open(dest, configOf(format), nil, nil)
		must(t, err)
		defer s.Close()
		str := s.Stream("gc")
		tail, lost, err := str.Recover()
		must(t, err)
		kept := contents(t, dest, "gc")
		if !bytes.HasPrefix(whole, kept) || !bytes.Equal(tail, last(kept, TailBytes)) {
			t.Fatalf("kept %d bytes, not a prefix, or tail of %d", len(kept), len(tail))
		}
		if str.Mark().Offset != int64(len(data))-lost {
			t.Fatalf("mark %+v, lost %d of %d", str.Mark(), lost, len(data))
		}
		appendAll(t, str, lines(5, 100))
		sync(t, str)
		wantContents(t, dest, "gc", join(kept, lines(5, 100)))
	})
}
