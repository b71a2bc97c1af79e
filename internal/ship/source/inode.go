package source

import (
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/ship/position"
)

// An Inode is the open source file that currently holds a content, with the state of the file's
// pages.
type Inode struct {
	FD        int   // read-only, so that our own descriptor does not prevent the lease; -1: not held
	Punchable bool  // holes may be punched into it
	Reclaimed int64 // punched up to here
	hollow    bool  // the first page was a hole when it was last checked

	// Stranger is the user who created the file, if this process may not free the file's memory or
	// may not attach to that user's JVM; otherwise nil.
	Stranger *kernel.User
}

// beginsWithHole reports whether the first page is a hole.
func (i *Inode) beginsWithHole() bool {
	data, err := i.NextData(0)
	return err == nil && data >= position.PageSize
}

// NextHole returns the first offset at or after the given one that is in a hole, or the end of
// the file.
func (i *Inode) NextHole(offset int64) (int64, error) { return unix.Seek(i.FD, offset, unix.SEEK_HOLE) }

// NextData returns the first offset at or after the given one that is not in a
// hole, or the end of the file.
func (i *Inode) NextData(offset int64) (int64, error) {
	at, err := unix.Seek(i.FD, offset, unix.SEEK_DATA)
	if err == unix.ENXIO {
		size, _, err := i.Stat()
		return max(offset, size), err
	}
	return at, err
}

// Stat asks the kernel for the file's size and number of names.
func (i *Inode) Stat() (size int64, links uint64, err error) {
	var st unix.Stat_t
	err = unix.Fstat(i.FD, &st)
	return st.Size, uint64(st.Nlink), err
}

// Resident asks the kernel how much memory the file takes and how long it is.
func (i *Inode) Resident() (memory, length int64) {
	var st unix.Stat_t
	if i.FD < 0 || unix.Fstat(i.FD, &st) != nil {
		return 0, 0
	}
	return st.Blocks * 512, st.Size
}

// LookWhetherHollow records whether the first page is a hole now. On a file system with larger
// pages than ours, a punch leaves zeros in the page instead.
func (i *Inode) LookWhetherHollow() {
	data, err := i.NextData(0)
	i.hollow = err == nil && data >= position.PageSize && i.Reclaimed >= position.PageSize
}

// Refilled reports whether the file was written again from its beginning: its first page was
// freed and now has data again. This check is needed because two logs may have the same
// bytes before a position.
func (i *Inode) Refilled() bool {
	if !i.hollow {
		return false
	}
	// A process that reads a hole through a memory map turns it into zeros.
	data, err := i.NextData(0)
	return err == nil && data == 0 && !i.zeroAt(0)
}

// zeroAt reports whether the byte at offset is zero. A JVM never writes zero bytes; a
// kernel with larger pages than ours leaves zeros where pages were freed.
func (i *Inode) zeroAt(offset int64) bool {
	var b [1]byte
	n, err := unix.Pread(i.FD, b[:], offset)
	return err == nil && n == 1 && b[0] == 0
}

// Holds reports whether p can still be a position in this file: the file extends to p, and
// the bytes before p are the bytes that were consumed.
func (i *Inode) Holds(p position.Position) bool { return !i.Refilled() && p.In(i.FD) }

// writers is the kernel's answer to the question whether any process has a file open for
// writing.
type writers int

const (
	writersUnknown writers = iota
	writersNone
	writersSome
)

// writers asks the kernel by taking a read lease and dropping it at once. The kernel grants
// the lease only if no process has the file open for writing.
//
// A process that opens this file for writing between the two calls waits for the second call.
// If this process is stopped in between, the other process waits for the time in
// /proc/sys/fs/lease-break-time (45 s). So the calls are raw: the Go scheduler cannot run other
// goroutines between them, and only the kernel can preempt the thread there. A rotation never
// waits: the JVM renames its file and creates another one, and a lease delays neither. A JVM
// waits only if it opens a finished log in place, as a JVM with filecount=0 does at its start.
func (i *Inode) writers() writers {
	switch _, _, err := unix.RawSyscall(unix.SYS_FCNTL, uintptr(i.FD), unix.F_SETLEASE, unix.F_RDLCK); err {
	case 0:
		unix.RawSyscall(unix.SYS_FCNTL, uintptr(i.FD), unix.F_SETLEASE, unix.F_UNLCK)
		return writersNone
	case unix.EAGAIN:
		return writersSome
	}
	return writersUnknown
}

// Written reports whether the kernel shows that a process has the file open for writing.
func (i *Inode) Written() bool { return i.writers() == writersSome }
