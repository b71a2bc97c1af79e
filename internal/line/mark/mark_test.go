package mark

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 5e6, time.UTC)

func at(m Mark) Mark {
	m.Time = noon
	return m
}

func TestMarksAreLinesAndAreReadBack(t *testing.T) {
	const head = "[2026-11-23T12:00:00.005+0000]"
	for name, c := range map[string]struct {
		mark Mark
		want string
	}{
		"without details":     {New(SidecarStopped), "[info][ullage] mark: sidecar-stopped"},
		"words":               {New(JVMStarted, "stream", "gc-7.log", "pid", "7"), "[info][ullage] mark: jvm-started stream=gc-7.log pid=7"},
		"an empty value":      {New(JVMStarted, "stream", "", "pid", "7"), "[info][ullage] mark: jvm-started pid=7"},
		"a value with spaces": {New(JVMStarted, "flags", "-Xmx2g -Xss1m"), `[info][ullage] mark: jvm-started flags="-Xmx2g -Xss1m"`},
		"quotes":              {New(JVMStarted, "main", `a"b\c`), `[info][ullage] mark: jvm-started main="a\"b\\c"`},
		"a word with =":       {New(LevelRaised, "to", "gc*=debug"), "[info][ullage] mark: level-raised to=gc*=debug"},
		"another script":      {New(JVMStarted, "main", "日本"), `[info][ullage] mark: jvm-started main="日本"`},
		"lines and escapes":   {New(JVMStarted, "main", "a\nb\x1b[2J\u202e\xff"), "[info][ullage] mark: jvm-started main=\"a b?[2J?\ufffd\""},
		"a crash":             {New(JVMEnded, "how", Crashed), "[warning][ullage] mark: jvm-ended how=crashed"},
		"an end":              {New(JVMEnded, "how", "exited"), "[info][ullage] mark: jvm-ended how=exited"},
		"a loss of lines":     {New(ArchivesMissed, "count", "3"), "[warning][ullage] mark: archives-missed count=3"},
	} {
		t.Run(name, func(t *testing.T) {
			m := at(c.mark)
			line := m.Append(nil)
			if string(line) != head+c.want+"\n" {
				t.Fatalf("the mark is %q, want %q", line, head+c.want+"\n")
			}
			for _, text := range []string{string(line), head + c.want} {
				if is, ok := Parse([]byte(text)); !ok || !reflect.DeepEqual(is, m) {
					t.Errorf("%+v, %v; want %+v", is, ok, m)
				}
			}
			var r ul.Record
			if r.Parse(line[:len(line)-1]); r.Kind != ul.Header || r.Level != m.Level || string(r.Tags) != tag {
				t.Errorf("as UL: %+v; want kind %v, level %v and the tags %q", r, ul.Header, m.Level, tag)
			}
		})
	}
}

func TestWhatAMarkConcerns(t *testing.T) {
	is := func(stream string) bool { return stream == "gc.log" }
	for streams, want := range map[string]bool{"": true, "gc.log": true, "a.log,gc.log": true, "a.log": false, "gc.log.1": false} {
		if got := New(JVMStarted, "stream", streams).Concerns(is); got != want {
			t.Errorf("a mark of the streams %q concerns gc.log: %v, want %v", streams, got, want)
		}
	}
}

func TestAMarkIsBounded(t *testing.T) {
	long := strings.Repeat(`"`, 10*maxValue)
	var pairs []string
	for range 2 * maxFields {
		pairs = append(pairs, "key", long)
	}
	m := at(New(JVMStarted, pairs...))
	line := m.Append(nil)
	if len(line) > MaxBytes || len(m.Fields) != maxFields || strings.Count(string(line), "\n") != 1 {
		t.Errorf("%d fields, %d bytes, %d newlines; want %d fields, at most %d bytes and 1 newline",
			len(m.Fields), len(line), strings.Count(string(line), "\n"), maxFields, MaxBytes)
	}
	if _, ok := Parse(line); !ok {
		t.Error("the longest mark can't be parsed")
	}
}

func TestWhatIsNotExactlyAMark(t *testing.T) {
	const head = "[2026-11-23T12:00:00.005+0000][info][ullage] "
	for _, line := range []string{
		"", head, head + "mark:", head + "mark: ", head + "gap: x", head + "mark: A", head + "mark: a ", head + "mark: a  b=c",
		head + "mark: a b", head + "mark: a b=", head + "mark: a =c", head + `mark: a b="c`, head + `mark: a b="c"d`, head + `mark: a b="c"`,
		head + `mark: a b="c d" `, head + "mark: a b=c\td", head + "mark: a b=\x1b", head + `mark: a b="\n"`,
		head + "mark: a b=" + strings.Repeat("c", maxValue+1), head + "mark: " + strings.Repeat("a", maxWord+1),
		head + "mark: a" + strings.Repeat(" b=c", maxFields+1),
		"[2026-11-23T12:00:00.005+0100][info][ullage] mark: a", "[2026-13-23T12:00:00.005+0000][info][ullage] mark: a",
		"[2026-11-23T12:00:00.005+0000][error][ullage] mark: a", "[2026-11-23T12:00:00.005+0000][info][gc] mark: a",
		"[2026-11-23T12:00:00.005+0000][1.0s][info][ullage] mark: a", "mark: a", "x" + head + "mark: a",
		head + "mark: a b=\"" + strings.Repeat("c ", MaxBytes) + "\"",
	} {
		if m, ok := Parse([]byte(line)); ok {
			t.Errorf("%q is parsed as %+v, want no mark", line, m)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(at(New(JVMStarted, "main", "a b", "pid", "7")).Append(nil)))
	f.Add(`[2026-11-23T12:00:00.005+0000][warning][ullage] mark: jvm-ended how=crashed main="a\"b\\c"`)
	f.Fuzz(func(t *testing.T, line string) {
		m, ok := Parse([]byte(line))
		if !ok {
			return
		}
		if again := string(m.Append(nil)); again != strings.TrimSuffix(line, "\n")+"\n" {
			t.Errorf("%q is written again as %q, want the same line", line, again)
		}
	})
}

// A mark can be parsed whatever its values are.
func FuzzAppend(f *testing.F) {
	f.Add("key", "a\nb")
	f.Fuzz(func(t *testing.T, a, b string) {
		m := at(New(LevelRaised, "one", a, "two", b))
		if is, ok := Parse(m.Append(nil)); !ok || !reflect.DeepEqual(is, m) {
			t.Errorf("%+v, %v; want %+v", is, ok, m)
		}
	})
}
