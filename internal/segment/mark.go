package segment

// Mark is the place of a commit in a stream: all bytes before it are durable.
// The zero value is the place before the first segment.
type Mark struct {
	Segment string `json:"segment"` // name of the segment in the directory of the stream
	Offset  int64  `json:"offset"`  // place in the segment, in bytes on disk

	// Sealed means that the segment never grows again: further lines go into a new segment.
	Sealed bool `json:"sealed,omitempty"`

	// Gone means that the segment may be missing, because retention or another program deleted it.
	// The mark is after every segment whose sequence number is not higher, whether or not that
	// segment exists.
	Gone bool `json:"gone,omitempty"`
}

// Seq returns the number of the mark's segment, or zero for the zero mark.
func (m Mark) Seq() uint64 {
	info, _ := ParseName(m.Segment)
	return info.Seq
}
