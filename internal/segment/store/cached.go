package store

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

const backBytes = 256 << 10

// cached tracks the part of the newest segment that is in the page cache. Its system calls are
// only hints, whose errors are ignored: Sync reports errors of the disk, and a file system may
// not support the calls.
type cached struct {
	begun int64 // up to here, the kernel was asked to write the segment back
	kept  int64 // up to here, it was asked to drop the written pages
}

// writeBack asks the kernel to begin writing whole new pages of a segment that has grown to a
// size, so that Sync has little left to wait for. writeBack leaves out the last page, which
// still grows, because the next append would wait for it.
func (c *cached) writeBack(file *os.File, size int64) {
	end := size &^ (segment.PageBytes - 1)
	if end-c.begun < backBytes {
		return
	}
	_ = unix.SyncFileRange(int(file.Fd()), c.begun, end-c.begun, unix.SYNC_FILE_RANGE_WRITE)
	c.begun = end
}

// forget drops from the page cache the pages of a segment that Sync has left clean, except the
// last page, which grows.
func (c *cached) forget(file *os.File, size int64) {
	if end := size &^ (segment.PageBytes - 1); end > c.kept {
		_ = unix.Fadvise(int(file.Fd()), c.kept, end-c.kept, unix.FADV_DONTNEED)
		c.kept = end
	}
}
