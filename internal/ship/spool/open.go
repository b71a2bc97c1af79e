package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/frame"
	"github.com/ullage/ullage/internal/ship/position"
)

// MostRecords is how many records Open accepts, and therefore how many the
// caller may create. They use about 4 MiB of memory.
const MostRecords = 16 << 10

// Open reads the records in file, oldest first, and frees all memory that does not belong
// to a record. The Log owns file from then on.
func Open(file *os.File) (*Log, []*Record, error) {
	l := &Log{file: file}
	found, err := l.walk()
	if err != nil {
		return nil, nil, fmt.Errorf("read the spool: %w", err)
	}
	records := newest(found)
	at := int64(0)
	for _, r := range records {
		frame.Punch(file, at, r.at)
		at = r.end()
		for p := range r.parts {
			if !r.Holds(Part(p)) {
				from, to := r.place(Part(p))
				frame.Punch(file, from, to)
			}
		}
	}
	l.end = at
	if err := l.cut(); err != nil {
		return nil, nil, fmt.Errorf("cut the spool: %w", err)
	}
	l.reserve()
	return l, records, nil
}

// cut frees what is in the file after the last record. If nothing is, it leaves the file as it is: to truncate a file to
// its size frees the memory that an earlier process reserved, and on a full tmpfs, a JVM would take it.
func (l *Log) cut() error {
	info, err := l.file.Stat()
	if err != nil || info.Size() == l.end {
		return err
	}
	return l.file.Truncate(l.end)
}

// walk finds the records in the file by their heads. It skips holes, and pages
// without a head: a kill left them behind, or another process wrote them.
func (l *Log) walk() (found []*Record, err error) {
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	for at := int64(0); at < info.Size() && len(found) < MostRecords; {
		data, err := unix.Seek(int(l.file.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if err != nil {
			return nil, err
		}
		at = data &^ (position.PageSize - 1)
		r, err := l.readHead(at)
		switch {
		case errors.Is(err, errRecord):
			at += position.PageSize
		case err != nil:
			return nil, err
		default:
			found = append(found, r)
			l.seq = max(l.seq, r.seq)
			at = r.end()
		}
	}
	return found, nil
}

// readHead reads the head at an offset. Its bytes are valid until the next
// call.
func (l *Log) readHead(at int64) (*Record, error) {
	b, err := l.readAt(position.PageSize, at)
	if err != nil {
		return nil, err
	}
	n, err := headLength(b)
	if err != nil {
		return nil, err
	}
	if n > len(b) {
		if b, err = l.readAt(n, at); err != nil {
			return nil, err
		}
	}
	if n > len(b) {
		return nil, errRecord
	}
	r, err := parseHead(b[:n])
	if err != nil {
		return nil, err
	}
	r.at = at
	return r, nil
}

func (l *Log) readAt(n int, at int64) ([]byte, error) {
	l.head = slices.Grow(l.head[:0], n)[:n]
	got, err := l.file.ReadAt(l.head, at)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return l.head[:got], nil
}

// newest removes the records that another record replaces and returns the
// others in the order in which they were appended.
func newest(found []*Record) []*Record {
	slices.SortFunc(found, func(a, b *Record) int { return cmp.Compare(b.seq, a.seq) })
	taken := map[position.Content]*ranges{}
	records := found[:0]
	for _, r := range found {
		file := taken[r.Of]
		if file == nil {
			file = &ranges{}
			taken[r.Of] = file
		}
		if file.add(r.From, r.End.Offset) {
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(a, b *Record) int { return cmp.Compare(a.at, b.at) })
	return records
}

// ranges holds ranges of a file that do not overlap, in ascending order.
type ranges [][2]int64

// add adds a range unless it overlaps one in s.
func (s *ranges) add(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(*s, from, func(have [2]int64, from int64) int { return cmp.Compare(have[1], from+1) })
	if i < len(*s) && (*s)[i][0] < to {
		return false
	}
	*s = slices.Insert(*s, i, [2]int64{from, to})
	return true
}
