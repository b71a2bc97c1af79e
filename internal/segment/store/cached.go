package store

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

const backBytes = 256 << 10

// cached tracks the part of the newest segment that is in the page cache. Its system calls are
// only hints: Sync reports the disk's errors, and a file system may lack the calls.
type cached struct {
	begun int64 // the kernel was asked to write the segment back up to here
	kept  int64 // ... and to drop the written pages up to here
}

// writeBack asks the kernel to begin writing whole new pages of a segment that has grown to a
// size, so that Sync has little left to wait for. writeBack leaves out the page that grows,
// because the next append would wait for that page.
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
