package cat

import "github.com/ullage/ullage/internal/segment/seek"

// indexAll bounds the memory of all seek files together. Once it is used up, streams are read
// without a seek file.
const indexAll = 8 << 20

// seekIndex is the seek file of a stream. The zero value means that the file has not been
// looked for yet.
type seekIndex struct {
	*seek.Index
	looked bool
}

// seekIndex returns the seek file of the stream. A file that cannot be read is treated as
// missing.
func (s *series) seekIndex() *seek.Index {
	x := &s.index
	if x.looked || s.dir == "" {
		return x.Index
	}
	x.looked = true
	left := indexAll - s.p.indexed
	if index := seek.Read(s.dir, left); index.Bytes() <= left {
		x.Index = index
		s.p.indexed += index.Bytes()
	}
	return x.Index
}
