package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	dirMode  = 0o750
	fileMode = 0o640
)

// writeNew creates a file, which must not exist yet, and makes its bytes durable.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// journalLives returns an error if the file system of a file has aborted its journal although a
// sync succeeded. ext4 ends a transaction of an aborted journal as if it had been written, so
// that an fdatasync at that moment succeeds although its data is not durable. But ext4 begins
// no change of metadata on an aborted journal. So of two chmod calls that change nothing, the
// first makes ext4 notice the abort, and the second fails. Other file systems report the error
// in the sync itself.
func journalLives(file *os.File) error {
	fd := int(file.Fd())
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Fstatfs(fd, &fs) != nil || fs.Type != unix.EXT4_SUPER_MAGIC || unix.Fstat(fd, &st) != nil {
		return nil
	}
	for range 2 {
		err := kernel.Retry(func() error { return unix.Fchmod(fd, st.Mode&0o7777) })
		if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EIO) { // other errors say nothing about the journal
			return fmt.Errorf("change %s after a sync: %w", file.Name(), err)
		}
	}
	return nil
}

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return syncAndClose(dir)
}

func syncAndClose(dir *os.File) error {
	err := dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
