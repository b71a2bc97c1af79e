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

// OpenFile opens a listed segment to read its bytes as they are on disk. It fails if the file or
// the directory of its stream is a link: another writer to the volume may have put it there
// since the listing.
func OpenFile(seg Info) (*os.File, error) {
	file, err := untrusted.OpenIn(filepath.Dir(seg.Path), filepath.Base(seg.Path))
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return file, nil
}
