package tail

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/source"
)

func TestWithheldLinesStandBehindTheOthers(t *testing.T) {
	log := &source.Stream{Name: "gc.log"}
	marks := &source.Stream{Name: "ullage.log", Whole: true}
	for name, c := range map[string]struct {
		of       *source.Stream
		below    ul.Level
		in       string
		open     ul.Level // of the line that the text continues; Unknown if the text begins with a new line
		kept, to string
	}{
		"nothing is withheld":      {log, ul.Trace, "[1s][trace][gc] a\n", 0, "[1s][trace][gc] a\n", ""},
		"in turns":                 {log, ul.Info, "[1s][debug][gc] a\n[1s][info][gc] b\n[1s][trace][gc] c\n[1s][info][gc] d\n", 0, "[1s][info][gc] b\n[1s][info][gc] d\n", "[1s][debug][gc] a\n[1s][trace][gc] c\n"},
		"all":                      {log, ul.Warning, "[1s][info][gc] a\n", 0, "", "[1s][info][gc] a\n"},
		"a record's further lines": {log, ul.Info, "[1s][debug][gc] a\n  a2\n[1s][info][gc] b\n  b2\n", 0, "[1s][info][gc] b\n  b2\n", "[1s][debug][gc] a\n  a2\n"},
		"the rest of a line":       {log, ul.Info, "[info] end\n[1s][info][gc] b\n", ul.Debug, "[1s][info][gc] b\n", "[info] end\n"},
		"a piece of a line":        {log, ul.Info, "[info] on", ul.Debug, "", "[info] on"},
		"a line without a level":   {log, ul.Info, "hello\n", 0, "hello\n", ""},
		"marks":                    {marks, ul.Error, "[1s][debug][gc] a\n", 0, "[1s][debug][gc] a\n", ""},
		"a marker":                 {log, ul.Error, gapMarker() + "[1s][debug][gc] a\n", 0, gapMarker(), "[1s][debug][gc] a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sifter{below: c.below}
			for range 2 { // the first round must leave nothing behind for the second
				data := []byte(c.in)
				held := s.siftLines(c.of, data, ul.Unknown, c.open != ul.Unknown, c.open)
				at := len(data) - held
				if string(data[:at]) != c.kept || string(data[at:]) != c.to {
					t.Errorf("%q and %q, want %q and %q", data[:at], data[at:], c.kept, c.to)
				}
			}
		})
	}
}

func gapMarker() string {
	var g ul.Gap
	g.Bytes = 10
	g.Lines[ul.DropAll][ul.Info] = 1
	return string(g.AppendMarker(nil))
}

func TestLastLineOfAnEnd(t *testing.T) {
	for in, want := range map[string]string{"": "", "a\n": "a\n", "a\nb\n": "b\n", "a\nb": "b", strings.Repeat("x", 9): strings.Repeat("x", 9)} {
		if got := string(lastLine([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
