package tail

import (
	"github.com/ullage/ullage/internal/spool"
	"github.com/ullage/ullage/internal/ul"
)

// Drop drops lines until it has given back as much memory as wanted: those that
// were moved, and then such as were not. [ul.Discard] takes those below the level
// to keep, and leaves blocks that were not moved if that is less than half of
// them. [ul.DropAll] takes all.
//
// A stream that takes less memory than its share of what is allowed loses
// nothing; of the others the largest one goes first, and of its lines the
// oldest. Refused streams have no share, and go before all others.
func (s *Source) Drop(why ul.Reason, r Relief) (freed int64) {
	left := s.recordsLeft()
	without := spool.WithoutRest()
	if why == ul.DropAll {
		without = spool.WithoutLines()
	}
	share := s.share(r.Allowed)
	for deadline := s.now().Add(relieveTime); freed < r.Want && s.now().Before(deadline); {
		n := int64(0)
		if st := s.largestOver(share, why, r.Refused); st != nil {
			n = s.dropOldest(st, why)
		} else if f := s.toMove(r, share); f != nil && left > 0 {
			left--
			over := min(max(2*r.Least, f.stream.memory-share), spool.BlockBytes) // a block ends with a message
			n = s.relieveFile(f, r.Least, over, r.Keep, without)
		} else {
			break
		}
		freed += n
	}
	return freed
}

// dropOldest drops the lines of the oldest record of the stream that has any.
func (s *Source) dropOldest(st *Stream, why ul.Reason) (freed int64) {
	f, at := st.oldestHolding(why)
	freed, err := s.dropParts(f, &f.records.list[at], why)
	if err == nil {
		var merged int64
		merged, err = s.mergeAround(f, at)
		freed += merged
	}
	if err != nil {
		s.metrics.readErrors.Inc()
		s.log.once("drop", "dropping lines of the spool failed", "error", err, "hint", "the next look at the pressure tries again")
		f.stuck = true
	}
	st.memory -= freed
	return max(1, freed)
}

// dropParts drops the lines of a record for a reason.
func (s *Source) dropParts(f *File, r *spooled, why ul.Reason) (freed int64, err error) {
	before := r.Gap()
	for _, p := range []spool.Part{spool.Rest, spool.Kept} {
		if p == spool.Kept && why == ul.Discard || !r.Holds(p) {
			continue
		}
		n, err := r.log.Drop(r.Record, p, why)
		if err != nil {
			return freed, err
		}
		freed += n
		s.countDropped(f.stream, r.Record, p)
	}
	after := r.Gap()
	f.records.lost += int64(after.Bytes - before.Bytes)
	return freed, nil
}

// countDropped counts the lines of a part of a record that was dropped.
func (s *Source) countDropped(st *Stream, r *spool.Record, p spool.Part) {
	why, gone := r.Dropped(p)
	if !gone {
		return
	}
	lines, size := r.Lines(p)
	var counts [ul.NumLevels]uint64
	for level, n := range lines {
		counts[level] = uint64(n)
	}
	s.metrics.dropped.add(st.label, why, counts, uint64(size))
}
