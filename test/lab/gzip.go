package lab

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Zip turns a segment into a segment of an earlier version of ullage, which compressed with gzip: it replaces the
// file with one that has a gzip member for each frame. The function next returns the decoded frames, and then
// [io.EOF]. Zip returns the path of the new file.
func Zip(segment string, next func() ([]byte, error)) (zipped string, err error) {
	var members bytes.Buffer
	z := gzip.NewWriter(&members)
	for {
		raw, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read a frame: %w", err)
		}
		z.Reset(&members)
		_, err = z.Write(raw)
		if err = errors.Join(err, z.Close()); err != nil {
			return "", fmt.Errorf("compress a frame: %w", err)
		}
	}
	zipped = strings.TrimSuffix(segment, ".zst") + ".gz"
	if err := os.WriteFile(zipped, members.Bytes(), 0o640); err != nil {
		return "", fmt.Errorf("write the segment: %w", err)
	}
	if err := os.Remove(segment); err != nil {
		return "", fmt.Errorf("remove the segment: %w", err)
	}
	return zipped, nil
}
