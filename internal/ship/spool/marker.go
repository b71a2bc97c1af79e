package spool

import "github.com/ullage/ullage/internal/line/ul"

// A Reading collects the bytes that the caller hands on instead of records. The zero value,
// with room in Data, is ready for the first record.
type Reading struct {
	Data  []byte               // lines and markers
	Made  int                  // bytes of Data that are not the JVM's
	Lines [ul.NumLevels]uint32 // the JVM's lines that begin in Data
	Gap   ul.Gap               // dropped lines after Data that have no marker yet

	// Open means that Data ends inside a line, which has the level Level. A marker then needs a
	// line end before it.
	Open  bool
	Level ul.Level

	// Torn counts the lines whose beginning was handed on earlier and whose
	// rest was dropped. No record counts these lines.
	Torn uint32
}

// Mark appends the marker that is due, if any.
func (o *Reading) Mark() {
	if o.Gap.Total() == 0 {
		if o.Gap.Bytes == 0 || !o.Open {
			return // no line, or a piece of a line that already has its marker
		}
		o.Gap.Lines[ul.DropAll][o.Level]++
		o.Torn++
	}
	before := len(o.Data)
	if o.Open {
		o.Data = append(o.Data, '\n') // the line was counted where it began
		o.Open = false
	}
	o.Data = o.Gap.AppendMarker(o.Data)
	o.Made += len(o.Data) - before
	o.Gap = ul.Gap{}
}

// take moves n bytes of lines to o and returns the remaining bytes.
func (o *Reading) take(lines []byte, n uint32) []byte {
	if n > 0 {
		o.Mark()
		o.Data = append(o.Data, lines[:n]...)
	}
	return lines[n:]
}

// close adds r's line counts to o.
func (o *Reading) close(r *Record) {
	for p := range r.parts {
		if !r.Holds(Part(p)) {
			continue
		}
		for level, n := range r.parts[p].lines {
			o.Lines[level] += n
		}
	}
	if n := len(o.Data); n > 0 {
		o.Open = o.Data[n-1] != '\n'
	}
}
