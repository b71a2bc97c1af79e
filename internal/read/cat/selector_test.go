package cat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/cut"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/clock"
)

// filterCases lists lines and whether each of them passes at level warning.
var filterCases = []struct {
	line string
	pass bool
}{
	{"begins in the middle of a record", false},
	{"[0.100s][info   ][gc] one", false},
	{"further line of one", false},
	{"[0.101s][warning][gc] two", true},
	{"further line of two", true},
	{"[                 ] another, as JDK 25 writes it", true},
	{"", true},
	{"[0.102s][warning][] " + "    12 messages dropped due to async logging", true},
	{"[0.103s][error  ][gc] " + strings.Repeat("long ", 100<<10), true},
	{"further line of the long one", true},
	{"[0.104s][debug  ][gc] " + strings.Repeat("long ", 100<<10), false},
	{strings.Repeat("[worker] ", 20<<10), false},
	{"[0.105s][error  ][gc] " + strings.Repeat("x", cut.HeadBytes-22), true},
	{"[0.106s][info   ][gc] " + strings.Repeat("x", cut.HeadBytes-22), false},
	{"[0.107s][error  ][gc] without its end", true},
}

// through feeds raw in pieces of one size through lines and a selector. It returns
// the lines that pass, with a newline where lines.End ends a line.
func through(raw []byte, size int, pick *selector) (passes []byte, marks []ul.Gap) {
	var l cut.Lines
	drain := func() {
		for p, ok := l.Next(); ok; p, ok = l.Next() {
			if !pick.take(p, nil) {
				continue
			}
			passes = append(passes, p.Text...)
			if p.Last && !bytes.HasSuffix(p.Text, []byte{'\n'}) {
				passes = append(passes, '\n')
			}
			if p.First && pick.line.lost != nil {
				marks = append(marks, pick.line.lost.marker)
			}
		}
	}
	for part := range slices.Chunk(raw, size) {
		l.Feed(part)
		drain()
	}
	l.End()
	drain()
	return passes, marks
}

// Whether a line passes must not depend on how its bytes are split, nor may memory depend
// on its length.
func TestSelectionIsBlindToPieces(t *testing.T) {
	var all, want bytes.Buffer
	for _, c := range filterCases {
		fmt.Fprintln(&all, c.line)
		if c.pass {
			fmt.Fprintln(&want, c.line)
		}
	}
	raw := bytes.TrimSuffix(all.Bytes(), []byte{'\n'})
	for _, size := range []int{1, 2, 3, 7, 100, 4096, cut.HeadBytes - 1, cut.HeadBytes, cut.HeadBytes + 1, 1 << 20, len(raw)} {
		got, _ := through(raw, size, newSelector(Config{Level: ul.Warning}, ""))
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("in pieces of %d: %d bytes pass, want %d", size, len(got), want.Len())
		}
	}
}

// Reading a stream stops once all later lines are known to be after the window. A single later line does not prove
// that.
func TestSelectionEndsBehindUntil(t *testing.T) {
	until := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	pick := newSelector(Config{Until: until}, "")
	take := func(after time.Duration) bool {
		text := until.Add(after).Format("[2006-01-02T15:04:05.000-0700][info][gc] line\n")
		return pick.take(cut.Piece{Text: []byte(text), First: true, Last: true}, nil)
	}
	if !take(-time.Minute) || !take(0) || take(time.Millisecond) || take(24*365*time.Hour) {
		t.Error("want exactly the lines up to Until to pass")
	}
	for range 2 * clock.PastLines {
		take(clock.PastSlack)
	}
	if pick.dates.Over() {
		t.Error("Over is true after lines that may be out of order, want false")
	}
	for range clock.PastLines - 1 {
		take(time.Hour)
	}
	if pick.dates.Over() || !take(0) {
		t.Error("Over is true before all later lines are known to be after the window, want false")
	}
	for range clock.PastLines {
		take(time.Hour)
	}
	if !pick.dates.Over() {
		t.Error("Over is false after the window, want true")
	}
}
