package tail

import (
	"slices"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/spool"
)

// A spooled is a record of the spool, with the log that it is in: where the
// state directory is replaced, older records stay in the file that was there.
type spooled struct {
	*spool.Record
	log *spool.Log

	// full says that the record's pages of the source file still have data, so
	// that data in them is no sign of a truncation.
	full bool
}

// records are those of one content whose lines are not durable, in the order of
// the content, and without overlaps.
type records struct {
	list      []spooled
	bytes     int64 // of the content that they stand for
	lost      int64 // ... and that were dropped
	lostLines int64 // ... the lines of these bytes
	solid     stretch
}

// stretch is a part of a file behind the block that was read last, in which no hole was
// seen: looking for one takes as long as the file has pages. What lies before it may
// have been punched since. The zero value is that nothing is known.
type stretch struct{ from, to int64 }

func (r *records) empty() bool { return len(r.list) == 0 }

// at returns the index of the first record that begins at or behind offset.
func (r *records) at(offset int64) int {
	at, _ := slices.BinarySearchFunc(r.list, offset, func(rec spooled, offset int64) int {
		if rec.From < offset {
			return -1
		}
		return 1
	})
	return at
}

// next returns the first record that begins at or behind offset, or nil. It is
// valid until the list changes.
func (r *records) next(offset int64) *spooled {
	if at := r.at(offset); at < len(r.list) {
		return &r.list[at]
	}
	return nil
}

// last returns the last record, or nil.
func (r *records) last() *spooled {
	if r.empty() {
		return nil
	}
	return &r.list[len(r.list)-1]
}

// memory returns how many bytes of memory the records take in the spool.
func (r *records) memory() (sum int64) {
	for i := range r.list {
		sum += r.list[i].Memory()
	}
	return sum
}

// add adds a record behind all others.
func (r *records) add(rec spooled) {
	r.list = append(r.list, rec)
	r.count(&rec, 1)
}

// count takes a record into the sums, or with -1 out of them.
func (r *records) count(rec *spooled, sign int64) {
	r.bytes += sign * (rec.End.Offset - rec.From)
	gap := rec.Gap()
	r.lost += sign * rec.Lost()
	r.lostLines += sign * int64(gap.Total())
}

// freeBefore gives back the records that end at or before offset, since their
// lines are durable.
func (r *records) freeBefore(offset int64) {
	n := 0
	for n < len(r.list) && r.list[n].End.Offset <= offset {
		r.list[n].log.Free(r.list[n].Record)
		r.count(&r.list[n], -1)
		n++
	}
	r.list = slices.Delete(r.list, 0, n)
}

// merge makes one record of those at index at-1 and at, if the second continues
// the first and nothing but kept lines is left of them. It returns how much memory
// that gave back, or 0 if it was not done.
func (r *records) merge(at int) (freed int64, err error) {
	if at < 1 || at >= len(r.list) {
		return 0, nil
	}
	a, b := r.list[at-1], r.list[at]
	if a.log != b.log || !a.Merges(b.Record) {
		return 0, nil
	}
	sum, err := a.log.Merge(a.Record, b.Record)
	if err != nil {
		return 0, err
	}
	r.list[at-1] = spooled{Record: sum, log: a.log, full: true}
	r.list = slices.Delete(r.list, at, at+1)
	return max(1, a.Memory()+b.Memory()-sum.Memory()), nil
}

// pages returns the whole pages that the record stands for, from which offset on
// and up to which. The page with the last byte stays, since the bytes in it
// distinguish the position behind the record from that of a rewritten file.
func (r spooled) pages() (from, to int64) {
	from, to = position.PageAfter(r.From), position.PageBefore(r.End.Offset)
	return from, max(from, to)
}

// limit returns n, or less if a record begins before the n-th byte behind offset.
func (r *records) limit(offset int64, n int) int {
	if rec := r.next(offset); rec != nil {
		return int(min(int64(n), rec.From-offset))
	}
	return n
}

// beginAt reports whether a record begins at offset.
func (r *records) beginAt(offset int64) bool {
	rec := r.next(offset)
	return rec != nil && rec.From == offset
}

// drop drops the lines of a record for a reason, and returns which parts of it, also
// with an error.
func (r *records) drop(rec *spooled, why ul.Reason) (freed int64, dropped []spool.Part, err error) {
	before, lost := rec.Gap(), rec.Lost()
	for _, p := range []spool.Part{spool.Rest, spool.Kept} {
		if p == spool.Kept && why == ul.Discard || !rec.Holds(p) {
			continue
		}
		n, err := rec.log.Drop(rec.Record, p, why)
		if err != nil {
			return freed, dropped, err
		}
		freed += n
		dropped = append(dropped, p)
	}
	after := rec.Gap()
	r.lost += rec.Lost() - lost
	r.lostLines += int64(after.Total() - before.Total())
	return freed, dropped, nil
}
