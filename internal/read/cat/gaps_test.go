package cat

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/test/lab"
)

// gapAt is a gap of n lines that were dropped within a second.
func gapAt(at time.Time, n uint64) ul.Gap {
	g := ul.Gap{Bytes: 10 * n, First: at, Last: at.Add(time.Second)}
	g.Lines[ul.Discard][ul.Info] = n
	return g
}

// Markers, and nothing else, must be found, however their bytes are split.
func TestGapsAreFoundInAnyPieces(t *testing.T) {
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var raw []byte
	var want []ul.Gap
	for i := range 5 {
		g := gapAt(begin.Add(time.Duration(i)*time.Hour), uint64(i+1))
		raw = append(raw, "[0.100s][warning][gc] one\n further line\n\n"...)
		raw = append(raw, strings.Repeat("x", i*cut.HeadBytes/2)...) // glued to other text, it is not a marker
		if i%2 == 1 {
			raw = append(raw, '\n')
		}
		if i%2 == 1 || i == 0 {
			want = append(want, g)
		}
		raw = g.AppendMarker(raw)
	}
	last := gapAt(begin, 9)
	want = append(want, last)
	raw = bytes.TrimSuffix(last.AppendMarker(raw), []byte{'\n'}) // as at the end of a stream
	for _, size := range []int{1, 2, 7, 100, 4096, cut.HeadBytes - 1, cut.HeadBytes, cut.HeadBytes + 1, len(raw)} {
		out, got := through(raw, size, newSelector(Config{Gaps: true}, ""))
		if !slices.Equal(got, want) || bytes.Count(out, []byte{'\n'}) != len(want) {
			t.Errorf("in pieces of %d: %d gaps, want %d, in %q", size, len(got), len(want), out)
		}
	}
}

// The first header sets the columns of all later rows, even for a stream that appears later.
func TestFollowOfGapsListsEachOnce(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	d := newShipped(t, segment.Zstd)
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	marker := func(i int) string {
		g := gapAt(begin.Add(time.Duration(i)*time.Minute), uint64(i))
		return string(g.AppendMarker(nil))
	}
	s := d.restart("gc.log", segment.Mark{})
	d.append(s, "[0.100s][info][gc] one\n")
	mark := d.sync(s)
	f := startFollower(t, Config{Gaps: true}, d.dir)
	for deadline := time.Now().Add(lab.Patience); !strings.Contains(f.stderr.String(), "no gaps yet; waiting for one"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("stderr is %q, want \"no gaps yet; waiting for one\" in it", f.stderr.String())
		}
	}
	d.append(s, marker(1), "[0.101s][info][gc] two\n")
	f.expect("TIME                          STREAM  KIND           LINES         BYTES    SECONDS  DISCARD                   DROP\n" +
		"2026-11-21T10:01:00.000+0000  gc.log  dropped            1            10      1.000  info=1                    -\n")
	s = d.restart("gc.log", mark) // the new sidecar writes the same lines again
	d.append(s, marker(1)+"[0.101s][info][gc] two\n"+marker(2))
	f.expect("2026-11-21T10:02:00.000+0000  gc.log  dropped            2            20      1.000  info=2                    -\n")
	d.append(d.restart("another.log", segment.Mark{}), marker(3))
	f.expect("2026-11-21T10:03:00.000+0000  another.log  dropped            3            30      1.000  info=3                    -\n")
}
