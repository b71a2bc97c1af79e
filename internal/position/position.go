package position

import (
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ul"
)

const (
	// PageSize is the unit in which memory of a file is given back. A kernel
	// with larger pages gives back less, and nothing else changes.
	PageSize = 4096

	// CheckBytes is how many bytes before an offset are compared, at most.
	CheckBytes = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of data, which all checks in this package use.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// Identity names a source file for its whole life. Born is the inode's time of
// birth in nanoseconds, zero where the file system does not keep it; Born tells
// a reused inode number from the file that had the number before.
type Identity struct {
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
	Born int64  `json:"born"`
}

// Identify returns the identity in what statx has returned, with
// STATX_BASIC_STATS and STATX_BTIME.
func Identify(st *unix.Statx_t) Identity {
	id := Identity{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id
}

// Content names what a source file holds between two truncations. A JVM that
// truncates its log in place makes another content of the same file: positions
// in the one say nothing about the other.
type Content struct {
	Identity
	Epoch uint32 `json:"epoch,omitempty"` // how often the file was truncated before
}

// Saved is what is known of a content: the stream that it belongs to, and how
// far it was consumed. An empty Stream is the one that the file's name says.
type Saved struct {
	Stream string `json:"stream"`
	Position
}

// Position is a place in a source file: everything before Offset has been
// consumed. The zero value is the beginning.
type Position struct {
	Offset int64 `json:"offset"`
	// Check is the CRC-32C of the CheckLen bytes before Offset, all of them
	// in the page of the byte before it.
	Check    uint32 `json:"check"`
	CheckLen int    `json:"check_len"`
	// Open says that Offset is inside a line longer than the limit.
	Open bool `json:"open,omitempty"`
	// Level is that of the record before, which a continuation inherits.
	Level ul.Level `json:"level,omitempty"`
}

// Span returns how many bytes before offset a Position is checked with. They
// never reach into the page before, which may have been given back.
func Span(offset int64) int {
	if offset == 0 {
		return 0
	}
	return int(min(CheckBytes, (offset-1)%PageSize+1))
}

// PageBefore returns where the page begins that holds the byte before offset:
// the one page before a position that may not be given back.
func PageBefore(offset int64) int64 { return max(0, offset-1) &^ (PageSize - 1) }

// PageAfter returns where the first page begins that has nothing before offset.
func PageAfter(offset int64) int64 { return (offset + PageSize - 1) &^ (PageSize - 1) }

// Valid reports whether p can be a position at all. A position that was read
// from a file of the state directory can be anything.
func (p Position) Valid() bool {
	return p.Offset >= 0 && p.CheckLen >= 0 && p.CheckLen <= Span(p.Offset) && p.Level < ul.NumLevels
}

// At reads the bytes before offset and returns the position there.
func At(fd int, offset int64) (Position, error) {
	var buf [CheckBytes]byte
	k := Span(offset)
	n, err := unix.Pread(fd, buf[:k], offset-int64(k))
	if err != nil {
		return Position{}, fmt.Errorf("read the bytes before offset %d: %w", offset, err)
	}
	if n != k {
		return Position{}, fmt.Errorf("read the bytes before offset %d: the file ends there", offset)
	}
	return Position{Offset: offset, Check: Checksum(buf[:k]), CheckLen: k}, nil
}

// In reports whether p can still be a position in the file: the file reaches
// it, and the bytes before it are those that were consumed.
func (p Position) In(fd int) bool {
	if !p.Valid() {
		return false
	}
	if p.CheckLen == 0 {
		var st unix.Stat_t
		return unix.Fstat(fd, &st) == nil && st.Size >= p.Offset
	}
	var buf [CheckBytes]byte
	n, err := unix.Pread(fd, buf[:p.CheckLen], p.Offset-int64(p.CheckLen))
	return err == nil && n == p.CheckLen && Checksum(buf[:n]) == p.Check
}
