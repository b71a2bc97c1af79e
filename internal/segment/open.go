package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum reads a segment and returns its size and its CRC-32C.
func Checksum(file *os.File) (size int64, crc uint32, err error) {
	sum := crc32.New(castagnoli)
	if size, err = io.Copy(sum, file); err != nil {
		return 0, 0, fmt.Errorf("read segment: %w", err)
	}
	return size, sum.Sum32(), nil
}

// OpenFile opens a segment that was listed, to read the bytes that it has on disk. Neither the
// file nor the directory of its stream may be a link, which somebody who writes to the
// volume may have put there meanwhile.
func OpenFile(seg Info) (*os.File, error) {
	dir, err := openDir(filepath.Dir(seg.Path))
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(seg.Path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", &fs.PathError{Op: "open", Path: seg.Path, Err: err})
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, fmt.Errorf("open segment: %w", &fs.PathError{Op: "open", Path: seg.Path, Err: errors.Join(err, errors.New("not a regular file"))})
	}
	return os.NewFile(uintptr(fd), seg.Path), nil
}
