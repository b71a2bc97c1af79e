package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ullage/ullage/internal/line/ul"
)

// Read adds the lines of r to o in order, with a marker in place of each
// stretch that was dropped. Call [Reading.Mark] after the last record.
//
// Read adds at most the length of the block plus one marker and a line end. If
// another process changed the lines in the file, Read returns an error and adds
// nothing.
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
	if !r.Holds(Kept) {
		o.Gap.Add(r.keptGap())
	}
	o.close(r)
	return nil
}

// readWhole reads a record whose lines are all in one part: there is nothing to
// interleave.
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

// Frame returns the zstd frame of a record whose lines are all in one part, and
// the length of these lines. The caller can hand on the frame instead of the
// lines. The frame is valid until the next method call. Other records have no frame, and
// Frame returns nil.
func (l *Log) Frame(r *Record) (frame []byte, raw int, err error) {
	for p := range r.parts {
		if !r.Holds(Part(p)) || r.parts[1-p].raw > 0 {
			continue
		}
		at, err := l.readFrame(r, Part(p))
		if err == nil && !l.own.Fit(at, l.frame) {
			// Another process may have written the frame: its content must match
			// the record.
			l.lines, err = l.unpack(l.lines[:0], r, Part(p))
		}
		return l.frame, int(r.parts[p].raw), err
	}
	return nil, 0, nil
}

var errPayload = errors.New("cannot read the lines of a spool record: another process changed them")

// load reads the runs of r and the lines that r still holds.
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
	size := 0 // bytes of the lines that r still holds; r may also count up to 256 MiB of lines that it no longer holds
	for p := range r.parts {
		if r.Holds(Part(p)) {
			size += int(r.parts[p].raw)
		}
	}
	l.lines = slices.Grow(l.lines[:0], size)
	for p := range r.parts {
		if !r.Holds(Part(p)) {
			continue
		}
		begin := len(l.lines)
		lines, err := l.decompress(l.lines, r, Part(p))
		if err != nil {
			return parts, nil, err
		}
		l.lines, parts[p] = lines, lines[begin:]
	}
	return parts, l.runs, nil
}

// decompress appends the lines of one part to dst.
func (l *Log) decompress(dst []byte, r *Record, which Part) ([]byte, error) {
	if _, err := l.readFrame(r, which); err != nil {
		return nil, err
	}
	return l.unpack(dst, r, which)
}

// readFrame reads the frame of one part and returns its offset.
func (l *Log) readFrame(r *Record, which Part) (at int64, err error) {
	stored := int(r.parts[which].stored)
	l.frame = slices.Grow(l.frame[:0], stored)[:stored]
	at, _ = r.place(which)
	if n, err := l.file.ReadAt(l.frame, at); n < stored {
		return 0, fmt.Errorf("%w: %w", errPayload, err)
	}
	return at, nil
}

// unpack appends to dst the lines of the frame that was read.
func (l *Log) unpack(dst []byte, r *Record, which Part) ([]byte, error) {
	p := &r.parts[which]
	lines, err := l.codec.Decompress(dst, l.frame, p.check, p.raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	return lines, nil
}

// parseRuns reads the runs at the end of the head of r. The runs must add up to
// the totals in the header, so that no reader of the runs reads past the end of a
// part. A reader's area must have room for the kept lines and for one marker in
// place of each stretch of rest.
func (r *Record) parseRuns(runs []run, head []byte) ([]run, error) {
	rest := head[headerBytes+len(r.Stream):]
	next := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > mostMerged {
			rest = nil
			return 0
		}
		rest = rest[n:]
		return v
	}
	var kept, left, markers uint64
	var lines [ul.NumLevels]uint64
	for i := range r.runs {
		n := run{rest: uint32(next())}
		if len(rest) == 0 {
			return nil, errRecord
		}
		set := rest[0]
		rest = rest[1:]
		for level := range n.lines {
			if set&(1<<level) != 0 {
				n.lines[level] = uint32(next())
				lines[level] += uint64(n.lines[level])
			}
		}
		n.kept = uint32(next())
		if n.kept == 0 && i < r.runs-1 {
			return nil, errRecord
		}
		if n.rest > 0 {
			markers++
		}
		left, kept = left+uint64(n.rest), kept+uint64(n.kept)
		runs = append(runs, n)
	}
	for level, n := range lines {
		if n != uint64(r.parts[Rest].lines[level]) {
			return nil, errRecord
		}
	}
	if kept+markers*ul.MaxMarkerBytes > BlockBytes+ul.MaxMarkerBytes {
		return nil, errRecord // a reader has no room for more
	}
	if len(rest) != 0 || kept != uint64(r.parts[Kept].raw) || left != uint64(r.parts[Rest].raw) {
		return nil, errRecord
	}
	return runs, nil
}
