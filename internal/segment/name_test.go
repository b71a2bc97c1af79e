package segment_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
)

func TestParseName(t *testing.T) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 7e6, time.UTC)
	for _, how := range allCompressions {
		for _, seq := range []uint64{1, 999999, 1000000, 1<<59 - 1} {
			name := segment.FileName(start, seq, how)
			info, ok := segment.ParseName(name)
			if !ok || info.Seq != seq || !info.Start.Equal(start) || info.Compress != how || info.Name != name {
				t.Errorf("ParseName(%q) = %+v, %v; want Seq %d, Start %v, Compress %v, that Name and true", name, info, ok, seq, start, how)
			}
		}
	}
	if got := segment.FileName(start, 1, segment.Zstd); got != "20261120T100000.007Z-000001.log.zst" {
		t.Errorf(`the name is %q, want "20261120T100000.007Z-000001.log.zst"`, got)
	}
}

func TestParseNameRefusesWhatIsNotOurs(t *testing.T) {
	for _, name := range []string{
		"", "gc.log", "key", "20261120T100000.000Z-000001", "20261120T100000.000Z-1.log", "20261120T100000.000Z-0000001.log",
		"20261120T100000Z-000001.log", "20261120T100000.000Z-+00001.log", "20261120T100000.000Z-000001.log.zst.tmp",
		"20261320T100000.000Z-000001.log", "20261120T100000.000Z-9999999999999999999.log", "20261120T100000.000Z--00001.log",
		"../20261120T100000.000Z-000001.log", "20261120T100000,000Z-000001.log",
	} {
		if info, ok := segment.ParseName(name); ok {
			t.Errorf("ParseName(%q) = %+v, want it refused", name, info)
		}
	}
}

func TestValidStream(t *testing.T) {
	for _, name := range []string{"gc", "gc-1.log", "größe", "a b", strings.Repeat("x", 200)} {
		if err := segment.ValidStream(name); err != nil {
			t.Errorf("ValidStream(%q): %v, want no error", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", ".ullage", "a/b", "/", "a\nb", "a\x00", "\xff", "\u0085", strings.Repeat("x", 201)} {
		if err := segment.ValidStream(name); err == nil {
			t.Errorf("%q is allowed, want an error", name)
		}
	}
}

func TestListIgnoresWhatIsNotASegment(t *testing.T) {
	dest := t.TempDir()
	dir := filepath.Join(dest, "gc")
	must(t, os.MkdirAll(filepath.Join(dir, "20261120T100000.000Z-000009.log"), 0o750))
	must(t, os.Mkdir(filepath.Join(dest, "empty"), 0o750))
	must(t, os.Mkdir(filepath.Join(dest, ".ullage"), 0o750))
	// The clock stepped back between segments 2 and 10.
	names := []string{"20261120T100000.000Z-000002.log", "20261120T090000.000Z-000010.log.gz", "20261120T110000.000Z-000001.log.zst"}
	for _, name := range append(names, "notes.txt") {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o640))
	}
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "20261120T100000.000Z-000007.log")))
	must(t, os.Symlink(dir, filepath.Join(dest, "link")))
	segs, err := segment.List(dir)
	must(t, err)
	var got []string
	for _, s := range segs {
		got = append(got, s.Name)
		if s.Stream != "gc" || s.Size != 2 || s.Path != filepath.Join(dir, s.Name) || s.ModTime.IsZero() {
			t.Errorf("the segment is %+v, want Stream gc, Size 2, the Path %s and a ModTime", s, filepath.Join(dir, s.Name))
		}
	}
	if want := []string{names[2], names[0], names[1]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	open, err := os.Open(dir)
	must(t, err)
	defer open.Close()
	if two, err := segment.Newest(open, 2); err != nil || len(two) != 2 || two[1].Seq != 10 || two[0].Seq != 2 {
		t.Errorf("the newest 2 are %v, error %v; want 2 segments, with Seq 2 and then Seq 10", two, err)
	}
	streams, err := segment.Streams(dest)
	must(t, err)
	if !slices.Equal(streams, []string{"empty", "gc"}) {
		t.Errorf("the streams are %v, want empty and gc", streams)
	}
}
