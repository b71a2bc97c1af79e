package spool

import (
	"errors"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/ul"
)

// What one record stands for at most that was merged of others: more of kept
// lines is as well in records of its own, and each merge writes them again.
const (
	mostMergedKept = 64 << 10
	mostMerged     = 256 << 20 // bytes of the source file
)

var errMerge = errors.New("they have lines that may be dropped, or do not lie side by side")

// Merges reports whether [Log.Merge] can make one record of r and b: b continues
// r, and nothing is left of both but kept lines and what was discarded.
func (r *Record) Merges(b *Record) bool {
	switch {
	case !r.continues(b) || !r.settled() || !b.settled():
		return false
	case r.Empty() && b.Empty():
		return true
	}
	kept := r.parts[Kept].raw + b.parts[Kept].raw
	return r.merged() && b.merged() && kept <= mostMergedKept && r.runs+b.runs+2 <= maxRuns && b.End.Offset-r.From <= mostMerged
}

// settled reports whether nothing of the record can be discarded any more.
func (r *Record) settled() bool { return !r.Holds(Rest) }

// merged reports whether the record can be a part of one that has kept lines:
// nothing of it was dropped for another reason than the rest of that one.
func (r *Record) merged() bool {
	if r.Holds(Kept) || r.parts[Kept].raw == 0 {
		gap := r.Gap()
		for _, n := range gap.Lines[ul.DropAll] {
			if n > 0 {
				return false
			}
		}
		return true
	}
	return false
}

// Merge appends one record for two and gives those back, so that they need the
// pages of one. They have to merge, see [Record.Merges].
func (l *Log) Merge(a, b *Record) (*Record, error) {
	if !a.Merges(b) {
		return nil, fmt.Errorf("merge records of the spool: %w", errMerge)
	}
	r := &Record{Of: a.Of, Stream: a.Stream, From: a.From, End: b.End, first: earlier(a.first, b.first), last: later(a.last, b.last)}
	var block Block
	if a.Empty() && b.Empty() {
		sum := a.Gap()
		sum.Add(b.Gap())
		r.sum = &sum
	} else {
		for _, one := range []*Record{a, b} {
			if err := l.addStretches(&block, one); err != nil {
				return nil, fmt.Errorf("merge records of the spool: %w", err)
			}
		}
		block.parts[Rest].state = discarded
		r.parts = block.parts
	}
	if err := l.write(r, &block); err != nil {
		return nil, fmt.Errorf("merge records of the spool: %w", err)
	}
	l.Free(a)
	l.Free(b)
	return r, nil
}

// addStretches adds the runs and the kept lines of r to b.
func (l *Log) addStretches(b *Block, r *Record) error {
	runs := []run{r.gapRun()}
	if r.Holds(Kept) {
		parts, found, err := l.load(r)
		if err != nil {
			return err
		}
		runs, b.data = found, append(b.data, parts[Kept]...)
	}
	for level, n := range r.parts[Kept].lines {
		b.parts[Kept].lines[level] += n
	}
	b.parts[Kept].raw += r.parts[Kept].raw
	for _, next := range runs {
		b.parts[Rest].raw += next.rest
		for level, n := range next.lines {
			b.parts[Rest].lines[level] += n
		}
		b.addRun(next)
	}
	return nil
}

// addRun adds a run behind the last one, which it continues if nothing lies
// between them.
func (b *Block) addRun(next run) {
	if n := len(b.runs); n > 0 {
		last := &b.runs[n-1]
		switch {
		case last.kept == 0:
			last.rest, last.kept = last.rest+next.rest, next.kept
			for level, lines := range next.lines {
				last.lines[level] += lines
			}
			return
		case next.rest == 0:
			last.kept += next.kept
			return
		}
	}
	b.runs = append(b.runs, next)
}

// gapRun is the run of a record that has no lines left.
func (r *Record) gapRun() run {
	gap := r.Gap()
	n := run{rest: uint32(gap.Bytes)}
	for level, lines := range gap.Lines[ul.Discard] {
		n.lines[level] = uint32(lines)
	}
	return n
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
