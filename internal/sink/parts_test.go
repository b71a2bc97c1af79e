package sink

import (
	"fmt"
	"testing"

	"github.com/ullage/ullage/internal/line/format"
)

func TestPartsOfLines(t *testing.T) {
	var class format.Classifier
	for _, c := range []struct{ line, want string }{
		{"[1.5s][123][456][info][gc,heap ] GC(7) Pause", "GC(7) Pause|gc,heap|123|456|1.5s|7|false|0"},
		{"[            ] more", "more||||-1ns|-1|false|0"},
		{"raw [1s][info][gc] more", "raw [1s][info][gc] more||||-1ns|-1|false|0"},
		{"[2s][info][gc] GC(x) GC() GC(99999999999999999999)", "GC(x) GC() GC(99999999999999999999)|gc|||-1ns|-1|false|0"},
		{"[2.0s][info][gc] GC(+1) a", "GC(+1) a|gc|||2s|-1|false|0"},
		{"[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 34 lines, 9 bytes dropped in 0.000s: drop info=34",
			"gap: 34 lines, 9 bytes dropped in 0.000s: drop info=34|ullage|||-1ns|-1|true|0"},
		{"[3.0s][warning][] " + fmt.Sprintf("%6d", 12) + " messages dropped due to async logging", "    12 messages dropped due to async logging||||3s|-1|false|12"},
		{"2026-11-23T07:36:35.123Z ERROR 1 --- [demo] [main] c.e.Main : GC(1)", "2026-11-23T07:36:35.123Z ERROR 1 --- [demo] [main] c.e.Main : GC(1)||||-1ns|-1|false|0"},
		{"[2026-11-23 07:36:35,123] INFO [broker 1] x", "[2026-11-23 07:36:35,123] INFO [broker 1] x||||-1ns|-1|false|0"},
		{"[2026-11-23T07:36:35,123][WARN ][o.e.n.Node] [node] x", "[2026-11-23T07:36:35,123][WARN ][o.e.n.Node] [node] x||||-1ns|-1|false|0"},
		{`{"level":"ERROR","message":"x"}`, `{"level":"ERROR","message":"x"}||||-1ns|-1|false|0`},
	} {
		l := Line{Text: []byte(c.line), Class: class.Classify([]byte(c.line), nil)}
		p := l.Parts()
		if got := fmt.Sprintf("%s|%s|%s|%s|%s|%d|%t|%d", p.Message, p.Tags, p.PID, p.TID, p.Uptime, p.GC, p.IsGap, p.Missed); got != c.want {
			t.Errorf("%q: %s, want %s", c.line, got, c.want)
		}
	}
	text := Line{Text: []byte("[1.0s][info][gc] a line of no JVM")}
	if p := text.Parts(); string(p.Message) != string(text.Text) {
		t.Errorf("the message of text is %q, want %q", p.Message, text.Text)
	}
}
