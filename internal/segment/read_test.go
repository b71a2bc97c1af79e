package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/segment"
)

// frameOf encodes bytes as one frame.
func frameOf(t testing.TB, how segment.Compression, raw []byte) []byte {
	t.Helper()
	switch how {
	case segment.Zstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		must(t, err)
		defer e.Close()
		return e.EncodeAll(raw, nil)
	case segment.Gzip:
		var frame bytes.Buffer
		e := gzip.NewWriter(&frame)
		_, err := e.Write(raw)
		must(t, err)
		must(t, e.Close())
		return frame.Bytes()
	}
	return raw
}

func segmentFile(t testing.TB, how segment.Compression, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), segment.FileName(time.Unix(0, 0), 1, how))
	must(t, os.WriteFile(path, data, 0o640))
	return path
}

func openReader(t testing.TB, path string) *segment.Reader {
	t.Helper()
	r, err := segment.OpenReader(path)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

func TestGrowingSegmentIsFollowedByteByByte(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.Gzip} {
		t.Run(how.String(), func(t *testing.T) {
			path := segmentFile(t, how, nil)
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			defer file.Close()
			r := openReader(t, path)
			var offset int64
			for i := range 3 {
				raw := lines(int64(i), 300)
				for _, b := range frameOf(t, how, raw) {
					if _, err := r.Next(); err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatalf("inside a frame, the error is %v, want %v or %v", err, io.EOF, io.ErrUnexpectedEOF)
					}
					if r.Offset() != offset {
						t.Fatalf("inside a frame, the offset is %d, want that of the frame, %d", r.Offset(), offset)
					}
					_, err := file.Write([]byte{b})
					must(t, err)
				}
				got, err := r.Next()
				if err != nil || !bytes.Equal(got, raw) {
					t.Fatalf("frame %d has %d bytes, error %v; want the %d that were written and no error", i, len(got), err, len(raw))
				}
				offset = r.Offset()
			}
		})
	}
}

func TestPlainFileIsReadInBoundedBlocks(t *testing.T) {
	want := lines(1, 3*segment.PlainBytes)
	path := filepath.Join(t.TempDir(), "anything.txt")
	must(t, os.WriteFile(path, want[:len(want)-10], 0o640))
	r := openReader(t, path)
	var got []byte
	for len(got) < len(want) {
		b, err := r.Next()
		if err == io.EOF { // then it grows
			must(t, os.WriteFile(path, want, 0o640))
			continue
		}
		must(t, err)
		if len(b) > segment.PlainBytes {
			t.Fatalf("a block has %d bytes, want at most %d", len(b), segment.PlainBytes)
		}
		got = append(got, b...)
	}
	if !bytes.Equal(got, want) || r.Offset() != int64(len(want)) {
		t.Fatalf("%d bytes were read up to the offset %d, want exactly the %d bytes of the file", len(got), r.Offset(), len(want))
	}
}

func TestResyncSkipsExactlyTheDamage(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.Gzip} {
		t.Run(how.String(), func(t *testing.T) {
			one, two, three := lines(1, 3000), lines(2, 2000), lines(3, 1000)
			a, b, c := frameOf(t, how, one), frameOf(t, how, two), frameOf(t, how, three)
			broken := bytes.Clone(b)
			broken[len(b)/2] ^= 0x10
			magic := segment.ZstdMagic
			if how == segment.Gzip {
				magic = segment.GzipMagic
			}
			for name, damage := range map[string][]byte{
				"flip": broken, "zeros": make([]byte, 100000), "noise": noise(5000), "one byte": {7},
				"half a frame": b[:len(b)/2], "false beginnings": bytes.Repeat(magic, 50),
				"a beginning that claims a long frame": append(bytes.Clone(b[:12]), 0xff, 0xff),
			} {
				t.Run(name, func(t *testing.T) {
					r := openReader(t, segmentFile(t, how, join(a, damage, c)))
					got, err := r.Next()
					if err != nil || !bytes.Equal(got, one) {
						t.Fatalf("the first frame has %d bytes, error %v; want the %d that were written and no error", len(got), err, len(one))
					}
					_, err = r.Next()
					var bad *segment.CorruptionError
					var torn *segment.TornError // if it claims to go on past the end
					if !errors.As(err, &bad) && !errors.As(err, &torn) || r.Offset() != int64(len(a)) {
						t.Fatalf("damage at %d: %v; want a CorruptionError or a TornError at %d", r.Offset(), err, len(a))
					}
					from, to, err := r.Resync()
					if err != nil || from != int64(len(a)) || to != int64(len(a)+len(damage)) {
						t.Fatalf("skipped %d to %d: %v; want %d to %d and no error", from, to, err, len(a), len(a)+len(damage))
					}
					if got, err = r.Next(); err != nil || !bytes.Equal(got, three) {
						t.Fatalf("the last frame has %d bytes, error %v; want the %d that were written and no error", len(got), err, len(three))
					}
					if _, err = r.Next(); err != io.EOF {
						t.Fatal(err)
					}
				})
			}
		})
	}
}

func TestResyncAtTheEndOfTheFile(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.Gzip} {
		frame := frameOf(t, how, lines(1, 300))
		for name, c := range map[string]struct {
			behind []byte
			stop   int // where Resync stops, in bytes after the frame
			then   error
		}{
			"zeros":                   {make([]byte, 5000), 5000, io.EOF},
			"zeros, half a frame":     {join(make([]byte, 10), frame[:len(frame)/2]), 10, io.ErrUnexpectedEOF},
			"zeros, half a beginning": {join(make([]byte, 10), frame[:2]), 10, io.ErrUnexpectedEOF},
		} {
			t.Run(how.String()+" "+name, func(t *testing.T) {
				r := openReader(t, segmentFile(t, how, join(frame, c.behind)))
				_, err := r.Next()
				must(t, err)
				_, to, err := r.Resync()
				if err != nil || to != int64(len(frame)+c.stop) {
					t.Fatalf("stopped at %d: %v; want %d and no error", to-int64(len(frame)), err, c.stop)
				}
				if _, err := r.Next(); !errors.Is(err, c.then) {
					t.Fatal(err)
				}
				if from, to, err := r.Resync(); c.then == io.EOF && (from != to || err != nil) {
					t.Fatalf("skipped %d to %d after the end: %v; want nothing and no error", from, to, err)
				}
			})
		}
	}
}

func TestFramesOfOtherWriters(t *testing.T) {
	raw := lines(1, 300000)
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	for name, option := range map[string][]zstd.EOption{
		"no checksum": {zstd.WithEncoderCRC(false)},
		"best":        {zstd.WithEncoderLevel(zstd.SpeedBestCompression)},
		"zero frames": {zstd.WithZeroFrames(true)},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := zstd.NewWriter(nil, append(option, zstd.WithEncoderConcurrency(1))...)
			must(t, err)
			var stream bytes.Buffer
			e.Reset(&stream) // no content size in the header
			_, err = e.Write(raw)
			must(t, err)
			must(t, e.Close())
			data := join(skippable, e.EncodeAll(raw, nil), e.EncodeAll(nil, nil), skippable, stream.Bytes(),
				e.EncodeAll(make([]byte, 1<<20), nil), skippable)
			if got := decode(t, segmentFile(t, segment.Zstd, data)); !bytes.Equal(got, join(raw, raw, make([]byte, 1<<20))) {
				t.Fatalf("the segment has %d bytes, want exactly the bytes that were written", len(got))
			}
		})
	}
}

func TestFrameOverTheBoundIsDamage(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.Gzip} {
		for _, size := range []int{segment.ReadFrame, segment.ReadFrame + 1} {
			r := openReader(t, segmentFile(t, how, frameOf(t, how, make([]byte, size))))
			raw, err := r.Next()
			var bad *segment.CorruptionError
			if fits := size <= segment.ReadFrame; fits && len(raw) != size || !fits && !errors.As(err, &bad) {
				t.Errorf("a %s frame of %d bytes is read as %d, error %v; want a frame of up to %d bytes as a whole, and a CorruptionError for a larger one",
					how, size, len(raw), err, segment.ReadFrame)
			}
			if c := r.Window(); c > segment.ReadFrame {
				t.Errorf("the window has %d bytes, want at most %d", c, segment.ReadFrame)
			}
		}
	}
}

func TestReaderTakesOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.log")
	must(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{dir, fifo, filepath.Join(dir, "missing")} {
		if _, err := segment.OpenReader(path); err == nil {
			t.Errorf("OpenReader opened %s, want an error", path)
		}
	}
}

func TestErrorOfReadingIsNotDamage(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		path := segmentFile(t, how, frameOf(t, how, lines(1, 300)))
		r := openReader(t, path)
		closed, err := os.Open(path)
		must(t, err)
		must(t, closed.Close())
		good := r.ReadFrom(closed)
		_, err = r.Next()
		var bad *segment.CorruptionError
		if !errors.Is(err, os.ErrClosed) || errors.As(err, &bad) {
			t.Fatal(err)
		}
		r.ReadFrom(good)
		_, err = r.Next()
		must(t, err)
	})
}

func TestErrorTextsNameThePlace(t *testing.T) {
	torn := &segment.TornError{Path: "a.log.zst", Offset: 7}
	bad := &segment.CorruptionError{Path: "a.log.zst", Offset: 7, Err: segment.ErrMagic}
	for _, err := range []error{torn, bad} {
		if text := fmt.Sprint(err); !bytes.Contains([]byte(text), []byte("byte 7 of a.log.zst")) {
			t.Errorf(`the error is %q, want "byte 7 of a.log.zst" in it`, text)
		}
	}
	if !errors.Is(bad, segment.ErrMagic) || !errors.Is(torn, io.ErrUnexpectedEOF) {
		t.Error("the errors do not wrap their causes, want ErrMagic and io.ErrUnexpectedEOF")
	}
}
