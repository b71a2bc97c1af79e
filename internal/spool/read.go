package spool

import (
	"fmt"
	"slices"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/ul"
)

// A Reading is what is handed on in the place of records. The zero value, with
// room in Data, is ready for the first of them.
type Reading struct {
	Data  []byte               // lines and markers
	Made  int                  // bytes of Data that are not the JVM's
	Lines [ul.NumLevels]uint32 // the JVM's lines that begin in Data
	Gap   ul.Gap               // what was dropped behind the last byte of Data and has no marker yet

	// Open says that what was handed on so far ends inside a line, which has the
	// level Level: a marker then needs a line end before it.
	Open  bool
	Level ul.Level

	// Torn counts lines of which a rest was dropped that no record counts, because
	// their beginning was handed on before.
	Torn uint32
}

// Mark appends the marker that is due.
func (o *Reading) Mark() {
	if o.Gap.Total() == 0 {
		if o.Gap.Bytes == 0 || !o.Open {
			return // nothing, or a piece of a line that has its marker already
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

// Read adds the lines of r to o, in their order, with a marker in the place of
// each stretch that was dropped. Call [Reading.Mark] behind the last record.
//
// What Read adds is at most as long as the block was, and one marker and a line
// end longer. If others have changed the lines in the file, Read returns an
// error and adds nothing.
func (l *Log) Read(o *Reading, r *Record) error {
	if r.Empty() {
		o.Gap.Add(r.Gap())
		return nil
	}
	for p := range r.parts {
		if r.Holds(Part(p)) && r.parts[1-p].raw == 0 {
			return l.readWhole(o, r, Part(p))
		}
	}
	parts, runs, err := l.load(r)
	if err != nil {
		return err
	}
	for i := range runs {
		run := &runs[i]
		if r.Holds(Rest) {
			parts[Rest] = o.take(parts[Rest], run.rest)
		} else if run.rest > 0 {
			o.Gap.Add(r.gapOf(run.lines, run.rest, r.parts[Rest].state))
		}
		if r.Holds(Kept) {
			parts[Kept] = o.take(parts[Kept], run.kept)
		}
	}
	if kept := &r.parts[Kept]; !r.Holds(Kept) {
		o.Gap.Add(r.gapOf(kept.lines, kept.raw, kept.state))
	}
	o.close(r)
	return nil
}

// take moves n bytes of lines to o and returns the others.
func (o *Reading) take(lines []byte, n uint32) []byte {
	if n > 0 {
		o.Mark()
		o.Data = append(o.Data, lines[:n]...)
	}
	return lines[n:]
}

// close counts the lines of r that are in o now.
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

// readWhole reads a record that is one part: nothing lies between its lines.
func (l *Log) readWhole(o *Reading, r *Record, p Part) error {
	undo := *o
	o.Mark()
	data, err := l.decompress(o.Data, r, p)
	if err != nil {
		*o = undo
		return err
	}
	o.Data = data
	o.close(r)
	return nil
}

// Frame returns the zstd frame of a record whose lines are all in one part, and the
// length of these lines. The caller can hand on the frame in the place of the
// lines. It is valid until the next call of a method. Other records have none.
func (l *Log) Frame(r *Record) (frame []byte, raw int, err error) {
	for p := range r.parts {
		if !r.Holds(Part(p)) || r.parts[1-p].raw > 0 {
			continue
		}
		c, err := l.codecs()
		if err != nil {
			return nil, 0, err
		}
		// Others may have written it: it has to give what the record says.
		if c.lines[p], err = l.decompress(c.lines[p][:0], r, Part(p)); err != nil {
			return nil, 0, err
		}
		return c.frame, len(c.lines[p]), nil
	}
	return nil, 0, nil
}

// load reads the runs of r and the lines that it still has.
func (l *Log) load(r *Record) (parts [2][]byte, runs []run, err error) {
	head, err := l.readAt(int(r.head), r.at)
	if err != nil {
		return parts, nil, fmt.Errorf("read the spool: %w", err)
	}
	if n, err := headLength(head); err != nil || n != len(head) {
		return parts, nil, errPayload
	}
	if l.runs, err = r.parseRuns(l.runs[:0], head); err != nil {
		return parts, nil, errPayload
	}
	c, err := l.codecs()
	if err != nil {
		return parts, nil, err
	}
	for p := range r.parts {
		if !r.Holds(Part(p)) {
			continue
		}
		if c.lines[p], err = l.decompress(c.lines[p][:0], r, Part(p)); err != nil {
			return parts, nil, err
		}
		parts[p] = c.lines[p]
	}
	return parts, l.runs, nil
}

// decompress appends the lines of one part to dst.
func (l *Log) decompress(dst []byte, r *Record, which Part) ([]byte, error) {
	c, err := l.codecs()
	if err != nil {
		return nil, err
	}
	p, begin := &r.parts[which], len(dst)
	c.frame = slices.Grow(c.frame[:0], int(p.stored))[:p.stored]
	from, _ := r.place(which)
	if n, err := l.file.ReadAt(c.frame, from); n < len(c.frame) {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	if position.Checksum(c.frame) != p.check {
		return nil, errPayload
	}
	// The decoder's bound on memory holds for a forged frame too.
	// It counts what is in front as well, which must therefore stay out of it.
	dst = slices.Grow(dst, int(p.raw))
	lines, err := c.decoder.DecodeAll(c.frame, dst[begin:begin])
	if err != nil || len(lines) != int(p.raw) {
		return nil, errPayload
	}
	return append(dst, lines...), nil // it is in its place already
}
