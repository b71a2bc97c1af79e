package ul

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// sample returns the lines of an excerpt of a real JVM's log.
func sample(t testing.TB, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// unpadded returns the lines without padding: the widths of the level and of the tags change
// from line to line.
func unpadded(lines [][]byte) [][]byte {
	padding := regexp.MustCompile(` +\]`)
	short := make([][]byte, len(lines))
	for i, line := range lines {
		short[i] = line
		var p prefix
		if p.scan(line) && !p.blank() {
			short[i] = append(padding.ReplaceAll(line[:p.end], []byte("]")), line[p.end:]...)
		}
	}
	return short
}

const all = Decorator(1<<12 - 1)

// samples has, for each excerpt, the numbers of lines by kind and by level, and the
// decorators of all its headers.
var samples = []struct {
	name    string
	kinds   [4]int // text, header, continuation, drop
	levels  [NumLevels]int
	present Decorator
	dropped uint64
}{
	{"default-jdk17.log", [4]int{0, 61, 0, 0}, [6]int{0, 0, 0, 61, 0, 0}, Uptime | LevelDecorator | Tags, 0},
	{"default-jdk25.log", [4]int{0, 61, 0, 0}, [6]int{0, 0, 0, 61, 0, 0}, Uptime | LevelDecorator | Tags, 0},
	{"all-decorators-jdk17.log", [4]int{0, 52, 0, 0}, [6]int{0, 0, 51, 1, 0, 0}, all, 0},
	{"all-decorators-jdk25.log", [4]int{0, 52, 0, 0}, [6]int{0, 0, 50, 2, 0, 0}, all, 0},
	{"exceptions-jdk17.log", [4]int{0, 16, 20, 0}, [6]int{0, 0, 0, 36, 0, 0}, Uptime | PID | LevelDecorator | Tags, 0},
	{"exceptions-jdk25.log", [4]int{0, 15, 21, 0}, [6]int{0, 0, 0, 36, 0, 0}, Uptime | PID | LevelDecorator | Tags, 0},
	{"exceptions-level-jdk17.log", [4]int{0, 5, 7, 0}, [6]int{0, 0, 0, 12, 0, 0}, LevelDecorator, 0},
	{"exceptions-level-jdk25.log", [4]int{0, 5, 7, 0}, [6]int{0, 0, 0, 12, 0, 0}, LevelDecorator, 0},
	{"exceptions-nanos-jdk17.log", [4]int{0, 5, 7, 0}, [6]int{12, 0, 0, 0, 0, 0}, UptimeNanos | PID | TID | Tags, 0},
	{"exceptions-nanos-jdk25.log", [4]int{0, 5, 7, 0}, [6]int{12, 0, 0, 0, 0, 0}, UptimeNanos | PID | TID | Tags, 0},
	{"async-jdk17.log", [4]int{0, 30, 0, 1}, [6]int{0, 14, 14, 2, 1, 0}, Uptime | LevelDecorator | Tags, 292},
	{"async-jdk25.log", [4]int{0, 30, 0, 1}, [6]int{0, 8, 17, 5, 1, 0}, Uptime | LevelDecorator | Tags, 3435},
	{"async-tags-jdk17.log", [4]int{0, 20, 0, 1}, [6]int{20, 0, 0, 0, 1, 0}, Tags, 795},
	{"async-tags-jdk25.log", [4]int{0, 20, 0, 1}, [6]int{20, 0, 0, 0, 1, 0}, Tags, 2433},
	{"async-none-jdk17.log", [4]int{20, 0, 0, 1}, [6]int{20, 0, 0, 0, 1, 0}, 0, 795},
	{"async-none-jdk25.log", [4]int{20, 0, 0, 1}, [6]int{20, 0, 0, 0, 1, 0}, 0, 2431},
}

func TestRealLogs(t *testing.T) {
	for _, s := range samples {
		var c Classifier
		var kinds [4]int
		var levels [NumLevels]int
		dropped := uint64(0)
		for _, line := range sample(t, s.name) {
			class := c.Classify(line)
			kinds[class.Kind]++
			levels[class.Level]++
			dropped += class.Dropped
			var r Record
			r.Parse(line)
			if r.Kind == Header && (r.Present != s.present || r.UnknownFields != 0) {
				t.Errorf("%s: decorators %s and %d unknown fields, want %s and 0, in %s", s.name, r.Present, r.UnknownFields, s.present, line)
			}
		}
		if kinds != s.kinds || levels != s.levels || dropped != s.dropped {
			t.Errorf("%s: kinds %v, levels %v, dropped %d; want %v, %v, %d",
				s.name, kinds, levels, dropped, s.kinds, s.levels, s.dropped)
		}
	}
}

func TestClocksOfARealLogAgree(t *testing.T) {
	for _, name := range []string{"all-decorators-jdk17.log", "all-decorators-jdk25.log"} {
		for _, line := range sample(t, name) {
			var r, millis, seconds Record
			r.Parse(line)
			millis.Parse([]byte("[" + string(r.TimeMillis) + "] x"))
			seconds.Parse([]byte("[" + string(r.Uptime) + "] x"))
			when, _ := r.When()
			if same, ok := millis.When(); !ok || !same.Equal(when) {
				t.Errorf("%s: the times are %s and %s, known is %v; want the same time and true", name, when, same, ok)
			}
			since, _ := r.Since()
			// An uptime is rounded to milliseconds.
			if near, ok := seconds.Since(); !ok || (since-near).Abs() > 1e6 {
				t.Errorf("%s: the uptimes are %s and %s, known is %v; want a difference of at most 1ms and true", name, since, near, ok)
			}
		}
	}
}
