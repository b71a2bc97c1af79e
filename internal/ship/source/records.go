package source

import (
	"slices"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A Spooled is a record of the spool, with its log: after the state directory was replaced,
// older records stay in the old file.
type Spooled struct {
	*spool.Record
	Log *spool.Log

	// Full means that the record's pages in the source file still have data. Data in these pages
	// then does not show that the file was truncated.
	Full bool
}

// Records are the records of one content whose lines are not durable, in the order of
// the content and without overlaps.
type Records struct {
	List      []Spooled
	Bytes     int64 // bytes of the content in these records
	Lost      int64 // number of dropped bytes among them
	lostLines int64 // number of dropped lines
	Solid     Stretch
}

// Stretch is a part of a file, after the block that was read last, in which no hole was found.
// It is remembered because the time to search for a hole grows with the number of pages. The
// part of the file before it may have been punched since. The zero value means that nothing is
// known.
type Stretch struct{ From, To int64 }

func (r *Records) Empty() bool { return len(r.List) == 0 }

// At returns the index of the first record that begins at or after offset.
func (r *Records) At(offset int64) int {
	at, _ := slices.BinarySearchFunc(r.List, offset, func(rec Spooled, offset int64) int {
		if rec.From < offset {
			return -1
		}
		return 1
	})
	return at
}

// Next returns the first record that begins at or after offset, or nil. It is
// valid until the list changes.
func (r *Records) Next(offset int64) *Spooled {
	if at := r.At(offset); at < len(r.List) {
		return &r.List[at]
	}
	return nil
}

// Last returns the last record, or nil.
func (r *Records) Last() *Spooled {
	if r.Empty() {
		return nil
	}
	return &r.List[len(r.List)-1]
}

// Memory returns how many bytes of memory the records take in the spool.
func (r *Records) Memory() (sum int64) {
	for i := range r.List {
		sum += r.List[i].Memory()
	}
	return sum
}

// Add appends a record.
func (r *Records) Add(rec Spooled) {
	r.List = append(r.List, rec)
	r.count(&rec, 1)
}

// count adds a record to the sums or, with sign -1, subtracts it.
func (r *Records) count(rec *Spooled, sign int64) {
	r.Bytes += sign * (rec.End.Offset - rec.From)
	gap := rec.Gap()
	r.Lost += sign * rec.Lost()
	r.lostLines += sign * int64(gap.Total())
}

// FreeBefore frees the records that end at or before offset, whose lines are durable.
func (r *Records) FreeBefore(offset int64) {
	n := 0
	for n < len(r.List) && r.List[n].End.Offset <= offset {
		r.List[n].Log.Free(r.List[n].Record)
		r.count(&r.List[n], -1)
		n++
	}
	r.List = slices.Delete(r.List, 0, n)
}

// Merge makes one record of the two at index at-1 and at, if the second continues
// the first and only kept lines are left of them. It returns how much memory that
// freed, or 0 if it did not merge them.
func (r *Records) Merge(at int) (freed int64, err error) {
	if at < 1 || at >= len(r.List) {
		return 0, nil
	}
	a, b := r.List[at-1], r.List[at]
	if a.Log != b.Log || !a.Merges(b.Record) {
		return 0, nil
	}
	sum, err := a.Log.Merge(a.Record, b.Record)
	if err != nil {
		return 0, err
	}
	r.List[at-1] = Spooled{Record: sum, Log: a.Log, Full: true}
	r.List = slices.Delete(r.List, at, at+1)
	return max(1, a.Memory()+b.Memory()-sum.Memory()), nil
}

// Pages returns the beginning and the end of the whole pages that the record replaces. The
// page with the last byte stays, since its bytes distinguish the position after the record
// from a position in a rewritten file.
func (r Spooled) Pages() (from, to int64) {
	from, to = position.PageAfter(r.From), position.PageBefore(r.End.Offset)
	return from, max(from, to)
}

// Limit returns n, or less if a record begins before the n-th byte after offset.
func (r *Records) Limit(offset int64, n int) int {
	if rec := r.Next(offset); rec != nil {
		return int(min(int64(n), rec.From-offset))
	}
	return n
}

// BeginAt reports whether a record begins at offset.
func (r *Records) BeginAt(offset int64) bool {
	rec := r.Next(offset)
	return rec != nil && rec.From == offset
}

// Drop drops the lines of a record for a reason. It returns which parts it dropped, even if
// it returns an error.
func (r *Records) Drop(rec *Spooled, why ul.Reason) (freed int64, dropped []spool.Part, err error) {
	before, lost := rec.Gap(), rec.Lost()
	for _, p := range []spool.Part{spool.Rest, spool.Kept} {
		if p == spool.Kept && why == ul.Discard || !rec.Holds(p) {
			continue
		}
		n, err := rec.Log.Drop(rec.Record, p, why)
		if err != nil {
			return freed, dropped, err
		}
		freed += n
		dropped = append(dropped, p)
	}
	after := rec.Gap()
	r.Lost += rec.Lost() - lost
	r.lostLines += int64(after.Total() - before.Total())
	return freed, dropped, nil
}
