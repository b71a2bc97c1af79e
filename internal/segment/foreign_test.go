package segment_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ullage/ullage/internal/segment"
)

func TestAForeignFileMayReferBackAsFarAsZstdcatReads(t *testing.T) {
	const text = "a line\n"
	for _, c := range []struct {
		window byte // descriptor of the frame (RFC 8878, 3.1.1.1.2)
		size   uint64
		fits   bool
	}{
		{window: 17 << 3, size: segment.ForeignWindow, fits: true},
		{window: 17<<3 | 1, size: segment.ForeignWindow / 8 * 9},
	} {
		frame := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, c.window, byte(1 | len(text)<<3), 0, 0}, text...)
		var h zstd.Header
		if err := h.Decode(frame); err != nil || h.WindowSize != c.size {
			t.Fatalf("the test's frame has a window of %d bytes, want %d: %v", h.WindowSize, c.size, err)
		}
		r, err := segment.Decode(bytes.NewReader(frame), segment.Zstd)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if c.fits && (err != nil || string(got) != text) || !c.fits && err == nil {
			t.Errorf("a window of %d MiB (fits: %v): got %q, error %v; want %q and no error, or an error if it does not fit",
				c.size>>20, c.fits, got, err, text)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
