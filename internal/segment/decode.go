package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The first bytes of a frame (RFC 8878, 3.1.1 and 3.1.2; RFC 1952, 2.3).
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b, 0x08}
	errBlock  = errors.New("reserved block type or oversized block")
)

const maxZstdBlock = 128 << 10

// zstdFrame decodes the frame at the beginning of the window.
func (r *Reader) zstdFrame() (raw []byte, n int, err error) {
	n, skip, err := r.in.zstdLength()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil || skip {
		return nil, n, err
	}
	if r.zstd == nil {
		r.zstd, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), // no goroutines
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(r.limit)))
		if err != nil {
			return nil, 0, fmt.Errorf("make zstd decoder: %w", err)
		}
	}
	raw, err = r.zstd.DecodeAll(r.in.bytes()[:n], r.raw[:0])
	if err != nil {
		return nil, 0, err
	}
	r.raw = raw
	return raw, n, nil
}

// zstdLength computes the length of the frame at the beginning of the window from its
// header and the header of each block (RFC 8878, 3.1.1). It reads the whole frame.
// skip reports a skippable frame. The error is io.EOF if the file ends within the frame.
func (w *window) zstdLength() (n int, skip bool, err error) {
	if err := w.need(zstd.HeaderMaxSize); err != nil && err != io.EOF {
		return 0, false, err
	}
	var h zstd.Header
	if err := h.Decode(w.bytes()); err == io.ErrUnexpectedEOF {
		if !isPrefix(w.bytes(), zstdMagic) && w.bytes()[0]&0xf0 != 0x50 {
			return 0, false, errMagic
		}
		return 0, false, io.EOF
	} else if err != nil {
		return 0, false, err
	}
	n = h.HeaderSize
	if h.Skippable {
		if int64(h.SkippableSize) > int64(w.limit) {
			return 0, false, errTooLong
		}
		n += int(h.SkippableSize)
		return n, true, w.need(n)
	}
	if n, err = w.zstdBlocks(n); err != nil {
		return 0, false, err
	}
	if h.HasCheckSum {
		n += 4
	}
	return n, false, w.need(n)
}

// zstdBlocks steps over the blocks that begin at n and returns where they end.
func (w *window) zstdBlocks(n int) (int, error) {
	for last := false; !last; {
		if err := w.need(n + 3); err != nil {
			return 0, err
		}
		b := w.bytes()[n:]
		header := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		last = header&1 != 0
		size, kind := header>>3, header>>1&3
		if kind == 3 || size > maxZstdBlock {
			return 0, errBlock
		}
		if kind == 1 { // one byte, repeated
			size = 1
		}
		n += 3 + size
	}
	return n, nil
}

// isPrefix reports whether b is the beginning of magic or begins with magic.
func isPrefix(b, magic []byte) bool {
	n := min(len(b), len(magic))
	return bytes.Equal(b[:n], magic[:n])
}

// gzipMember decodes the member at the beginning of the window.
func (r *Reader) gzipMember() (raw []byte, n int, err error) {
	if err := r.in.need(len(gzipMagic)); err != nil && err != io.EOF {
		return nil, 0, err
	}
	if !isPrefix(r.in.bytes(), gzipMagic) {
		return nil, 0, errMagic
	}
	src := &source{in: &r.in}
	if r.gzip == nil {
		r.gzip = new(gzip.Reader)
	}
	if err = r.gzip.Reset(src); err == nil {
		r.gzip.Multistream(false)
		raw, err = r.readMember()
	}
	switch {
	case err == nil:
		return raw, src.n, nil
	case src.err == io.EOF:
		return nil, 0, io.ErrUnexpectedEOF
	case src.err != nil:
		return nil, 0, src.err
	}
	return nil, 0, err
}

// readMember reads to the end of one member. It fails if the member is larger than the limit.
func (r *Reader) readMember() ([]byte, error) {
	raw := r.raw[:0]
	for {
		if len(raw) == cap(raw) {
			grown := make([]byte, len(raw), max(firstBuf, min(2*cap(raw), r.limit+1)))
			copy(grown, raw)
			raw = grown
		}
		n, err := r.gzip.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if len(raw) > r.limit {
			return nil, errTooLong
		}
		if err == io.EOF {
			r.raw = raw
			return raw, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
