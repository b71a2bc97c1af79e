package segment

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/ullage/ullage/internal/base/untrusted"
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
// file nor the directory of its stream may be a link, which another writer to the volume may
// have put there meanwhile.
func OpenFile(seg Info) (*os.File, error) {
	file, err := untrusted.OpenIn(filepath.Dir(seg.Path), filepath.Base(seg.Path))
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return file, nil
}
