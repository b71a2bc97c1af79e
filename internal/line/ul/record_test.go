package ul

import (
	"strings"
	"testing"
	"time"
)

// show formats a record in one line, for tables of expected records.
func show(r *Record) string {
	var b strings.Builder
	b.WriteString(r.Kind.String())
	if r.Level != Unknown {
		b.WriteString(" " + r.Level.String())
	}
	texts := [...][]byte{r.Time, r.UTCTime, r.Uptime, r.TimeMillis, r.UptimeMillis, r.TimeNanos, r.UptimeNanos,
		r.Hostname, r.PID, r.TID, r.LevelName, r.Tags}
	for i, text := range texts {
		d := Decorator(1 << i)
		if (text != nil) != (r.Present&d != 0) {
			b.WriteString(" BAD:" + d.String())
		}
		if r.Present&d == 0 || d == LevelDecorator {
			continue
		}
		b.WriteString(" " + d.String() + "=" + string(text))
		if r.Ambiguous&d != 0 {
			b.WriteByte('?')
		}
	}
	if r.UnknownFields > 0 {
		b.WriteString(" unknown=" + strings.Repeat("x", r.UnknownFields))
	}
	return b.String() + " | " + string(r.Message)
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"default decorators", "[0.397s][info][gc,heap] Using G1", "header info uptime=0.397s tags=gc,heap | Using G1"},
		{"padding is trimmed", "[0.397s][info   ][gc,heap    ]  Using G1 ", "header info uptime=0.397s tags=gc,heap |  Using G1 "},
		{"empty message", "[0.397s][info][gc] ", "header info uptime=0.397s tags=gc | "},
		{"message begins with a bracket", "[0.397s][info][gc] [a][b] c", "header info uptime=0.397s tags=gc | [a][b] c"},
		{"comma as decimal separator", "[0,397s][debug][gc] x", "header debug uptime=0,397s tags=gc | x"},
		{"level alone", "[error] x", "header error | x"},
		{"record without tags", "[0.1s][warning][       ] x", "header warning uptime=0.1s tags= | x"},
		{"five tags", "[info][a,b,c,d,e] x", "header info tags=a,b,c,d,e | x"},

		{"wall clock and uptime in milliseconds", "[1795193160091ms][475ms] x", "header timemillis=1795193160091ms uptimemillis=475ms | x"},
		{"milliseconds of a wall clock", "[1795193160091ms] x", "header timemillis=1795193160091ms | x"},
		{"milliseconds of an uptime", "[999999999999ms] x", "header uptimemillis=999999999999ms | x"},
		{"milliseconds with a wrong wall clock", "[12ms][475ms] x", "header timemillis=12ms uptimemillis=475ms | x"},
		{"both nanoseconds", "[894000463518ns][4207979ns] x", "header timenanos=894000463518ns uptimenanos=4207979ns | x"},
		{"one nanoseconds is ambiguous", "[894000463518ns] x", "header uptimenanos=894000463518ns? | x"},
		{"both times", "[2026-11-20T16:45:11.123+0100][2026-11-20T15:45:11.123+0000] x",
			"header time=2026-11-20T16:45:11.123+0100 utctime=2026-11-20T15:45:11.123+0000 | x"},
		{"one time in a zone", "[2026-11-20T16:45:11.123-0930] x", "header time=2026-11-20T16:45:11.123-0930 | x"},
		{"one time at zone zero is ambiguous", "[2026-11-20T16:45:11.123+0000] x", "header time=2026-11-20T16:45:11.123+0000? | x"},

		{"hostname spelled like a level", "[info][debug][gc] x", "header debug hostname=info tags=gc | x"},
		{"hostname spelled like a number", "[123][45][46][debug][gc] x", "header debug hostname=123 pid=45 tid=46 tags=gc | x"},
		{"hostname spelled like a tag", "[gc][45][debug][gc] x", "header debug hostname=gc pid=45? tags=gc | x"},
		{"hostname that begins with a digit", "[10-0-0-7.example][45][46] x", "header hostname=10-0-0-7.example pid=45 tid=46 | x"},
		{"hostname spelled like a clock that is past", "[475ms][12ms][info] x", "header info timemillis=475ms uptimemillis=12ms | x"},
		{"hostname spelled like seconds", "[475ms][1.5s][info] x", "header info uptimemillis=475ms hostname=1.5s | x"},
		{"pid and tid", "[45][46][info] x", "header info pid=45 tid=46 | x"},
		{"one number is ambiguous", "[45][info] x", "header info pid=45? | x"},
		{"one word is ambiguous", "[payments] x", "header tags=payments? | x"},
		{"several tags are not ambiguous", "[gc,heap] x", "header tags=gc,heap | x"},
		{"a word that cannot be a tag is not ambiguous", "[payments-7f9c] x", "header hostname=payments-7f9c | x"},
		{"word before a number", "[payments][45][46] x", "header hostname=payments pid=45 tid=46 | x"},
		{"word after a number", "[45][gc] x", "header pid=45? tags=gc | x"},
		{"two words", "[payments][gc] x", "header hostname=payments tags=gc | x"},
		{"empty tags alone", "[] x", "header tags= | x"},

		{"future decorator at the end", "[0.397s][info][gc][G1 Conc#0] x", "header info uptime=0.397s tags=gc unknown=x | x"},
		{"future decorator at the front", "[#1][0.397s][info][gc] x", "header info uptime=0.397s tags=gc unknown=x | x"},
		{"future decorators in the middle", "[0.397s][a b][host][7][8][9][info][gc] x", "header info uptime=0.397s hostname=host pid=7 tid=8 tags=gc unknown=xx | x"},
		{"clocks out of order", "[475ms][0.397s][info] x", "header info uptimemillis=475ms hostname=0.397s | x"},
		{"cut and glued on a full disk", "[0.397s][inf[0.398s][warning][gc] x", "header warning uptime=0.397s tags=gc unknown=x | x"},

		{"continuation of JDK 24 and newer", "[              ]  at bci 15", "continuation |  at bci 15"},
		{"empty continuation", "[ ] ", "continuation | "},

		{"plain text", "Exception in thread", "text | Exception in thread"},
		{"empty line", "", "text | "},
		{"raw continuation", " at bci 15", "text |  at bci 15"},
		{"bracket that never closes", "[Ljava.lang.Class; archived", "text | [Ljava.lang.Class; archived"},
		{"no space after the prefix", "[0.397s][info][gc]x", "text | [0.397s][info][gc]x"},
		{"line cut after the prefix", "[0.397s][info][gc]", "text | [0.397s][info][gc]"},
		{"indented prefix", " [0.397s][info] x", "text |  [0.397s][info] x"},
		{"only unknown fields", "[Full GC] x", "text | [Full GC] x"},
		{"weak fields next to unknown ones", "[main][Full GC] x", "text | [main][Full GC] x"},
		{"zeros of a punched hole", "[\x00\x00] x", "text | [\x00\x00] x"},
		{"as many fields as are taken", strings.Repeat("[a]", 14) + "[info][gc] x", "header info hostname=a tags=gc unknown=xxxxxxxxxxxxx | x"},
		{"too many fields", strings.Repeat("[a]", 15) + "[info][gc] x", "text | " + strings.Repeat("[a]", 15) + "[info][gc] x"},
		{"too long a prefix", "[info][gc" + strings.Repeat(" ", maxPrefix) + "] x", "text | [info][gc" + strings.Repeat(" ", maxPrefix) + "] x"},
	} {
		var r Record
		r.Parse([]byte(c.line))
		if got := show(&r); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestParseDropMessage(t *testing.T) {
	const drop = "   293 messages dropped due to async logging"
	for _, c := range []struct {
		name, line string
		kind       Kind
		dropped    uint64
	}{
		{"default decorators", "[0.013s][warning][       ]" + " " + drop, Drop, 293},
		{"tags without padding", "[0.013s][warning][] " + drop, Drop, 293},
		{"without tags", "[0.013s][warning] " + drop, Drop, 293},
		{"without level", "[0.013s][  ] " + drop, Drop, 293},
		{"tags alone", "[       ] " + drop, Drop, 293},
		{"hostname alone", "[payments] " + drop, Drop, 293},
		{"decorators none", drop, Drop, 293},
		{"as wide as its field", "[warning] 123456 messages dropped due to async logging", Drop, 123456},
		{"wider", "[warning] 4294967295 messages dropped due to async logging", Drop, 4294967295},

		{"another level", "[0.013s][info][  ] " + drop, Header, 0},
		{"with tags", "[0.013s][warning][gc] " + drop, Header, 0},
		{"more text", "[0.013s][warning][  ] " + drop + "!", Header, 0},
		{"no number", "[warning]        messages dropped due to async logging", Header, 0},
		{"not padded", "[warning] 293 messages dropped due to async logging", Header, 0},
		{"zeros in front", "[warning] 000293 messages dropped due to async logging", Header, 0},
		{"padded too far", "[warning]     293 messages dropped due to async logging", Header, 0},
		{"beyond an unsigned int", "[warning] 4294967296 messages dropped due to async logging", Header, 0},
		{"quoted in text", "x" + drop, Text, 0},
	} {
		var r Record
		r.Parse([]byte(c.line))
		if r.Kind != c.kind || r.Dropped != c.dropped || r.Kind == Drop && r.Level != Warning {
			t.Errorf("%s: %s, %d dropped; want kind %v and %d dropped, a drop message at level %s", c.name, show(&r), r.Dropped, c.kind, c.dropped, Warning)
		}
		if r.Ambiguous&Tags != 0 {
			t.Errorf("%s: got %s with ambiguous tags, want none: a drop message has no tags", c.name, show(&r))
		}
	}
}

func TestParseReplacesTheWholeRecord(t *testing.T) {
	var r Record
	r.Parse([]byte("[0.013s][vm-1][7][8][warning][      ] 123456 messages dropped due to async logging"))
	r.Parse([]byte("text"))
	if got := show(&r); got != "text | text" || r.Dropped != 0 || r.Ambiguous != 0 {
		t.Errorf(`%s, %d dropped, want "text | text", Dropped 0 and Ambiguous 0`, got, r.Dropped)
	}
}

func TestWhen(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"local time", "[2026-11-20T16:45:11.123+0100] x", "2026-11-20T15:45:11.123Z"},
		{"west of Greenwich, over midnight", "[2026-12-31T20:00:00.000-0930] x", "2027-01-01T05:30:00Z"},
		{"leap day", "[2028-02-29T00:00:00.001+0000] x", "2028-02-29T00:00:00.001Z"},
		{"milliseconds", "[1795193160091ms] x", "2026-11-20T16:46:00.091Z"},
		{"time before milliseconds", "[2026-11-20T16:45:11.123+0100][1795193160091ms] x", "2026-11-20T15:45:11.123Z"},
		{"no wall clock", "[0.397s][info] x", ""},
		{"no such day", "[2026-02-29T00:00:00.000+0000] x", ""},
		{"no such month", "[2026-00-10T00:00:00.000+0000] x", ""},
		{"no such hour", "[2026-01-10T24:00:00.000+0000] x", ""},
		{"no such second", "[2026-01-10T00:00:60.000+0000] x", ""},
		{"too many milliseconds", "[9999999999999999999ms] x", ""},
	} {
		var r Record
		r.Parse([]byte(c.line))
		got, ok := r.When()
		if ok != (c.want != "") || ok && got.Format(time.RFC3339Nano) != c.want {
			t.Errorf("%s: %s, %v; want %q", c.name, got.Format(time.RFC3339Nano), ok, c.want)
		}
		if got.Location() != time.UTC {
			t.Errorf("%s: in %s, want %s", c.name, got.Location(), time.UTC)
		}
	}
}

func TestSince(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		name, line string
		want       time.Duration
	}{
		{"uptime", "[12.397s][info] x", 12397 * time.Millisecond},
		{"uptime with a comma", "[12,007s][info] x", 12007 * time.Millisecond},
		{"milliseconds", "[475ms] x", 475 * time.Millisecond},
		{"nanoseconds of both kinds", "[0.397s][894000463518ns][397000001ns] x", 397000001},
		{"ambiguous nanoseconds are not taken", "[397000001ns] x", none},
		{"uptime with ambiguous nanoseconds", "[0.397s][397000001ns] x", 397 * time.Millisecond},
		{"wall clock only", "[1795193160091ms][info] x", none},
		{"as long as a duration", "[9223372036.854s] x", 9223372036854 * time.Millisecond},
		{"longer", "[9223372036.855s] x", none},
		{"much longer", "[99999999999999999999.000s] x", none},
	} {
		var r Record
		r.Parse([]byte(c.line))
		got, ok := r.Since()
		if ok != (c.want != none) || ok && got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, ok, c.want)
		}
	}
}

func TestCollection(t *testing.T) {
	for message, want := range map[string]int64{"GC(12) Pause Young": 12, "GC(0)": 0, "GC(4294967295) x": 4294967295, "GC(4294967296) x": -1,
		"GC(+1) x": -1, "GC() x": -1, "GC(1": -1, "Pause GC(1)": -1, "": -1} {
		r := Record{Message: []byte(message)}
		if id, ok := r.Collection(); ok != (want >= 0) || ok && int64(id) != want {
			t.Errorf("%q: %d, %v; want %d", message, id, ok, want)
		}
	}
}
