package tail

import (
	"bytes"
	"math"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
	"github.com/ullage/ullage/internal/ship/spool"
)

// An aligner finds the place in the source where the persisted copy ends.
type aligner struct {
	table  *source.Table
	spool  *spooler
	sifted bool // some lines before the end of the copy may have been withheld
}

// align does the work of [Start.Align]. Files that are older than the place that it finds are treated
// as persisted, because files are read in the order of their birth. It does not skip a file whose content
// did not match its saved position: that file was truncated, so its lines may be newer than the place.
func (a *aligner) align(stream string, end []byte) (bool, error) {
	st := a.table.Streams.ByName[stream]
	a.table.OpenLines.Align(stream, len(end) > 0 && end[len(end)-1] != '\n')
	if end = behindMarkers(end); st == nil || len(end) == 0 {
		return false, nil
	}
	if a.sifted {
		end = lastLine(end)
	}
	for i, f := range st.Files {
		offset, found, err := a.findEnd(f, end)
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		for _, older := range slices.Clone(st.Files[:i]) {
			switch {
			case older.Unheld:
			case older.Held():
				a.skipTo(older, older.Growth.Size)
			default:
				a.skipTo(older, math.MaxInt64)
			}
		}
		if a.skipTo(f, offset) {
			a.table.OpenLines.Align(stream, false) // f has the rest of the line
		}
		return true, nil
	}
	return false, nil
}

// behindMarkers returns what follows the last gap marker in end, which is the tail of the persisted
// copy or the content of a record. The source may lack the marker: it stands for lines that were
// dropped.
func behindMarkers(end []byte) []byte {
	for at := len(end); at > 0; {
		begin := bytes.LastIndexByte(end[:at-1], '\n') + 1
		if _, ok := ul.ParseMarker(end[begin:at]); ok {
			return end[at:]
		}
		at = begin
	}
	return end
}

// skipTo moves all positions of f to offset and frees the records before it. It
// reports whether f still has the content that was searched.
func (a *aligner) skipTo(f *source.File, offset int64) bool {
	for _, r := range f.Records.List {
		if r.From < offset && offset < r.End.Offset {
			offset = r.From // no position lies inside a record: its lines are persisted again
		}
	}
	if !f.Held() {
		if last := f.Records.Last(); last != nil && offset <= last.End.Offset {
			f.Read.Position = position.Position{Offset: offset}
		}
		f.Queued, f.Committed = f.Read.Position, f.Read.Position
		f.Records.FreeBefore(offset)
		return true
	}
	counted := f.Counted.To
	p, err := position.At(f.Inode.FD, offset)
	if err == nil {
		err = f.MoveTo(p)
	}
	if err != nil {
		a.table.Renew(f) // the file was truncated just now
		return false
	}
	f.Counted.To = max(f.Counted.To, counted)
	f.Records.FreeBefore(offset)
	return true
}

// findEnd returns the offset in f after the bytes of end. The bytes may be in the file, or
// in a record that holds lines of the file.
func (a *aligner) findEnd(f *source.File, end []byte) (offset int64, found bool, err error) {
	part := int64(0)
	if f.Held() {
		var exact bool
		if part, exact, err = searchFile(f, end); err != nil || exact {
			return part, exact, err
		}
	}
	for i := range f.Records.List {
		r := &f.Records.List[i]
		o := spool.Reading{Data: a.spool.area(AreaBytes)[:0]}
		if r.Empty() || r.Log.Read(&o, r.Record) != nil {
			continue
		}
		o.Mark()
		if lines := behindMarkers(o.Data); len(lines) > 0 && (bytes.HasSuffix(lines, end) || bytes.HasSuffix(end, lines)) {
			return r.End.Offset, true, nil
		}
	}
	return part, part > 0, nil
}

// searchFile returns the offset in the file after the bytes of end. The offset is not exact
// if only the last part of end is found, at the beginning of data: earlier pages were
// freed, or the rest of end is in an older file.
func searchFile(f *source.File, end []byte) (offset int64, exact bool, err error) {
	start, err := f.Inode.NextData(0)
	if err != nil {
		return 0, false, f.Failed("look for data in", err)
	}
	buf := make([]byte, len(end)+blockBytes)
	kept, longest, begins := 0, 0, true
	for at := start; ; {
		if data, err := f.Inode.NextData(at); err == nil && data > at {
			at, kept, begins = data, 0, true // a hole was skipped
		}
		if at >= f.Growth.Size && at > start {
			return offset, false, nil // the search stops at the size that the file had when it began: the file may grow forever
		}
		n, err := unix.Pread(f.Inode.FD, buf[kept:], at)
		if err != nil {
			return 0, false, f.Failed("search", err)
		}
		window := buf[:kept+n]
		if begins {
			if k := overlap(end, window, at > 0); k > longest {
				offset, longest = at+int64(k), k
			}
			begins = false
		}
		if i := bytes.Index(window, end); i >= 0 {
			return at - int64(kept) + int64(i+len(end)), true, nil
		}
		if n == 0 {
			return offset, false, nil
		}
		at += int64(n)
		kept = copy(buf, window[max(0, len(window)-len(end)):])
	}
}

// overlap returns the length of the longest suffix of a that is also a prefix of b. It is at
// most a page, because reclaiming leaves at most a page before a committed position. Unless b may
// begin inside a line, the suffix must consist of whole lines.
func overlap(a, b []byte, inside bool) int {
	for k := min(len(a), len(b), position.PageSize); k > 0; k-- {
		whole := k == len(a) || a[len(a)-k-1] == '\n'
		if (inside || whole) && bytes.Equal(a[len(a)-k:], b[:k]) {
			return k
		}
	}
	return 0
}
