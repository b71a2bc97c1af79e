package tail

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// The lines of an application have the levels that they show. The lines of a stack trace
// have the level of their record.
func TestLinesOfAnApplicationHaveLevels(t *testing.T) {
	for name, text := range map[string]string{
		"pattern": "07:36:35.123 [main] INFO  c.e.Main -- a\n07:36:35.124 [main] ERROR c.e.Main -- b\n\tat c.e.Main.main\n",
		"jul":     "Nov 23, 2026 7:36:35 AM c.e.Main main\nINFO: a\nNov 23, 2026 7:36:35 AM c.e.Main main\nSEVERE: b\n",
		"json":    "{\"level\":\"INFO\",\"message\":\"a\"}\n{\"level\":\"ERROR\"}\n{\"level\":\"ERROR\"}\n",
		"ul":      "[0.1s][info][gc] a\n[0.2s][error][gc] b\n more\n",
	} {
		t.Run(name, func(t *testing.T) {
			var levels [ul.NumLevels]int
			r := connected(t, Outlets{Line: func(_ string, _ []byte, class ul.Class) { levels[class.Level]++ }})
			r.put("app.log", text)
			r.read()
			r.want("app.log", text)
			if levels[ul.Error] != 2 || levels[ul.Info] != strings.Count(text, "\n")-2 {
				t.Errorf("lines by level: %v, want 2 at error and %d at info", levels, strings.Count(text, "\n")-2)
			}
			if st := r.src.Stats().Streams; len(st) != 1 || st[0].Format != name {
				t.Errorf("the streams are %+v, want one with the format %s", st, name)
			}
		})
	}
}

// --format decides the format of a stream, whatever its lines look like.
func TestFormatOfAStreamIsSet(t *testing.T) {
	levels := map[string]ul.Level{}
	r := connected(t, Outlets{Line: func(stream string, _ []byte, class ul.Class) { levels[stream] = class.Level }}, func(c *Config) {
		for _, rule := range []string{"access*=plain app.log=json", "*=pattern"} {
			if err := c.Formats.Set(rule); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, name := range []string{"access.log", "app.log", "other.log"} {
		r.put(name, "{\"level\":\"WARN\"}\n07:36:35.123 ERROR x\n")
	}
	r.read()
	if levels["access.log"] != ul.Unknown || levels["app.log"] != ul.Warning || levels["other.log"] != ul.Error {
		t.Errorf("the last lines have the levels %v; want %s in access.log, %s in app.log and %s in other.log", levels, ul.Unknown, ul.Warning, ul.Error)
	}
}

// The sidecar may read when a JVM has written only the first of the two lines of a JUL
// record. If other lines precede the record, its first line waits for the second. Otherwise,
// only the second line has the level.
func TestLinesOfJULStayTogether(t *testing.T) {
	const first, second = "Nov 23, 2026 7:36:35 AM c.e.Main main\n", "SEVERE: bad\n"
	var levels []ul.Level
	r := connected(t, Outlets{Line: func(_ string, _ []byte, class ul.Class) { levels = append(levels, class.Level) }})
	f := r.writer("app.log")
	for _, text := range []string{first + second, first + second + first, second, second} {
		r.write(f, text)
		r.src.Watcher.LookAgain()
		if _, err := r.src.Scanner.Scan(); err != nil {
			t.Fatal(err)
		}
		r.take()
	}
	r.read()
	r.want("app.log", first+second+first+second+first+second+second)
	for i, level := range levels {
		if level != ul.Error {
			t.Errorf("line %d of 7 has level %s, want %s", i+1, level, ul.Error)
		}
	}

	r.write(f, first)
	r.read()
	r.write(f, second)
	r.read()
	if n := len(levels); n != 9 || levels[7] != ul.Unknown || levels[8] != ul.Error {
		t.Errorf("the lines have the levels %v; want 9, the last of them %s and %s", levels, ul.Unknown, ul.Error)
	}
}

// A line keeps its level when it is read again after a rewind, although the Classifier has
// since seen other formats.
func TestLevelsAreTheSameAfterARewind(t *testing.T) {
	const text = "07:36:35.123 [main] ERROR c.e.Main -- b\n\tat c.e.Main.main\n{\"level\":\"DEBUG\"}\n{\"@timestamp\":\"2026-11-23T07:36:35Z\"}\n" +
		"Nov 23, 2026 7:36:35 AM c.e.Main main\nWARNING: c\n more\n[0.1s][info][gc] a\n"
	r := newRig(t)
	r.put("app.log", text)
	var lines [2][ul.NumLevels]uint32
	for i := range lines {
		r.src.Watcher.LookAgain()
		if _, err := r.src.Scanner.Scan(); err != nil {
			t.Fatal(err)
		}
		for r.take() {
			for _, c := range r.last {
				for level, n := range c.Lines {
					lines[i][level] += n
				}
			}
			clear(r.last)
		}
		r.src.Start.Rewind()
	}
	if lines[0] != lines[1] {
		t.Errorf("lines by level: %v, and read again %v, want the same", lines[0], lines[1])
	}
	r.want("app.log", text+text)
}

// Under pressure, application lines below --keep-level are dropped and counted;
// errors are kept with their stack traces.
func TestPressureKeepsErrorsOfAnApplication(t *testing.T) {
	infos := strings.Repeat("2026-11-23T07:36:35.123Z  INFO 1 --- [demo] [main] c.e.Main : a\n", 1000)
	const failed = "2026-11-23T07:36:35.123Z ERROR 1 --- [demo] [main] c.e.Main : b\njava.io.IOException: c\n\tat c.e.Main.main\nCaused by: d\n"
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, infos+failed+infos+failed+infos)
	r.discard()
	r.read()
	var kept strings.Builder
	var lost uint64
	for line := range strings.Lines(r.got["gc.log"].String()) {
		if gap, ok := ul.ParseMarker([]byte(strings.TrimSuffix(line, "\n"))); ok {
			lost += gap.Lines[ul.Discard][ul.Info]
			if gap.Total() != gap.Lines[ul.Discard][ul.Info] {
				t.Errorf("a marker counts lines of other levels than info: %s", line)
			}
		} else if !strings.Contains(line, "INFO") {
			kept.WriteString(line)
		} else {
			lost++
		}
	}
	if kept.String() != failed+failed || lost != 3000 || r.droppedMetric() < 2000 {
		t.Errorf("%d of 3000 lines at info are there or counted, %.0f dropped; want all, and at least 2000 dropped; kept:\n%s\nwant:\n%s",
			lost, r.droppedMetric(), kept.String(), failed+failed)
	}
}
