package report

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/read/report/sum"
	"github.com/ullage/ullage/internal/read/report/view"
)

// FuzzReport reads any bytes as a log. There must be a report or an error, the figures must
// not contradict one another, and the page must have no script but its own.
func FuzzReport(f *testing.F) {
	for _, name := range []string{"g1-jdk17", "z-jdk25", "no-decorators-jdk25"} {
		text, err := os.ReadFile(samples + name + ".log")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 3000)], 100)
	}
	f.Add([]byte(young(1, 2, 1)+young(0, 1, 1e15)+"\x00\x00"+hostile), 7)
	f.Fuzz(func(t *testing.T, log []byte, block int) {
		s := sum.New("", 0, 0)
		st := newStream(&input{name: "gc.log"}, s, Config{})
		for rest := log; len(rest) > 0; {
			n := min(max(block, 1), len(rest))
			st.source.Lines.Feed(rest[:n])
			st.lines()
			rest = rest[n:]
		}
		st.end()
		if s.Empty() {
			return
		}
		r := s.Report()
		if x := r.Totals.Throughput; x != nil && (*x < 0 || *x > 1) {
			t.Errorf("the throughput is %v, want 0 to 1", *x)
		}
		n := uint64(0)
		for _, b := range r.Bars {
			n += b.Count
		}
		if n != r.Totals.Stops || r.End < r.Begin || len(r.Longest) > 10 || len(r.Suspected) > 20 {
			t.Errorf("the bars have %d of %d stops, the axis is from %v to %v, %d longest, %d suspected; want all stops, an axis in order, at most 10 and 20",
				n, r.Totals.Stops, r.Begin, r.End, len(r.Longest), len(r.Suspected))
		}
		var page, text bytes.Buffer
		if err := view.HTML(&page, r); err != nil {
			t.Error(err)
		}
		if n := strings.Count(page.String(), "<script"); n != 2 {
			t.Errorf("the page has %d scripts, want 2", n)
		}
		if err := view.Text(&text, view.Style{}, r); err != nil {
			t.Error(err)
		}
		if err := view.JSON(&text, r); err != nil {
			t.Error(err)
		}
		if i := bytes.IndexFunc(text.Bytes(), func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f }); i >= 0 {
			t.Errorf("a control character in the text: %q, want none", text.Bytes()[max(0, i-20):i+1])
		}
	})
}
