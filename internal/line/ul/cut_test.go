package ul

import (
	"bytes"
	"testing"
	"time"
)

func TestALineThatTheJVMCouldNotEnd(t *testing.T) {
	const (
		dated   = "[2026-11-21T10:49:00.123+0000][12.345s][info][gc] GC(1) Pause Young"
		later   = "[2026-11-21T10:49:08.023+0000][20.245s][debug][gc,heap] GC(9) Eden"
		short   = "[12.345s][info][gc] GC(1) Pause Young"
		shorter = "[20.245s][info][gc] GC(9) Eden"
	)
	for name, c := range map[string]struct {
		lines []string
		found bool // whether the last line contains a second line
		lost  time.Duration
	}{
		"whole lines":                                              {[]string{dated, later}, false, 0},
		"cut in its message":                                       {[]string{dated[:60] + later}, true, 7900 * time.Millisecond},
		"cut in its decorations":                                   {[]string{dated, dated[:20] + later}, true, 7900 * time.Millisecond},
		"cut after one of its decorations":                         {[]string{dated, dated[:30] + later}, true, 7900 * time.Millisecond},
		"cut in the decorations of the first line":                 {[]string{dated[:20] + later}, false, 0},
		"cut twice":                                                {[]string{dated[:60] + dated[:60] + later}, true, 7900 * time.Millisecond},
		"default decorators":                                       {[]string{short[:25] + shorter}, true, 7900 * time.Millisecond},
		"default decorators, cut in them":                          {[]string{short, short[:5] + shorter}, true, 7900 * time.Millisecond},
		"a clock that went back":                                   {[]string{shorter[:25] + short}, true, 0},
		"a bracket in a message":                                   {[]string{"[1.000s][info][gc] list [0.100s, 0.200s] and [2.000s]"}, false, 0},
		"other decorators in a message":                            {[]string{dated + " [20.245s][info][gc] x"}, false, 0},
		"a time in a message":                                      {[]string{dated + " [2026-11-21T10:49:08.023+0000] x"}, false, 0},
		"not a log of a JVM":                                       {[]string{"2026-11-21 INFO [main] [x] y", "[a][b] c [a][b] d"}, false, 0},
		"no clock in front":                                        {[]string{"[info][gc] one[info][gc] two"}, false, 0},
		"the rest of a line that was cut before":                   {[]string{dated[:60] + later, later}, false, 0},
		"a further line of a message, which was cut":               {[]string{dated, "  more of i" + later}, true, 7900 * time.Millisecond},
		"an empty line":                                            {[]string{dated, ""}, false, 0},
		"a line that ends with a bracket":                          {[]string{dated + "["}, false, 0},
		"padded levels":                                            {[]string{"[1.000s][info   ][gc] on[2.000s][warning][gc] two"}, true, time.Second},
		"no time passed between the lines, so the loss is unknown": {[]string{short[:25] + short}, true, 0},
	} {
		var cuts Cuts
		var classes Classifier
		var lost time.Duration
		var found bool
		for _, line := range c.lines {
			lost, found = cuts.Find([]byte(line), classes.Classify([]byte(line)))
		}
		if found != c.found || lost != c.lost {
			t.Errorf("%s: found: %v, %s lost, want %v, %s", name, found, lost, c.found, c.lost)
		}
	}
}

// A line of fewer than 8 bytes contains no second line. If a line is cut anywhere and another line is glued to it, that
// second line is found, provided that the line before has the same decorators.
func FuzzCuts(f *testing.F) {
	addSamples(f, func(line []byte) { f.Add(line, uint16(len(line)/2)) })
	f.Fuzz(func(t *testing.T, line []byte, at uint16) {
		line = bytes.ReplaceAll(line, []byte{'\n'}, nil)
		var cuts Cuts
		var classes Classifier
		if lost, found := cuts.Find(line, classes.Classify(line)); lost < 0 || found && len(line) < 8 {
			t.Fatalf("%s lost in %q, found is %v; want at least 0s, and no second line in fewer than 8 bytes", lost, line, found)
		}
		var r Record
		if r.Parse(line); r.Kind != Header || clockAt(line) == strangeShape || at == 0 || int(at) > len(line) {
			return
		}
		glued := append(bytes.Clone(line[:at]), line...)
		before := cuts
		before.prev = bytes.Clone(cuts.prev)
		if _, found := before.Find(glued, classes.Classify(glued)); !found {
			t.Fatalf("no second line found in %q", glued)
		}
		// The class of a line shortens the search but does not change its result.
		for _, next := range [][]byte{line, glued, glued, line} {
			without := cuts
			without.prev = bytes.Clone(cuts.prev)
			lost, found := cuts.Find(next, classes.Classify(next))
			if lost2, found2 := without.Find(next, Class{}); lost != lost2 || found != found2 {
				t.Fatalf("%q after %q: %v, %s lost; without its class: %v, %s; want the same", next, line, found, lost, found2, lost2)
			}
		}
	})
}
