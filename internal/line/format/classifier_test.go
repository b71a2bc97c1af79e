package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

// streams are scenarios: each line is followed by an arrow and its expected class.
var streams = []struct {
	name  string
	last  Format
	lines string
}{
	{"Logback and Log4j 2 without a configuration", Pattern, `
07:36:35.123 [main] INFO  com.example.Main -- started → header info
07:36:35.124 [http-nio-8080-exec-1] ERROR com.example.Main -- failed → header error
java.lang.IllegalStateException: no → continuation error
	at com.example.Main.main(Main.java:7) → continuation error
Caused by: java.io.IOException: none → continuation error
07:36:35.125 [a [b] c] DEBUG com.example.Main - select * → header debug
  from t → continuation debug
07:36:35.126 [ERROR handler] WARN com.example.Main - x → header warning`},
	{"Spring Boot 3", Pattern, `
  .   ____          _ → text unknown
2026-11-23T07:36:35.123Z  INFO 4711 --- [demo] [           main] c.e.Demo : a → header info
2026-11-23T07:36:35.123+01:00  WARN 4711 --- [           main] c.e.Demo : a → header warning
 more → continuation warning`},
	{"Spring Boot 2", Pattern, `
2026-11-23 07:36:35.123 TRACE 4711 --- [main] c.e.Demo : a → header trace`},
	{"colored", Pattern, "\n" +
		"\x1b[2m2026-11-23T07:36:35.123Z\x1b[0;39m \x1b[33m WARN\x1b[0;39m \x1b[35m4711\x1b[0;39m x → header warning\n" +
		"07:36:35.123 [\x1b[1mmain\x1b[m] \x1b[1;31mERROR\x1b[m x → header error\n" +
		"07:36:35.123 [\x1b[31mDEBUG\x1b[m] x → header debug"},
	{"other patterns", Pattern, `
[2026-11-23 07:36:35,123] INFO [broker 1] x (kafka.Server) → header info
2026-11-23 07:36:35,123 [main] [FATAL] x → header error
2026/11/23 07:36:35 main DEBUG x → header debug
2026-11-23 07:36:35,123 +0100 INFO: x → header info
[2026-11-23T07:36:35.123+0100] WARN x → header warning
2026-11-23 07:36:35|ERROR|x → header error
2026-11-23 07:36:35 |ERROR|x → header error
2026-11-23 07:36:35,ERROR,x → header unknown
 more → continuation unknown
[2026-11-23T07:36:35,123][WARN ][o.e.n.Node] [node] x → header warning
[2026-11-23T07:36:35,123][o.e.n.Node] ERROR x → header unknown
 more → continuation unknown`},
	{"a dated record of unknown level after one of known level", Pattern, `
2026-11-23 07:36:35,123 ERROR [main] com.example.Main - failed → header error
	at com.example.Main.main(Main.java:7) → continuation error
2026-11-23 07:36:35,124 AUDIT [main] com.example.Main - login → header unknown
	by anna → continuation unknown
07:36:35,125 AUDIT [main] com.example.Main - no date → continuation unknown
07-Nov-2026 09:12:44.123 SEVERE [main] org.apache.catalina.Main x → header error
07-Nov-2026 09:12:44.123 FATALITY [main] org.apache.catalina.Main x → header unknown
ERROR [main] 2026-11-23 07:36:35,123 Main.java:7 - x → header error
2026-11-23 07:36:35 → header unknown
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode): → continuation unknown`},
	{"brackets in a record of an application", Pattern, `
07:36:35.123 [main] ERROR x -- failed → header error
[main] → continuation error
[1, 2, 3] → continuation error
[gc,heap] more → continuation error
[0.397s][gc] more → continuation error
	at com.example.Main.main(Main.java:7) → continuation error
[] → continuation error
07:36:35.123 [main] INFO x → header info`},
	{"not a header of any pattern", Auto, `
07:36:35 one two three ERROR → text unknown
2026-11-23 ERROR x → text unknown
07:36:35 errors happen → text unknown
07:36:35 ERRORS happen → text unknown
07:36:35.123 → text unknown
07:36:35.123 [never ends ERROR → text unknown
[07:36:35.123 ERROR x → text unknown
ERROR 07:36:35 x → text unknown
ERROR: 2026-11-23 07:36:35 x → text unknown
  ERROR 2026-11-23 07:36:35 x → text unknown
ERROR [main] x → text unknown
ERROR [a] [b] [c] [d] 2026-11-23 07:36:35 x → text unknown
1795419395123 → text unknown
1795419395123 one → text unknown
<a href="x">12:00</a> <b> → text unknown
> <ERROR> → text unknown
####> <ERROR> → text unknown
[#| → text unknown

12345678 → text unknown`},
	{"JUL", JUL, `
Nov 23, 2026 7:36:35 AM com.example.Main main → header warning
WARNING: slow → continuation warning
java.lang.Exception: x → continuation warning
Nov 3, 2026 12:36:35` + "\u202f" + `PM com.example.Main main → header error
SEVERE: bad → continuation error
Nov 3, 2026 12:36:35 PM com.example.Main main → header unknown
is not a level: x → continuation unknown
SEVERE: not behind the first line → continuation unknown
Nov 3, 2026 13:36:35 PM com.example.Main main → continuation unknown
Nov 3, 2026 12:36 PM com.example.Main main → continuation unknown
anF 3, 2026 12:36:35 PM com.example.Main main → continuation unknown`},
	{"JSON", JSON, `
{"@timestamp":"2026-11-23T07:36:35.123Z","@version":"1","message":"a \"level\":\"ERROR\" \\","logger_name":"x","level":"INFO","level_value":20000} → header info
{"@timestamp":"2026-11-23T07:36:35.123Z", "log.level": "WARN", "message":"x"} → header warning
{"@timestamp":"2026-11-23T07:36:35.123Z","log":{"logger":"x","level":"ERROR"},"message":"x"} → header error
{"version":"1.1","host":"h","short_message":"m","timestamp":1795419395.123,"level":7,"_thread":"main"} → header debug
{"instant":{"epochSecond":1795419395,"nanoOfSecond":5},"thread":"main","level":"FATAL"} → header error
{"severity":"notice","a":[{"level":"ERROR"},"]"],"time":"2026-11-23T07:36:35Z"} → header info
{"@timestamp":"2026-11-23T07:36:35.123Z","access":{"level":"ERROR"}} → header unknown
stray → continuation unknown
{"level":"DEBUG","message":"cut off → header debug
{"message":"cut off, \"level\":\"ERROR\" → continuation debug`},
	{"objects in the message of another format", Pattern, `
07:36:35.123 [main] ERROR x - {  → header error
{"time":"2026-11-23T07:36:35Z"} → continuation error
{"level":3.5,"a":1} → continuation error
{"level":7,"name":"knight","time":95} → continuation error
<soap12:Body> <Info>ok</Info> → continuation error
{"a":{"level":"DEBUG"}} → continuation error
{} → continuation error`},
	{"UL, the sidecar's marker, and an application in one stream", UL, `
[0.397s][debug][gc] a → header debug
 more → continuation debug
07:36:35.123 [main] WARN x - y → header warning
 more → continuation warning
[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1 lines, 2 bytes dropped in 12.345s: discard info=1 → header warning
[0.399s][info ][gc] b → header info
[main] c → continuation info
[2026-11-20T12:00:25.000+0000][gc] d → header unknown
[2026-11-20T12:00:25.000+0000]      7 messages dropped due to async logging → drop warning`},
}

func TestClassify(t *testing.T) {
	for _, c := range streams {
		var k Classifier
		rows := strings.Split(strings.TrimPrefix(c.lines, "\n"), "\n")
		for i, row := range rows {
			line, want, found := strings.Cut(row, " → ")
			if !found {
				want = "text unknown"
			}
			rest, _, _ := strings.Cut(strings.Join(rows[i+1:], "\n"), " → ")
			got := k.Classify([]byte(line), []byte(rest))
			if text := got.Kind.String() + " " + got.Level.String(); text != want {
				t.Errorf("%s: %q is %s, want %s", c.name, line, text, want)
			}
		}
		if k.Format() != c.last {
			t.Errorf("%s: format %s, want %s", c.name, k.Format(), c.last)
		}
	}
}

// If JUL's second line is not available yet when the first is classified, the second line is itself a header with the level.
func TestJULAcrossTheEndOfWhatIsKnown(t *testing.T) {
	const first = "Nov 23, 2026 7:36:35 AM com.example.Main main"
	for _, only := range []Format{Auto, JUL} {
		c := New(only)
		var got []string
		for _, line := range []string{first, "SEVERE: bad", "more", "WARNING: more", first, "more", "WARNING: more"} {
			class := c.Classify([]byte(line), nil)
			got = append(got, class.Kind.String()+"/"+class.Level.String())
		}
		want := "header/unknown header/error continuation/error continuation/error header/unknown continuation/unknown continuation/unknown"
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", only, text, want)
		}
		for data, want := range map[string]int{
			"":                              0,
			first + "\n":                    len(first) + 1,
			"x\n" + first + "\n":            2,
			"x\n" + first + "\nINFO: y\n":   len(first) + 11,
			"x\n" + first + "\nINFO: y\n\n": len(first) + 12,
		} {
			if got := c.Whole([]byte(data)); got != want {
				t.Errorf("Whole(%[2]q) is %[1]d, want %[3]d", got, data, want)
			}
		}
	}
}

// If a format is named, headers of other formats are ordinary lines.
func TestOneFormatOnly(t *testing.T) {
	const marker = "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1 lines, 2 bytes dropped in 12.345s: discard info=1"
	lines := []string{"text", "[0.397s][debug][gc] a", "07:36:35.123 [main] ERROR x - y", "Nov 23, 2026 7:36:35 AM Main main", `{"level":"TRACE"}`, marker, "more"}
	for only, want := range map[Format]string{
		UL:      "text/unknown header/debug continuation/debug continuation/debug continuation/debug header/warning continuation/warning",
		Pattern: "text/unknown text/unknown header/error continuation/error continuation/error header/warning continuation/error",
		JUL:     "text/unknown text/unknown text/unknown header/info continuation/info header/warning continuation/info",
		JSON:    "text/unknown text/unknown text/unknown text/unknown header/trace header/warning continuation/trace",
		Plain:   "text/unknown text/unknown text/unknown text/unknown text/unknown header/warning text/unknown",
	} {
		c := New(only)
		var got []string
		for _, line := range lines {
			class := c.Classify([]byte(line), []byte("INFO: x"))
			got = append(got, class.Kind.String()+"/"+class.Level.String())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", only, text, want)
		}
	}
}

// A Classifier that begins in the middle of a stream agrees, at the first header and later,
// with a Classifier that has read all of it.
func TestResume(t *testing.T) {
	for _, c := range streams {
		var lines []string
		for _, row := range strings.Split(strings.TrimPrefix(c.lines, "\n"), "\n") {
			line, _, _ := strings.Cut(row, " → ")
			lines = append(lines, line)
		}
		var whole Classifier
		for from := range lines {
			late := Classifier{}
			late.Resume(whole.Level())
			all := whole
			for began, i := false, from; i < len(lines); i++ {
				rest := []byte(strings.Join(lines[i+1:], "\n"))
				a, b := all.Classify([]byte(lines[i]), rest), late.Classify([]byte(lines[i]), rest)
				// A weak prefix of UL is a header only if no strong prefix was seen before.
				if began = began || b.Kind == ul.Header && b.Level != ul.Unknown; began && a.Level != b.Level {
					t.Errorf("%s: from line %d, %q is %s, want %s as in the whole stream", c.name, from, lines[i], b.Level, a.Level)
				}
			}
			whole.Classify([]byte(lines[from]), []byte(strings.Join(lines[from+1:], "\n")))
		}
	}
}

func TestWhen(t *testing.T) {
	moment := time.Date(2026, 11, 23, 7, 36, 35, 123e6, time.UTC)
	second := moment.Truncate(time.Second)
	for line, want := range map[string]time.Time{
		"2026-11-23T07:36:35.123Z INFO x":                                                      moment,
		"2026-11-23 07:36:35,123 [main] INFO x":                                                moment,
		"2026-11-23T08:36:35.123+01:00 INFO x":                                                 moment,
		"2026-11-23 02:06:35.123 -0530 INFO x":                                                 moment,
		"[2026/11/23 09:36:35.123000000+02] INFO x":                                            moment,
		"2026-11-23 07:36:35 INFO x":                                                           second,
		"Nov 23, 2026 7:36:35 AM com.example.Main main":                                        second,
		"Nov 22, 2026 12:00:00 AM com.example.Main main":                                       time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
		`{"@timestamp":"2026-11-23T07:36:35.123Z","level":"INFO"}`:                             moment,
		`{"level":"INFO","timestamp":1795419395.123}`:                                          moment,
		`{"level":"INFO","timestamp":1795419395123}`:                                           moment,
		`{"instant":{"epochSecond":1795419395,"nanoOfSecond":123000000},"level":"INFO"}`:       moment,
		"07:36:35.123 [main] INFO x":                                                           {},
		"2026-13-23 07:36:35 INFO x":                                                           {},
		"2026-11-23 07:36:35 x":                                                                {},
		"Feb 30, 2026 7:36:35 AM com.example.Main main":                                        {},
		`{"@timestamp":"yesterday","level":"INFO"}`:                                            {},
		`{"@timestamp":"2026-11-23T07:36:35.123Z"}`:                                            {},
		"[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1 lines, 2 bytes dropped in 1.0": {},
	} {
		got, ok := When([]byte(line))
		if ok == want.IsZero() || !got.Equal(want) {
			t.Errorf("%q: %s, %v, want %s", line, got, ok, want)
		}
	}
}

// ulLogs returns excerpts of real JVMs' logs.
func ulLogs(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../ul/testdata/*.log")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d samples of UL, want some: %v", len(paths), err)
	}
	logs := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		logs[filepath.Base(path)] = text
	}
	return logs
}

// The lines of a JVM have the same class as in package ul.
func TestULIsAsBefore(t *testing.T) {
	for name, text := range ulLogs(t) {
		var before ul.Classifier
		var now Classifier
		for line := range strings.Lines(string(text)) {
			line := []byte(strings.TrimSuffix(line, "\n"))
			if got, want := now.Classify(line, nil), before.Classify(line); got != want {
				t.Errorf("%s: %q is %v, want %v as in package ul", name, line, got, want)
			}
		}
	}
}

func TestParseFormat(t *testing.T) {
	for f := Auto; f <= Plain; f++ {
		if got, err := Parse(f.String()); got != f || err != nil {
			t.Errorf("%s is read back as %s, error %v; want the same and no error", f, got, err)
		}
	}
	if _, err := Parse("unknown"); err == nil || Format(99).String() != "unknown" {
		t.Errorf("unknown is read as a format with the error %v, and Format(99) is called %q; want an error and unknown", err, Format(99))
	}
}
