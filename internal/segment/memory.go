package segment

import (
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// keepBytes bounds each buffer that a Memory keeps.
const keepBytes = 1 << 20

// Memory holds the buffers and decoders of Followers that are used one after another. A
// Follower takes them when it opens a segment and returns them when it closes the segment. The
// zero value is empty. A Memory is not safe for concurrent use.
type Memory struct {
	raw, disk []byte
	zstd      *zstd.Decoder
	gzip      *gzip.Reader
}

// lend moves the buffers and decoders of m to r. A nil Memory has none.
func (m *Memory) lend(r *Reader) {
	if m == nil {
		return
	}
	r.raw, r.in.buf, r.zstd, r.gzip = m.raw[:0], m.disk[:0], m.zstd, m.gzip
	*m = Memory{}
}

// keep moves the buffers and decoders of r to m, before r is closed.
func (m *Memory) keep(r *Reader) {
	if m == nil {
		return
	}
	m.raw, m.disk, m.zstd, m.gzip = small(r.raw), small(r.in.buf), r.zstd, r.gzip
	r.raw, r.in.buf, r.in.lo, r.zstd, r.gzip = nil, nil, 0, nil, nil
}

func small(buf []byte) []byte {
	if cap(buf) > keepBytes {
		return nil
	}
	return buf
}
