package read

// Progress counts how many of the bytes on disk a reader of several streams has read.
type Progress struct {
	Tell  func(done, total int64) // nil: no progress is wanted
	Total int64                   // bytes of all streams

	base int64 // bytes of the streams before the current one
}

// At reports that the reader has read done bytes of the current stream. A stream may have grown
// since Total was computed.
func (p *Progress) At(done int64) {
	if p.Tell != nil {
		p.Tell(min(p.base+done, p.Total), p.Total)
	}
}

// Next ends the current stream, which has the given number of bytes.
func (p *Progress) Next(bytes int64) { p.base += bytes }
