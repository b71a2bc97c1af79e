package store

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/segment/seek"
)

// hintNames are the hint files in the directory of a stream.
var hintNames = [...]string{seek.Name, index.Name}

// hintFile is a hint file: a sequence of entries of the same length. Nothing depends on the
// file, and it is never synced, so errors are not reported: the next entry replaces an entry
// that could not be written.
type hintFile struct {
	dest         *destination
	ledger       *ledger
	stream, name string
	most         int64 // at most this many bytes of the file are read

	size    int64 // of the valid entries
	loaded  bool  // size is known
	stale   bool  // other bytes may follow the entries
	counted int64 // how much space the file takes on the disk; 0: there is no file
}

// info names the file as if it were a segment.
func (f *hintFile) info() segment.Info {
	return segment.Info{Stream: f.stream, Name: f.name, Path: filepath.Join(f.dest.dir, f.stream, f.name)}
}

// load takes over the file of an earlier process. It returns the file's content; the caller
// sets size.
func (f *hintFile) load() []byte {
	data, disk := f.read()
	if f.counted == 0 && disk > 0 {
		f.counted = disk
		if f.ledger.fresh { // the ledger has counted the file
			f.ledger.hints = f.ledger.hints.minus(f.use())
		}
	}
	f.loaded, f.stale = true, true // even if there is no file
	return data
}

// read returns the content of the file and how much space the file takes on the disk.
func (f *hintFile) read() (data []byte, disk int64) {
	file, err := f.dest.openSegment(f.info(), unix.O_RDONLY)
	if err != nil {
		return nil, 0
	}
	defer file.Close()
	if stat, err := file.Stat(); err == nil {
		disk = wholePages(stat.Size())
	}
	if data, err = io.ReadAll(io.LimitReader(file, f.most)); err != nil {
		return nil, disk
	}
	return data, disk
}

// replace writes data in place of all entries. It overwrites the file from its beginning, so a
// concurrent reader may find old entries, out of order, after the new ones.
func (f *hintFile) replace(data []byte) {
	f.stale = true
	if f.write(data, 0) == nil {
		f.size = int64(len(data))
	}
}

// add writes data after the entries.
func (f *hintFile) add(data []byte) error {
	err := f.write(data, f.size)
	if err == nil {
		f.size += int64(len(data))
	}
	return err
}

// write writes entries at an offset and cuts off stale ones after them.
func (f *hintFile) write(data []byte, at int64) error {
	file, err := f.dest.openSegment(f.info(), unix.O_WRONLY|unix.O_CREAT)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(data, at)
	if err == nil && f.stale {
		err = file.Truncate(at + int64(len(data)))
	}
	f.stale = err != nil
	if stat, err := file.Stat(); err == nil {
		f.counted = wholePages(stat.Size())
	}
	return err
}

// newest returns the last segments of the stream.
func (f *hintFile) newest(n int) ([]segment.Info, error) {
	dir, err := f.dest.openDir(f.stream)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return segment.Newest(dir, n)
}

// use returns what the file takes on the file system.
func (f *hintFile) use() use {
	if f.counted == 0 {
		return use{}
	}
	return use{bytes: f.counted, inodes: 1}
}

// hintUse returns what a hint file in a directory takes on the file system, or zero if there is
// no such file.
func hintUse(dir *os.File, name string) use {
	var st unix.Stat_t
	err := kernel.Retry(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return use{}
	}
	return use{bytes: wholePages(st.Size), inodes: 1}
}
