package ship

import (
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/segment/summary"
	"github.com/ullage/ullage/internal/ship/queue"
	"github.com/ullage/ullage/internal/ship/tail"
)

// running sums up the newest segment of a stream while it is appended to, from what the
// reader has counted already: nothing is done for each line.
type running struct {
	segment string
	sum     summary.Sum
	partly  bool // a frame of the spool is in it, whose lines the writer has not seen
}

// frame takes a frame that was appended, or tried to be; raw is nil where only its
// compressed bytes are known.
func (r *running) frame(to *store.Stream, raw []byte) {
	if name := to.Written().Segment; name != r.segment {
		*r = running{segment: name}
	}
	r.partly = r.partly || raw == nil
	r.sum.Frame(raw)
}

// count adds the lines of a chunk whose bytes frame was called with.
func (r *running) count(c *queue.Chunk[tail.Chunk]) {
	for level, n := range c.Meta.Lines {
		r.sum.Lines[level] += uint64(n)
	}
	if c.Meta.Made > 0 && c.Meta.Frame == 0 {
		r.sum.Markers(c.Data)
	}
}

// sealed hands over, to onSeal if that is not nil, the sum of the newest segment of a stream,
// which is sealed, and begins anew. A segment that another process began, or that was cut, is
// not known.
func (r *running) sealed(of *store.Stream, onSeal func(stream, segment string, sum summary.Segment)) {
	is, was := of.Written(), *r
	*r = running{}
	if onSeal != nil && is.Whole && is.Segment == was.segment && !was.partly {
		onSeal(of.Name(), is.Segment, summary.Segment{Sum: was.sum, Size: is.Size, CRC: is.CRC})
	}
}
