package ring

import (
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// An Error describes why the events of a ring, or some of them, could not be taken out. Its reason
// is the value of a metric's label.
type Error struct {
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// The reasons of errors.
const (
	reasonHeader  = "header"   // the file is not a ring of this version
	reasonRefused = "refused"  // the file may not be opened, or is not a regular file with one name
	reasonSize    = "size"     // the ring was truncated, or its size differs from that in its header
	reasonSparse  = "sparse"   // the ring has holes, whose memory is charged to the process that fills them
	reasonCursor  = "cursor"   // the ring's tail is impossible
	reasonWord    = "word"     // the ring has bytes that no writer writes
	reasonClaim   = "claim"    // a record was claimed and never completed: the thread was killed
	reasonStuck   = "stuck"    // a record was claimed for so long that the ring was abandoned
	reasonJournal = "journal"  // the journal is lost or invalid
	reasonChanged = "changed"  // the ring's bytes differ from those of the journal's entry
	reasonText    = "text"     // the text cannot be written
	reasonRoom    = "room"     // the tmpfs has no room for the text or the journal
	reasonTooMany = "too_many" // there are more rings than are read at a time
	reasonLease   = "lease"    // the kernel does not show whether the ring's JVM is gone
	reasonOther   = "other"
)

var reasons = []string{reasonHeader, reasonRefused, reasonSize, reasonSparse, reasonCursor, reasonWord, reasonClaim, reasonStuck,
	reasonJournal, reasonChanged, reasonText, reasonRoom, reasonTooMany, reasonLease, reasonOther}

func because(reason string, format string, args ...any) error {
	return &Error{reason, fmt.Errorf(format, args...)}
}

// reasonOf returns the reason of an error.
func reasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return reasonOther
}

// A header is the part of a ring that the JVM wrote before it gave the ring its name.
type header struct {
	capacity uint64
	pid      int64
	offset   int64 // System.nanoTime() plus this is nanoseconds since the epoch
	raised   raised
}

// A file is an open ring file.
type file struct {
	*calls
	header
	fd int // read-only, so that it does not prevent the lease
	w  int // descriptor for writing; -1: closed
	id position.Identity

	lease error // why the kernel did not show whether the JVM is gone; nil if it did
}

// openFile opens the named ring in the directory dir. It first opens a descriptor that only
// permits examining the file, since opening a FIFO or a device can have side effects.
func openFile(c *calls, dir int, name string) (*file, error) {
	look, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &Error{reasonRefused, fmt.Errorf("open ring: %w", err)}
	}
	defer unix.Close(look)
	var st unix.Statx_t
	if err := statx(look, &st); err != nil {
		return nil, &Error{reasonRefused, fmt.Errorf("stat ring: %w", err)}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return nil, because(reasonRefused, "open ring: it is not a regular file with one name")
	}
	fd, err := unix.Open(kernel.NameOf(look), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &Error{reasonRefused, fmt.Errorf("open ring: %w", err)}
	}
	f := &file{calls: c, fd: fd, w: -1, id: position.Identify(&st)}
	if err := f.readHeader(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func statx(fd int, st *unix.Statx_t) error {
	return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_BASIC_STATS|unix.STATX_BTIME, st)
}

// readHeader reads the header and compares it with the file.
func (f *file) readHeader() error {
	var h [loggersEnd]byte
	if err := f.read(f.fd, h[:], 0); err != nil {
		return &Error{reasonSize, fmt.Errorf("read header: %w", err)}
	}
	f.capacity = le.Uint64(h[capacityAt:])
	switch {
	case le.Uint64(h[:]) != magic:
		return because(reasonHeader, "read header: it is not the header of a ring")
	case le.Uint32(h[versionAt:]) != version:
		return because(reasonHeader, "read header: version is %d, but this ullage reads version %d", le.Uint32(h[versionAt:]), version)
	case le.Uint32(h[dataOffsetAt:]) != dataAt, le.Uint32(h[stripesAt:]) != 1, le.Uint32(h[maxPayloadAt:]) > maxPayload,
		f.capacity < minCapacity, f.capacity > maxCapacity, bits.OnesCount64(f.capacity) != 1, le.Uint64(h[flagsAt:]) != 0:
		return because(reasonHeader, "read header: its numbers are not valid for a ring")
	}
	f.pid = int64(le.Uint64(h[pidAt:]))
	f.offset = int64(le.Uint64(h[wallAt:]) - le.Uint64(h[monotonicAt:]))
	f.raised = parseRaised(h[:])
	return f.checkSize()
}

// checkSize compares the size of the file with its header: the file may have been truncated or
// extended.
func (f *file) checkSize() error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return fmt.Errorf("stat ring: %w", err)
	}
	if want := dataAt + int64(f.capacity); st.Size != want {
		return because(reasonSize, "the ring has %d bytes instead of %d", st.Size, want)
	}
	return nil
}

// checkMemory reports a ring with holes. If the drain writes into a hole, the memory is
// charged to the sidecar.
func (f *file) checkMemory() error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return fmt.Errorf("stat ring: %w", err)
	}
	if want := dataAt + int64(f.capacity); st.Blocks*512 < want {
		return because(reasonSparse, "the ring has %d bytes of memory instead of %d", st.Blocks*512, want)
	}
	return nil
}

// A control is the content of the control block. Its numbers are not checked.
type control struct {
	tail    uint64
	head    uint64
	intact  bool // the head matches its complement
	closed  bool // the JVM has returned the ring; the tail is final
	dropped counts
}

// counts holds the events that a ring has refused since its beginning.
type counts struct {
	lines [ul.NumReasons][ul.NumLevels]uint64
	bytes uint64
}

// control reads the control block.
func (f *file) control() (c control, err error) {
	var b [controlBytes]byte
	if err := f.read(f.fd, b[:], controlAt); err != nil {
		return c, &Error{reasonSize, fmt.Errorf("read control block: %w", err)}
	}
	c.tail, c.head = le.Uint64(b[:]), le.Uint64(b[headAt:])
	c.tail, c.closed = c.tail&^closedBit, c.tail&closedBit != 0
	c.intact = le.Uint64(b[headAt+8:]) == ^c.head
	for r := range c.dropped.lines {
		for l := range c.dropped.lines[r] {
			c.dropped.lines[r][l] = le.Uint64(b[dropsAt+8*(r*ul.NumLevels+l):])
		}
	}
	c.dropped.bytes = le.Uint64(b[droppedBytesAt:])
	return c, nil
}

// at returns the offset of a position in the file.
func (f *file) at(pos uint64) int64 { return dataAt + int64(pos&(f.capacity-1)) }

// span returns the number of bytes from a position to the end of the data.
func (f *file) span(pos uint64) uint64 { return f.capacity - pos&(f.capacity-1) }

// data reads the data at a position. The data does not wrap around.
func (f *file) data(b []byte, pos uint64) error {
	if err := f.read(f.fd, b, f.at(pos)); err != nil {
		return &Error{reasonSize, fmt.Errorf("read ring: %w", err)}
	}
	return nil
}

var zeros [64 << 10]byte

// zero writes zeros between two positions, to return these bytes to the JVM. The range does not
// wrap around.
func (f *file) zero(from, to uint64) error {
	if err := f.openForWriting(); err != nil {
		return err
	}
	for from < to {
		n := min(to-from, uint64(len(zeros)))
		if err := f.write(stepZero, f.w, zeros[:n], f.at(from)); err != nil {
			return fmt.Errorf("zero ring: %w", err)
		}
		from += n
	}
	return nil
}

// setHead lets the JVM claim the bytes before a position again. The two words are written with
// one call, and a JVM that sees only one of them ignores both.
func (f *file) setHead(pos uint64) error {
	var b [16]byte
	le.PutUint64(b[:], pos)
	le.PutUint64(b[8:], ^pos)
	return f.put(stepHead, b[:], controlAt+headAt)
}

// setFlag sets one of the two words in the header that belong to the sidecar.
func (f *file) setFlag(at int64, value uint32) error {
	var b [4]byte
	le.PutUint32(b[:], value)
	return f.put(stepFlag, b[:], at)
}

func (f *file) put(s step, b []byte, at int64) error {
	if err := f.openForWriting(); err != nil {
		return err
	}
	if err := f.write(s, f.w, b, at); err != nil {
		return fmt.Errorf("write ring: %w", err)
	}
	return nil
}

func (f *file) openForWriting() error {
	if f.w >= 0 {
		return nil
	}
	w, err := unix.Open(kernel.NameOf(f.fd), unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &Error{reasonRefused, fmt.Errorf("open ring for writing: %w", err)}
	}
	f.w = w
	return nil
}

// writerless reports whether the JVM is gone. No process opens a ring again, so the result true
// is final. If the kernel does not show whether the JVM is gone, the field lease has the reason.
func (f *file) writerless() (is bool) {
	f.closeForWriting()
	is, f.lease = unwritten(f.fd)
	return is
}

// unwritten reports whether no process, including this one, has a file open or mapped for writing. Only then does
// the kernel grant a read lease. The calls are raw, so that the Go scheduler cannot run other goroutines while we
// hold the lease. Only the owner of a file gets a lease.
func unwritten(fd int) (bool, error) {
	_, _, errno := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	switch errno {
	case 0:
		unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		return true, nil
	case unix.EAGAIN:
		return false, nil
	}
	return false, because(reasonLease, "take a lease: %w", errno)
}

func (f *file) closeForWriting() {
	if f.w >= 0 {
		unix.Close(f.w)
		f.w = -1
	}
}

func (f *file) close() {
	f.closeForWriting()
	unix.Close(f.fd)
}
