package seek

// Segment is a segment that exists.
type Segment struct {
	Seq   uint64
	Start int64 // Unix ms
	Size  int64 // on disk
}

// Bound returns the largest size of a stream's seek file, given the stream's bytes on disk.
func Bound(disk int64) int64 { return min(max(disk/1024, 4<<10), MaxBytes) }

// Thin receives all segments that exist, in order. It returns the bound of their seek file, and
// entries that take at most three quarters of the bound. It leaves out the entries of other
// segments. The newest entries are kept, up to half of the bound; of the older ones, Thin keeps
// some at equal distances. The time of an entry that is left out passes to the next entry,
// because the time of an entry covers the lines since the previous entry.
func Thin(entries []Entry, segs []Segment) (kept []Entry, bound int64) {
	ends, disk := place(&entries, segs)
	bound = Bound(disk)
	if int64(len(entries))*EntryBytes <= bound*3/4 {
		return entries, bound
	}
	older := len(entries) - int(bound/2/EntryBytes)
	apart := max(1, disk/(bound/4/EntryBytes))
	kept = entries[:0]
	from, carried := int64(0), int64(0)
	for i, e := range entries {
		e.Time = max(e.Time, carried)
		if i < older && ends[i]-from < apart {
			carried = e.Time
			continue
		}
		kept, from, carried = append(kept, e), ends[i], 0
	}
	return kept, bound
}

// place leaves out the entries without a segment. It returns where the other entries are among
// the bytes of all segments, and how many bytes all segments have.
func place(entries *[]Entry, segs []Segment) (ends []int64, disk int64) {
	kept, all := (*entries)[:0], *entries
	for _, s := range segs {
		for ; len(all) > 0 && all[0].Seq <= s.Seq; all = all[1:] {
			if e := all[0]; e.Seq == s.Seq && e.Start == s.Start && e.Offset <= s.Size {
				kept, ends = append(kept, e), append(ends, disk+e.Offset)
			}
		}
		disk += s.Size
	}
	*entries = kept
	return ends, disk
}
