package printable

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestLineIsOneLineThatATerminalCanBeShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"straße, 東京, 👍":                     "straße, 東京, 👍",
		"two\nlines\tand a tab\r":           "two lines and a tab?",
		"a\u2028b\u00a0c\u0085d":            "a?b\u00a0c?d",
		"\x1b[31mred\x1b[0m":                "?[31mred?[0m",
		"C1: \u009b31m, DEL: \x7f":          "C1: ?31m, DEL: ?",
		"gc\u202egol.cg\u2066x\u200f":       "gc?gol.cg?x?",
		"invisible\u200b\ufeff\u00ad\ue000": "invisible????",
		"bad UTF-8: \xff\xc3":               "bad UTF-8: \ufffd\ufffd",
		"replaced before: \ufffd":           "replaced before: \ufffd",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		text, want string
		limit      int
	}{
		{"12345", "12345", 5},
		{"123456", "12…", 5},
		{"üüü", "üüü", 6},
		{"üüüü", "ü…", 6},
		{"\u202e\u202e\u202e\u202e\u202e\u202e", "??…", 5},
		{"\U000e0001\U000e0001\U000e0001\U000e0001\U000e0001", "?????", 5},
		{"1234", "…", 3},
	} {
		if got := Text(c.text, c.limit); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestEscapedShowsWhatIsNotPrintable(t *testing.T) {
	for _, c := range []struct {
		text, want string
		limit      int
	}{
		{"gc*=debug", "gc*=debug", 9},
		{"a\nb\x1b\u202e\"", `a\nb\x1b\u202e"`, 100},
		{"a\u202eb", `a\u202eb`, 8},
		{"a\u202ebc", `a…`, 8},
	} {
		if got := Escaped(c.text, c.limit); got != c.want {
			t.Errorf("Escaped(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestJSONEscapesWhatATerminalObeys(t *testing.T) {
	for text, want := range map[string]string{
		"[\n  {\"a\": \"straße, 東京, 👍\"}\n]\n": "[\n  {\"a\": \"straße, 東京, 👍\"}\n]\n",
		"\"gc\u202egol.cg\u2066x\u200f\"":      `"gc\u202egol.cg\u2066x\u200f"`,
		"\"\u009b31m\x7f\u2028\"":              `"\u009b31m\u007f\u2028"`,
		"\"\U000e0001\"":                       `"\udb40\udc01"`,
		"\"bad UTF-8: \xff\"":                  "\"bad UTF-8: \ufffd\"",
	} {
		got := JSON(text)
		if got != want {
			t.Errorf("JSON(%q) = %q, want %q", text, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("the output of JSON(%q) decodes to %v, want %v", text, after, before)
		}
	}
}

func TestClipCountsCharacters(t *testing.T) {
	for text, want := range map[string]string{"東京東京": "東京東京", "東京東京東": "東京東…", "": ""} {
		if got := Clip(text, 4); got != want {
			t.Errorf("Clip(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSizesAreNarrow(t *testing.T) {
	for n, want := range map[int64][2]string{
		0: {"0 B", "0"}, 1023: {"1023 B", "1023"}, 1024: {"1.00 KiB", "1.00Ki"}, 10235: {"10.0 KiB", "10.0Ki"}, 1 << 20: {"1.00 MiB", "1.00Mi"},
		1<<20 - 1: {"1.00 MiB", "1.00Mi"}, 1023 << 10: {"1023 KiB", "1023Ki"}, 1<<63 - 1: {"8192 PiB", "8192Pi"},
	} {
		if got := [2]string{Bytes(n), Quantity(n)}; got != want || len(got[0]) > 8 || len(got[1]) > 6 {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999999999: "999999999", 1e9: "1.00G", 1<<63 - 1: "9.22E"} {
		if got := Count(n); got != want || len(got) > 9 {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSecondsAreAsPreciseAsAPersonReads(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 0.44: "400ms", 61.2: "1m1s", 200000: "2d7h"} {
		if got := Seconds(s); got != want {
			t.Errorf("Seconds(%f) = %q, want %q", s, got, want)
		}
	}
}

// If a raise is reported to end at 10:15:00, it must have ended by then.
func TestUntilRoundsUp(t *testing.T) {
	end := time.Date(2026, 11, 20, 10, 15, 0, 0, time.Local)
	for at, want := range map[time.Time]string{end: "10:15:00", end.Add(1): "10:15:01", end.Add(time.Second - 1): "10:15:01"} {
		if got := Until(at); got != want {
			t.Errorf("Until(%s) = %s, want %s", at, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u202eb\x1b[31m\n", 5)
	f.Add(strings.Repeat("ü\xff", 99), 64)
	f.Add("\U000e0001\u200b…", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = len(mark) + int(uint16(limit)) // as in all calls, at least the mark fits
		for name, of := range map[string]func(string, int) string{
			"Text": Text, "Escaped": Escaped, "Line": func(s string, _ int) string { return Line(s) },
		} {
			got := of(s, limit)
			if name != "Line" && len(got) > limit {
				t.Fatalf("%s(%q, %d) has %d bytes, want at most the limit", name, s, limit, len(got))
			}
			if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }) {
				t.Fatalf("%s(%q, %d) = %q is not printable", name, s, limit, got)
			}
			if again := of(got, limit); again != got {
				t.Fatalf("%s of its own result %q is %q, want it unchanged", name, got, again)
			}
		}
		if clip := Clip(Line(s), limit); utf8.RuneCountInString(clip) > limit || !strings.HasPrefix(Line(s), strings.TrimSuffix(clip, mark)) {
			t.Fatalf("Clip(%q, %d) = %q, want the beginning of the line, with at most as many characters", Line(s), limit, clip)
		}
	})
}
