package store

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

func numberFile(dest string) string { return filepath.Join(dest, segment.OwnDir, numberName) }

func TestNumberOfTheCheckpointOutlivesAProcess(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	must(t, s.Acquire(t.Context()))
	if s.Number() != 0 {
		t.Fatalf("a new destination has the number %d, want 0", s.Number())
	}
	for _, n := range []uint64{7, 1 << 40, math.MaxUint64, 8} {
		s.SetNumber(n)
		if other := openStore(t, dest, DefaultConfig()); other.Number() != n || s.Number() != n {
			t.Errorf("the numbers are %d and %d, want %d", other.Number(), s.Number(), n)
		}
	}
}

// Open reads the number without the lock. The process that holds the lock may record a higher
// number until it ends.
func TestAcquireReadsTheNumberAgain(t *testing.T) {
	dest := t.TempDir()
	first := openStore(t, dest, DefaultConfig())
	must(t, first.Acquire(t.Context()))
	second := openStore(t, dest, DefaultConfig())
	first.SetNumber(3)
	must(t, first.Close())
	if must(t, second.Acquire(t.Context())); second.Number() != 3 {
		t.Errorf("the number is %d, want 3", second.Number())
	}
}

func TestNumberThatIsNone(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "short": "00000000000000000007", "long": "000000000000000000070\n", "no digits": "0000000000000000000x\n",
		"too large": "99999999999999999999\n", "zeros": strings.Repeat("\x00", numberLen),
	} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir()
			must(t, openStore(t, dest, DefaultConfig()).Close())
			must(t, os.WriteFile(numberFile(dest), []byte(text), 0o640))
			s := openStore(t, dest, DefaultConfig())
			if damaged := strings.Contains(s.log.String(), "ignoring a damaged checkpoint number"); s.Number() != 0 || damaged != (text != "") {
				t.Errorf("the number is %d, want 0, and a log of a damaged number: %v; log: %s", s.Number(), text != "", s.log)
			}
			s.SetNumber(9)
			if other := openStore(t, dest, DefaultConfig()); other.Number() != 9 {
				t.Errorf("the damaged number is not replaced: %d, want 9", other.Number())
			}
		})
	}
}

// If the destination does not accept a number, that is logged once, and the next number is recorded.
func TestNumberThatCannotBeRecorded(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	must(t, s.Acquire(t.Context()))
	must(t, os.Mkdir(numberFile(dest), 0o700))
	s.SetNumber(1)
	s.SetNumber(2)
	if n := strings.Count(s.log.String(), "recording the number of the checkpoint failed"); n != 1 || s.Number() != 0 {
		t.Errorf("the failure was logged %d times, and the number is %d; want 1 time and the number 0", n, s.Number())
	}
	must(t, os.Remove(numberFile(dest)))
	s.SetNumber(3)
	must(t, os.Remove(numberFile(dest)))
	s.SetNumber(4)
	if other := openStore(t, dest, DefaultConfig()); other.Number() != 4 {
		t.Errorf("the number is %d, want 4", other.Number())
	}
}

// Between two commits a writer creates one segment. If two segments are past the mark, a later
// commit was made.
func TestResumeDeletesOneSegmentAtMost(t *testing.T) {
	for _, zero := range []bool{false, true} {
		dest := t.TempDir()
		cfg := configOf(segment.None)
		cfg.SegmentBytes = 1
		s := openStore(t, dest, cfg)
		str := freshStream(t, s, "gc")
		var marks []segment.Mark
		if zero {
			marks = append(marks, segment.Mark{})
		}
		for n := range 3 {
			appendAll(t, str, lines(int64(n), 100))
			marks = append(marks, sync(t, str))
		}
		want := contents(t, dest, "gc")
		must(t, s.Close())
		str = openStore(t, dest, cfg).Stream("gc")
		if err := str.Resume(marks[0], 1<<20); err == nil || !strings.Contains(err.Error(), "are after the mark") {
			t.Errorf(`with the zero mark (%t), the error is %v, want "are after the mark" in it`, zero, err)
		}
		wantContents(t, dest, "gc", want)
		must(t, str.Resume(marks[len(marks)-2], 1<<20))
	}
}
