package segment

import (
	"bytes"
	"io"
	"time"

	"github.com/ullage/ullage/internal/segment/seek"
)

// since decides what a Follower skips: lines that were written before a time, and segments that
// the caller passes over. The zero value skips nothing.
type since struct {
	time time.Time
	seek *seek.Index
	pass func(Info) bool
}

// skips reports whether all of seg was written before the time. A line is written before it is
// persisted, and the last line of a segment is persisted before the next segment is created. So
// seg is before the time if the time in the next segment's name is. Equal times are not enough,
// because names and lines show only milliseconds. If files were named in another order, or the
// clock was set back and the names or the seek file show that, skips returns false.
func (s since) skips(seg, next Info) bool {
	if seg.Start.IsZero() || next.Start.Before(seg.Start) || !next.Start.Before(s.time) {
		return false
	}
	named, ok := ParseName(seg.Name) // FollowFiles assigns other numbers
	return !ok || !s.seek.Reaches(named.Seq, named.Start, s.time)
}

// in returns the offset in seg before which, according to the seek file, all lines were written
// before the time. It parses the name of seg because FollowFiles assigns other numbers.
func (s since) in(seg Info) int64 {
	named, ok := ParseName(seg.Name)
	if !ok {
		return 0
	}
	return s.seek.Before(named.Seq, named.Start, s.time)
}

// jumpTo moves to p.from, where reading of the segment begins, if a frame begins or the file ends
// there. It reports whether it has moved.
func (p *place) jumpTo(r *Reader) bool {
	if p.from == 0 || !r.begins(p.from) {
		return false
	}
	return p.jump(r.file, p.from) == nil
}

// begins reports whether a frame (a line if there are no frames) may begin at an offset, or
// the file ends there.
func (r *Reader) begins(at int64) bool {
	want := []byte{'\n'}
	switch r.how {
	case Zstd:
		want = zstdMagic
	case Gzip:
		want = gzipMagic
	default:
		at--
	}
	is := make([]byte, len(want))
	n, err := r.file.ReadAt(is, at)
	if n == 0 && err == io.EOF {
		stat, err := r.file.Stat()
		return err == nil && stat.Size() == at
	}
	return bytes.Equal(is, want)
}

// SeekTo continues at an offset, where a frame begins.
func (r *Reader) SeekTo(offset int64) { r.off = offset }
