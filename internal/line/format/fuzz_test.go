package format

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
)

// hostile returns lines that are long, nested or cut off.
func hostile() [][]byte {
	return [][]byte{
		[]byte("{" + strings.Repeat(`"a":{`, 100_000)),
		[]byte(`{"a":` + strings.Repeat("[", 100_000)),
		[]byte(`{"a":"` + strings.Repeat(`\`, 100_000)),
		[]byte("{" + strings.Repeat(`"log":{"log":{"level":`, 1000)),
		[]byte(strings.Repeat(`{"level":"INFO",`, 1000)),
		[]byte("07:36:35.123 " + strings.Repeat("[", 100_000)),
		[]byte("07:36:35.123 " + strings.Repeat("\x1b[", 100_000)),
		[]byte("07:36:35.123 " + strings.Repeat(" ", 100_000) + "ERROR"),
		[]byte("2026-11-23T07:36:35." + strings.Repeat("9", 100_000)),
		[]byte("{\"timestamp\":" + strings.Repeat("9", 100_000)),
		[]byte("\x1b[" + strings.Repeat("0;", 100_000)),
	}
}

// add calls one with the lines of all tests.
func add(f *testing.F, one func(line []byte)) {
	for _, c := range streams {
		for row := range strings.Lines(c.lines) {
			line, _, _ := strings.Cut(row, " → ")
			one([]byte(line))
		}
	}
	for _, line := range benchLines {
		one(line)
	}
	for _, line := range hostile() {
		one(line[:min(len(line), 200)])
	}
}

// FuzzClassify checks the contract of a Classifier: it does not change the line, every level is valid, the same lines
// have the same classes, and in a log of UL a line without a bracket is a header only if Begins reports it.
func FuzzClassify(f *testing.F) {
	last := []byte("07:36:35.123 [main] INFO x")
	add(f, func(line []byte) {
		f.Add(last, line, uint8(Auto))
		last = line
	})
	f.Fuzz(func(t *testing.T, first, second []byte, only uint8) {
		c := New(Format(only) % (Plain + 1))
		before := bytes.Clone(second)
		c.Classify(first, second)
		again := c
		got := c.Classify(second, nil)
		if !bytes.Equal(before, second) {
			t.Fatalf("the line became %q, want %q as before", second, before)
		}
		if same := again.Classify(second, nil); same != got || got.Level >= ul.NumLevels || got.Kind > ul.Drop {
			t.Fatalf("%q is %v, then %v; want the same twice, with a level below %d and a kind up to %v", second, got, same, ul.NumLevels, ul.Drop)
		}
		c = Classifier{}
		c.Classify([]byte("[0.397s][info][gc] a"), nil)
		if kind := c.Classify(second, nil).Kind; kind == ul.Header && second[0] != '[' && !Begins(second) {
			t.Fatalf("%q is a header, but Begins reports false", second)
		}
		if got.Kind == ul.Text && got.Level != ul.Unknown {
			t.Fatalf("the text %q has level %s, want %s", second, got.Level, ul.Unknown)
		}
	})
}

// FuzzWhen checks that each time can be written as a date with a year of four digits.
func FuzzWhen(f *testing.F) {
	add(f, func(line []byte) { f.Add(line) })
	f.Fuzz(func(t *testing.T, line []byte) {
		at, ok := When(line)
		if ok && (at.Year() < 0 || at.Year() > 10000) || !ok && !at.IsZero() {
			t.Fatalf("%q has the time %s, known is %v; want a year from 0 to 10000, or the zero time if it is not known", line, at, ok)
		}
		if header := Begins(line); ok && !header {
			t.Fatalf("%q has a time but is not a header", line)
		}
	})
}

// The cost of a line is bounded, whatever its content and length.
func TestHostileLines(t *testing.T) {
	for _, line := range hostile() {
		var c Classifier
		head := line[:20]
		if n := testing.AllocsPerRun(10, func() { c.Classify(line, line); When(line) }); n != 0 {
			t.Errorf("%q: %v allocations, want 0", head, n)
		}
		var cut Classifier
		if got, want := cut.Classify(line[:min(len(line), maxHead)], nil), c.Classify(line, nil); got.Level != want.Level && want.Kind == ul.Header {
			t.Errorf("%q: the head is %v, the whole line %v, want the same level", head, got, want)
		}
	}
	for name, line := range benchLines {
		var c Classifier
		if n := testing.AllocsPerRun(10, func() { c.Classify(line, nil); When(line) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// FuzzJSON compares flatLevel with a full parse of the object.
func FuzzJSON(f *testing.F) {
	add(f, func(line []byte) { f.Add(line) })
	f.Add([]byte(`{"message":"x \"level\":\"ERROR\" \\","level":"info"}`))
	f.Add([]byte(`{"a":[["level"]],"level":3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		flat := flatLevel(line)
		if flat == ul.Unknown || !json.Valid(line) || line[0] != '{' || bytes.Contains(line, []byte(`"severity"`)) {
			return
		}
		var at stamp
		if h, ok := parseJSON(line, &at); !ok || h.level != flat {
			t.Fatalf("%q: flatLevel is %s, the parsed level %s, parsed: %v; want the same level and true", line, flat, h.level, ok)
		}
	})
}
