package segment_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

// follows returns, for each segment of a stream, its number and that of the previous segment.
func follows(t *testing.T, dest, stream string) (pairs [][2]uint64) {
	t.Helper()
	segs, err := segment.List(filepath.Join(dest, stream))
	must(t, err)
	for _, seg := range segs {
		pairs = append(pairs, [2]uint64{seg.Seq, seg.Follows()})
	}
	return pairs
}

func wantFollows(t *testing.T, dest, stream string, want ...[2]uint64) {
	t.Helper()
	got := follows(t, dest, stream)
	if len(got) != len(want) {
		t.Fatalf("segments %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("segments %v, want %v", got, want)
		}
	}
}

// A number that a restart skipped must not look like a missing segment. A number that was committed must look like a
// missing segment if its segment is gone.
func TestASegmentBehindAHoleInTheNumbersKnowsWhatItFollows(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		cfg := configOf(how)
		cfg.SegmentBytes = settings.Ki
		s := openStore(t, dest, cfg)
		str := freshStream(t, s, "gc")
		for seed := range int64(2) {
			must(t, str.Append(lines(seed, 50000)))
			sync(t, str)
		}
		m := str.Mark()
		must(t, str.Append(lines(3, 50000))) // number 3, which never gets committed
		must(t, s.Close())

		s = openStore(t, dest, cfg)
		str = s.Stream("gc")
		must(t, str.Resume(m, 1<<20))
		must(t, str.Append(lines(3, 50000)))
		sync(t, str)
		must(t, str.Append(lines(4, 50000)))
		sync(t, str)
		wantFollows(t, dest, "gc", [2]uint64{1, 0}, [2]uint64{2, 1}, [2]uint64{4, 2}, [2]uint64{5, 4})

		segs, err := segment.List(filepath.Join(dest, "gc"))
		must(t, err)
		must(t, os.Remove(segs[2].Path))
		wantFollows(t, dest, "gc", [2]uint64{1, 0}, [2]uint64{2, 1}, [2]uint64{5, 4})
	})
}

// The numbers before the first committed segment may belong to segments that were never committed.
func TestTheFirstCommittedSegmentFollowsNone(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, configOf(segment.Zstd))
	str := freshStream(t, s, "gc")
	must(t, str.Append(lines(1, 1000)))
	str.Abandon()
	must(t, str.Resume(segment.Mark{}, store.Unbounded))
	must(t, str.Append(lines(1, 1000)))
	sync(t, str)
	wantFollows(t, dest, "gc", [2]uint64{2, 0})
}

// Any process that may write to the segment can set the attribute to any text.
func TestANoteThatCannotBeIsIgnored(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, configOf(segment.Zstd))
	str := freshStream(t, s, "gc")
	must(t, str.Append(lines(1, 1000)))
	sync(t, str)
	segs, err := segment.List(filepath.Join(dest, "gc"))
	must(t, err)
	for _, text := range []string{"1", "2", "-1", "x", "", "999999999999999999", "99999999999999999999999999"} {
		must(t, unix.Setxattr(segs[0].Path, segment.FollowsAttr, []byte(text), 0))
		if got := segs[0].Follows(); got != 0 {
			t.Errorf("with the attribute %q, the segment follows %d, want 0", text, got)
		}
	}
}
