package sink

import (
	"errors"
	"io"
	"io/fs"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
)

// segmentFeed supplies the sealed segments of one stream unchanged.
type segmentFeed struct {
	done  cursor
	left  []segment.Info // sealed, but not acknowledged
	batch Batch
}

// newSegmentFeed returns a feed that begins after c. committed is as in
// [segment.FollowOptions].
func newSegmentFeed(dir, stream string, c cursor, committed func() (segment.Mark, bool)) (*segmentFeed, error) {
	all, err := segment.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &segmentFeed{done: c, batch: Batch{Stream: stream}}
	mark, growing := committed()
	last, known := segment.ParseName(mark.Segment)
	if growing && !known {
		return f, nil // nothing is committed
	}
	have, _ := segment.ParseName(c.Segment)
	if n := len(all); n > 0 && all[n-1].Seq < have.Seq {
		have = segment.Info{} // another stream of the same name, whose numbers begin at one again
	}
	for _, seg := range all {
		sealed := !growing || seg.Seq < last.Seq || seg.Seq == last.Seq && mark.Sealed
		if sealed && seg.Seq > have.Seq {
			f.left = append(f.left, seg)
		}
	}
	return f, nil
}

// next returns the next segment. It must be acknowledged before next is called again.
// The error is io.EOF if no other segment is sealed.
func (f *segmentFeed) next() (*Batch, error) {
	if len(f.left) == 0 {
		return nil, io.EOF
	}
	f.batch.Segment, f.batch.Bytes = f.left[0], f.left[0].Size
	return &f.batch, nil
}

// acknowledge moves the cursor past the segment and returns it.
func (f *segmentFeed) acknowledge() cursor {
	f.done, f.left = cursor{Segment: f.left[0].Name, Level: ul.Unknown}, f.left[1:]
	return f.done
}

func (f *segmentFeed) close() {}
