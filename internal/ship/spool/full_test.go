package spool

import (
	"path/filepath"
	"strings"
	"testing"
)

// A full block follows a record without lines. The marker comes before the block.
func TestFullBlockBehindAMarker(t *testing.T) {
	text := strings.Repeat(manyLines(100, "rest"), BlockBytes/2000)[:BlockBytes-1] + "\n"
	l, _ := open(t, filepath.Join(t.TempDir(), "spool"))
	gone := appended(t, l, block(0, "rest\n"), WithoutLines())
	full := appended(t, l, block(5, text), Without{})
	if got := read(t, l, gone, full); shape(got.Data) != "<1 lines, 5 bytes>\n"+text {
		t.Errorf("read %d bytes, want a marker and %d", len(got.Data), len(text))
	}
}
