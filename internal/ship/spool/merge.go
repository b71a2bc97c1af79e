package spool

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// mostMergedKept bounds the kept lines of a merged record. A record with more kept lines gains
// nothing from merging, and each merge writes the kept lines again.
const mostMergedKept = 64 << 10

var errMerge = errors.New("the records hold droppable lines or are not adjacent")

// Merges reports whether [Log.Merge] can combine r and b: b continues r, and
// both hold only kept lines and counts of discarded lines.
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

// merged reports whether r can be part of a merged record with kept lines. All lines that r
// counts as dropped must have the reason discard and be lines of the file, not of a marker's gap.
func (r *Record) merged() bool {
	if r.Holds(Kept) || r.parts[Kept].raw == 0 {
		gap := r.Gap()
		if gap.Bytes != uint64(r.Lost()) {
			return false
		}
		for _, n := range gap.Lines[ul.DropAll] {
			if n > 0 {
				return false
			}
		}
		return true
	}
	return false
}

// Merge replaces two adjacent records with one, which needs fewer pages.
// [Record.Merges] must be true for them.
func (l *Log) Merge(a, b *Record) (*Record, error) {
	if !a.Merges(b) {
		return nil, fmt.Errorf("merge records of the spool: %w", errMerge)
	}
	r := &Record{
		Of: a.Of, Stream: a.Stream, From: a.From, End: b.End,
		first: slices.MinFunc([]time.Time{a.first, b.first}, time.Time.Compare),
		last:  slices.MaxFunc([]time.Time{a.last, b.last}, time.Time.Compare),
	}
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
		r.parts, r.sum = block.parts, keptSum(a, b)
	}
	if err := l.write(r, &block); err != nil {
		return nil, fmt.Errorf("merge records of the spool: %w", err)
	}
	l.Free(a)
	l.Free(b)
	return r, nil
}

// keptSum returns the gap to report if the kept lines of the merged record are dropped later: the
// sum of keptGap for each of a and b that holds kept lines. It returns nil if these lines have no
// markers.
func keptSum(a, b *Record) *ul.Gap {
	var sum ul.Gap
	markers := false
	for _, r := range []*Record{a, b} {
		if r.Holds(Kept) {
			sum.Add(r.keptGap())
			markers = markers || r.sum != nil
		}
	}
	if !markers {
		return nil
	}
	return &sum
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

// addRun adds a run. If no line lies between the run and the last one, it
// extends the last one.
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

// gapRun returns the run of a record without lines.
func (r *Record) gapRun() run {
	gap := r.Gap()
	n := run{rest: uint32(gap.Bytes)}
	for level, lines := range gap.Lines[ul.Discard] {
		n.lines[level] = uint32(lines)
	}
	return n
}
