package seek

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ullage/ullage/internal/base/untrusted"
)

// Slack is how much earlier than a given time a reader begins. Backward steps of the clock that
// the writer may miss are shorter than Slack.
const Slack = 10 * time.Second

// Index is the seek file of a stream as it was when it was read. A nil Index has no entries.
type Index struct{ entries []Entry }

// Read reads the seek file in the directory of a stream, but no more than the given number of
// bytes. A file that is missing or unreadable, or begins with damage, has no entries.
func Read(dir string, most int) *Index {
	file, err := untrusted.OpenIn(dir, Name)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(min(most, MaxBytes))))
	if err != nil {
		return nil
	}
	return &Index{Parse(data)}
}

// Once returns a function that reads the seek file in the directory of a stream when it is
// first called.
func Once(dir string) func() *Index {
	return sync.OnceValue(func() *Index { return Read(dir, MaxBytes) })
}

// Bytes is the memory that the index takes.
func (x *Index) Bytes() int {
	if x == nil {
		return 0
	}
	return cap(x.entries) * EntryBytes
}

// Before returns the last known offset in a segment before which all lines were written
// earlier than since. Zero: no such offset is known. The caller checks that a frame begins
// there.
func (x *Index) Before(seq uint64, start, since time.Time) (offset int64) {
	if x == nil || since.IsZero() {
		return 0
	}
	latest := since.Add(-Slack).UnixMilli()
	for _, e := range x.entries[x.find(seq, 0):] {
		// The time of an entry covers only the lines since the previous entry: a time that is earlier
		// than that of the previous entry is due to a clock that was set back.
		if !e.in(seq, start) || e.Time >= latest {
			break
		}
		offset = e.Offset
	}
	return offset
}

// Reaches reports whether an entry of a segment is not earlier than since. Then lines in the segment may be later, even
// if the next segment began before that: the clock was set back.
func (x *Index) Reaches(seq uint64, start, since time.Time) bool {
	if x == nil {
		return false
	}
	for _, e := range x.entries[x.find(seq, 0):] {
		if !e.in(seq, start) {
			break
		}
		if e.Time >= since.UnixMilli() {
			return true
		}
	}
	return false
}

// Next returns the first entry of a segment whose offset is offset or higher.
func (x *Index) Next(seq uint64, start time.Time, offset int64) (e Entry, ok bool) {
	if x == nil {
		return Entry{}, false
	}
	i := x.find(seq, offset)
	if i == len(x.entries) || !x.entries[i].in(seq, start) {
		return Entry{}, false
	}
	return x.entries[i], true
}

// Last returns the last entry at or before an offset in a segment. The entry may be of an
// earlier segment.
func (x *Index) Last(seq uint64, offset int64) (e Entry, ok bool) {
	if x == nil {
		return Entry{}, false
	}
	i := x.find(seq, offset+1)
	if i == 0 {
		return Entry{}, false
	}
	return x.entries[i-1], true
}

// find returns the index of the first entry at or after a place.
func (x *Index) find(seq uint64, offset int64) int {
	i, _ := slices.BinarySearchFunc(x.entries, Entry{Seq: seq, Offset: offset}, compare)
	return i
}

// in reports whether an entry is of a segment. A stream that was deleted and begun again
// has segments of the same numbers.
func (e Entry) in(seq uint64, start time.Time) bool {
	return e.Seq == seq && e.Start == start.UnixMilli()
}

// When returns the entry's time.
func (e Entry) When() time.Time { return time.UnixMilli(e.Time) }
