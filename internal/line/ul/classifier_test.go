package ul

import (
	"fmt"
	"strings"
	"testing"
)

const dropText = "   293 messages dropped due to async logging"

// streams are scenarios: each line is followed by an arrow and its expected class; an empty line stands for a
// continuation at error.
var streams = []struct{ name, lines string }{
	{"records of one line", `
[0.397s][info][gc] a → header info
[0.398s][debug][gc] b → header debug
[0.399s][info ][gc,heap] c → header info`},
	{"raw continuation has the level of its record", `
[0.397s][error][exceptions] a → header error
 at bci 15 → continuation error

[0.398s][debug][gc] b → header debug
 at bci 15 → continuation debug`},
	{"blank bracket has the level of its record", `
[0.397s][error][exceptions] a → header error
[                         ]  at bci 15 → continuation error`},
	{"stream is entered inside a record", `
 at bci 15 → text unknown
[    ] at bci 15 → continuation unknown
[0.397s][info][gc] a → header info
 at bci 15 → continuation info`},
	{"raw continuation begins with a bracket", `
[0.397s][debug][gc] a → header debug
[main] x → continuation debug
[1][2][3] x → continuation debug
[] x → continuation debug
[Full GC] x → continuation debug
[Ljava.lang.Class; x → continuation debug
[0.398s][info][gc] b → header info`},
	{"raw continuation that begins like a record is taken for one", `
[0.397s][debug][gc] a → header debug
[error] x → header error
 x → continuation error`},
	{"weak decorators", `
[gc] a → header unknown
 at bci 15 → continuation unknown
[gc,heap] b → header unknown`},
	{"weak decorators become strong", `
[gc] a → header unknown
[info][gc] b → header info
[gc] c → continuation info`},
	{"strong decorators without a level", `
[0.397s][gc] a → header unknown
[main] x → continuation unknown
[0.398s][gc] b → header unknown`},
	{"decorators none", `
a → text unknown
` + dropText + ` → drop warning
b → text unknown`},
	{"drop keeps the inherited level", `
[0.397s][debug][exceptions] a → header debug
[0.397s][warning][          ] ` + dropText + ` → drop warning
 at bci 15 → continuation debug
[0.398s][debug][exceptions] a → header debug`},
	{"drop before any record", `
[0.397s][warning][  ] ` + dropText + ` → drop warning
 at bci 15 → text unknown
[main] x → text unknown`},
	{"drop among weak decorators", `
[gc] a → header unknown
[  ] ` + dropText + ` → drop warning
[gc] b → header unknown`},
	{"what looks like a drop without the stream's decorations", `
[0.397s][debug][exceptions] a → header debug
` + dropText + ` → continuation debug
[     ] ` + dropText + ` → continuation debug
[main] ` + dropText + ` → continuation debug`},
	{"warning where the last line had its level", `
[0.397s][warning][gc] a → header warning
[0.398s][warning][gc] b → header warning
[0.399s][warning][  ] ` + dropText + ` → drop warning
[0.399s][warning][gc] ` + dropText + ` → header warning`},
	{"level in a different place from the last line's", `
[9.999s][info   ][gc] a → header info
[10.000s][debug  ][gc] b → header debug
[10.001s][26343][trace  ][gc] c → header trace
[error] d → header error
[info] e → header info`},
	{"level word where the last level was, but not a level", `
[0.397s][info][gc] a → header info
[0.397s] foo][info][gc] b → header unknown
[0.39]7s][info][gc] b → continuation unknown
[0.397s][info][debug][gc] c → header debug
[0.397s][info][error] d → header error
[0.397s][info][gc]e → continuation error
[0.397s][info] f → header info
[0.397s][info]g → continuation info
[0.397s][infos][gc] h → header unknown
[0.397s][info][gc → continuation unknown
[0.397s][info → continuation unknown`},
}

func TestClassify(t *testing.T) {
	for _, c := range streams {
		var k Classifier
		for _, row := range strings.Split(strings.Trim(c.lines, "\n"), "\n") {
			line, want, _ := strings.Cut(row, " → ")
			if row == "" {
				want = "continuation error"
			}
			got := k.Classify([]byte(line))
			if text := fmt.Sprintf("%s %s", got.Kind, got.Level); text != want || got.Dropped != 0 != (got.Kind == Drop) {
				t.Errorf("%s: %q is %s, %d dropped; want %s", c.name, line, text, got.Dropped, want)
			}
		}
	}
}

// TestClassifyRemembersNothingButTheRecord classifies real lines in every state that any other real line leaves behind.
func TestClassifyRemembersNothingButTheRecord(t *testing.T) {
	var lines [][]byte
	for _, s := range samples {
		if s.present&strong != 0 {
			some := sample(t, s.name)[:12]
			lines = append(append(lines, some...), unpadded(some)...)
		}
	}
	for _, first := range lines {
		for _, second := range lines {
			checkClassify(t, first, second)
		}
	}
}

// TestClassifyHasTheLimitsOfParse classifies prefixes whose numbers of fields and bytes are near
// their limits.
func TestClassifyHasTheLimitsOfParse(t *testing.T) {
	first := []byte("[0.397s][info][gc] a")
	for _, end := range []string{" text", " ", "", "x", "]"} {
		for fields := range maxFields + 3 {
			checkClassify(t, first, []byte(strings.Repeat("[1ms]", fields)+"[info]"+end))
			checkClassify(t, first, []byte("[info]"+strings.Repeat("[1]", fields)+end))
		}
		for bytes := maxPrefix - 20; bytes < maxPrefix+4; bytes++ {
			long := "[" + strings.Repeat("a", bytes) + "]"
			checkClassify(t, first, []byte(long+end))
			checkClassify(t, first, []byte(long+"[info ]"+end))
			checkClassify(t, first, []byte("[info]"+long+end))
		}
	}
}

// checkClassify classifies both lines and compares the classes with the results of Parse.
func checkClassify(t *testing.T, first, second []byte) {
	t.Helper()
	var c Classifier
	level, started, isStrong := Unknown, false, false
	for _, line := range [][]byte{first, second} {
		var r Record
		r.Parse(line)
		want := Class{Kind: r.Kind, Level: r.Level, Dropped: r.Dropped}
		weak := r.Present&strong == 0
		switch {
		case isStrong && weak && r.Kind != Continuation, started && r.Present == 0 && r.Kind != Continuation:
			want = Class{Kind: Continuation, Level: level}
			if !started {
				want.Kind = Text
			}
		case r.Kind == Continuation:
			want.Level = level
		case r.Kind == Header:
			started, level, isStrong = true, r.Level, !weak
			want.Message = uint16(len(line) - len(r.Message))
		case r.Kind == Drop:
			isStrong = !weak
		}
		got := c.Classify(line)
		want.Whole = got.Whole // see FuzzCuts
		if got != want {
			t.Fatalf("%q, %q: got %+v, want %+v", first, second, got, want)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	for _, s := range samples {
		lines := sample(t, s.name)
		var c Classifier
		var r Record
		var p Parser
		if n := testing.AllocsPerRun(10, func() {
			for _, line := range lines {
				c.Classify(line)
				r.Parse(line)
				r.When()
				r.Since()
				p.Parse(line)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", s.name, n)
		}
	}
}
