package position

import (
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
)

const (
	// PageSize is the unit in which memory of a file is reclaimed. A kernel
	// with larger pages reclaims less; nothing else changes.
	PageSize = 4096

	// CheckBytes is how many bytes before an offset are compared, at most.
	CheckBytes = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of data. All checks of positions and spool
// records use it.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// Identity identifies a source file for its whole life. Born is the inode's
// time of birth in nanoseconds, or zero if the file system does not record it.
// Born distinguishes a file from an earlier file with the same inode number.
type Identity struct {
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
	Born int64  `json:"born"`
}

// Identify returns the identity in the result of statx, called with
// STATX_BASIC_STATS and STATX_BTIME.
func Identify(st *unix.Statx_t) Identity {
	id := Identity{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id
}

// Content identifies what a source file holds between two truncations. A JVM that truncates
// its log in place begins another content of the same file. A position in one content has
// no meaning in the other.
type Content struct {
	Identity
	Epoch uint32 `json:"epoch,omitempty"` // how often the file was truncated before
}

// Saved is what a checkpoint records about a content: its stream, and how far
// it was consumed. If Stream is empty, the file's name determines the stream.
type Saved struct {
	Stream string `json:"stream"`
	Position
}

// Position is a place in a source file: everything before Offset has been
// consumed. The zero value is the beginning.
type Position struct {
	Offset int64 `json:"offset"`
	// Check is the CRC-32C of the CheckLen bytes before Offset. All of these bytes are in the page
	// of the last byte before Offset.
	Check    uint32 `json:"check"`
	CheckLen int    `json:"check_len"`
	// Open reports that Offset is inside a line longer than the limit.
	Open bool `json:"open,omitempty"`
	// Level is the level of the previous record, which a continuation inherits.
	Level ul.Level `json:"level,omitempty"`
}

// Span returns how many bytes before offset a Position checks. They never reach
// into the previous page, which may have been reclaimed.
func Span(offset int64) int {
	if offset == 0 {
		return 0
	}
	return int(min(CheckBytes, (offset-1)%PageSize+1))
}

// PageBefore returns the beginning of the page that holds the byte before
// offset. This is the only page before a position that must not be reclaimed.
func PageBefore(offset int64) int64 { return max(0, offset-1) &^ (PageSize - 1) }

// PageAfter returns the beginning of the first page that holds no byte before
// offset.
func PageAfter(offset int64) int64 { return (offset + PageSize - 1) &^ (PageSize - 1) }

// Valid reports whether p can be a position. Positions in files of the state
// directory are untrusted input.
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

// In reports whether p can still be a position in the file: the file extends to
// p, and the bytes before p have the checksum.
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
