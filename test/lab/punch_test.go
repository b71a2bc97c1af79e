package lab

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// punch frees n bytes, as the sidecar does, and returns their former content.
func punch(t *testing.T, f *os.File, at int64, n int) []byte {
	t.Helper()
	text := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, at, int64(n)), text); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, int64(n)); err != nil {
		t.Fatal(err)
	}
	return text
}
