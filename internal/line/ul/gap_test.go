package ul

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

const sampleMarker = "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1290 lines, 123456 bytes dropped in 12.345s: " +
	"discard info=1200 debug=34; drop warning=6 info=50\n"

func sampleGap() Gap {
	first := time.Date(2026, 11, 21, 11, 49, 0, 123_900_000, time.FixedZone("", 3600))
	g := Gap{Bytes: 123456, First: first, Last: first.Add(12*time.Second + 345_999*time.Microsecond)}
	g.Lines[Discard][Info], g.Lines[Discard][Debug] = 1200, 34
	g.Lines[DropAll][Warning], g.Lines[DropAll][Info] = 6, 50
	return g
}

func marker(g Gap) string { return string(g.AppendMarker(nil)) }

func TestMarkerIsAsDocumented(t *testing.T) {
	g := sampleGap()
	if got := marker(g); got != sampleMarker {
		t.Errorf("got  %swant %s", got, sampleMarker)
	}
	g = Gap{Bytes: 9, First: g.First, Last: g.First.Add(-time.Hour)}
	g.Lines[DropAll][Unknown] = 1
	want := "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1 lines, 9 bytes dropped in 0.000s: drop unknown=1\n"
	if got := marker(g); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestNoLinesNoMarker(t *testing.T) {
	g := Gap{Bytes: 7, First: time.Unix(1, 0), Last: time.Unix(2, 0)}
	if got := string(g.AppendMarker([]byte("before\n"))); got != "before\n" {
		t.Errorf("with a gap without lines, the text is %q, want %q", got, "before\n")
	}
}

func TestMarkerIsAHeaderAtLevelWarning(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	for _, first := range []time.Time{{}, time.Now(), year(-5), year(0), year(9999), year(12000)} {
		g := sampleGap()
		g.First, g.Last = first, first.Add(time.Second)
		line := bytes.TrimSuffix(g.AppendMarker(nil), []byte{'\n'})
		var c Classifier
		for _, before := range []string{"", "text", "[0.397s][info][gc] a", " at bci 15", string(line), "[gc] weak", string(line)} {
			c.Classify([]byte(before))
			if got := c.Classify(line); got.Kind != Header || got.Level != Warning {
				t.Errorf("after %q: %+v, want kind %v and level %v: %s", before, got, Header, Warning, line)
			}
		}
		var r Record
		r.Parse(line)
		if r.Kind != Header || string(r.Tags) != "ullage" || !bytes.HasPrefix(r.Message, []byte("gap: ")) || r.UnknownFields != 0 {
			t.Errorf(`the marker is read as %s, want a header with the tag ullage, a message that begins with "gap: " and no unknown fields`, show(&r))
		}
		back, ok := ParseMarker(line)
		if when, dated := r.When(); !dated || !ok || !when.Equal(back.First) {
			t.Errorf("%s: the time of the record is %s, %v, the time of the gap is %s, %v; want the same time and true for both", line, when, dated, back.First, ok)
		}
	}
}

func TestLongestMarkerFits(t *testing.T) {
	g := Gap{Bytes: math.MaxUint64, Last: time.Unix(1<<40, 0)} // Sub saturates
	for r := range g.Lines {
		for l := range g.Lines[r] {
			g.Lines[r][l] = math.MaxUint64
		}
	}
	if got := marker(g); len(got) != MaxMarkerBytes || MaxMarkerBytes >= 512 {
		t.Errorf("%d bytes, want %d: %s", len(got), MaxMarkerBytes, got)
	}
}

func TestMarkerAllocatesNothing(t *testing.T) {
	g, dst := sampleGap(), make([]byte, 0, MaxMarkerBytes)
	line := []byte(sampleMarker)
	if n := testing.AllocsPerRun(100, func() { dst = g.AppendMarker(dst[:0]) }); n != 0 {
		t.Errorf("AppendMarker: %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { ParseMarker(line) }); n != 0 {
		t.Errorf("ParseMarker: %v allocations, want 0", n)
	}
}

func TestParseMarkerReadsWhatWasWritten(t *testing.T) {
	want := sampleGap()
	want.First = time.Date(2026, 11, 21, 10, 49, 0, 123e6, time.UTC)
	want.Last = want.First.Add(12345 * time.Millisecond)
	for _, line := range []string{sampleMarker, strings.TrimSuffix(sampleMarker, "\n")} {
		if got, ok := ParseMarker([]byte(line)); !ok || got != want {
			t.Errorf("%q: %+v, %v, want %+v", line, got, ok, want)
		}
	}
}

func TestParseMarkerRefuses(t *testing.T) {
	refuses := func(line string) {
		t.Helper()
		if g, ok := ParseMarker([]byte(line)); ok {
			t.Errorf("%q is parsed as %+v, want it refused", line, g)
		}
	}
	for i := range sampleMarker {
		if i < len(sampleMarker)-1 {
			refuses(sampleMarker[:i])
		}
		refuses(sampleMarker[:i] + " " + sampleMarker[i:])
	}
	refuses(sampleMarker + "\n")
	refuses(strings.Replace(sampleMarker, "\n", "\r\n", 1))
	for _, c := range [][2]string{
		{"+0000", "+0100"}, {"10:49", "25:49"}, {"11-21", "13-21"}, {"warning", "warn"}, {"[ullage]", "[gc]"},
		{"1290", "1291"}, {"1290", "01290"}, {"123456", "-1"}, {"123456", "18446744073709551616"},
		{"12.345s", "12.35s"}, {"12.345s", "12s"}, {"12.345s", "9223372036.855s"}, {"12.345s", "9223372037.000s"}, {"12.345s", "18446744073709551615.000s"},
		{"info=1200 debug=34", "debug=34 info=1200"}, {"info=1200", "info=1200 error=0"}, {"info=1200", "info=600 info=600"},
		{"info=1200", "loud=1200"}, {"; ", ", "}, {"discard info=1200 debug=34; ", ""}, {"discard", "drop"},
		{"1290 lines", "0 lines"}, {": discard info=1200 debug=34; drop warning=6 info=50", ""},
	} {
		refuses(strings.Replace(sampleMarker, c[0], c[1], 1))
	}
	// A line whose sum wraps is not a marker.
	refuses("[2026-11-21T10:49:00.123+0000][warning][ullage] gap: 4 lines, 1 bytes dropped in 0.000s: drop info=18446744073709551615 debug=5")
}

func TestAddMergesCountsAndTimes(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	one := func(l Level, first, last int64) Gap {
		g := Gap{Bytes: 10, First: at(first), Last: at(last)}
		g.Lines[Discard][l] = 1
		return g
	}
	var g Gap
	for _, o := range []Gap{{}, one(Info, 20, 30), one(Debug, 10, 15), one(Info, 25, 40), {}} {
		g.Add(o)
	}
	want := Gap{Bytes: 30, First: at(10), Last: at(40)}
	want.Lines[Discard] = [NumLevels]uint64{Info: 2, Debug: 1}
	if g != want || g.Total() != 3 {
		t.Errorf("got %+v, want %+v", g, want)
	}
}

func TestReasonsAreNamed(t *testing.T) {
	if Discard.String() != "discard" || DropAll.String() != "drop" || DropAll != NumReasons-1 || Reason(9).String() != "unknown" {
		t.Errorf("the reasons are called %s, %s, %s, the last is %d; want discard, drop, unknown and %d", Discard, DropAll, Reason(9), DropAll, NumReasons-1)
	}
}

// ParseMarker accepts only lines that AppendMarker writes, byte for byte.
func FuzzParseMarker(f *testing.F) {
	for _, line := range []string{sampleMarker, "", "[", "[2026-11-21T10:49:00.123+0000][warning][ullage] gap: ",
		"[0000-01-01T00:00:00.000+0000][warning][ullage] gap: 1 lines, 0 bytes dropped in 9223372036.854s: drop error=1"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		g, ok := ParseMarker(line)
		if !ok {
			return
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if again := g.AppendMarker(nil); string(again) != string(line)+"\n" || g.Total() == 0 {
			t.Fatalf("%q is written as %q, with %d lines; want the same with a newline, and at least 1 line", line, again, g.Total())
		}
		var c Classifier
		if got := c.Classify(line); got.Kind != Header || got.Level != Warning {
			t.Fatalf("%q is classified as %+v, want kind %v and level %v", line, got, Header, Warning)
		}
	})
}

// The marker of any gap can be read back, and no line before it changes the result.
func FuzzAppendMarker(f *testing.F) {
	f.Add([]byte{1, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint8(9), uint64(123456), int64(1795258140123), int64(12345), []byte("[gc] weak"))
	f.Add([]byte{}, uint8(0), uint64(0), int64(math.MinInt64), int64(math.MaxInt64), []byte{})
	f.Fuzz(func(t *testing.T, counts []byte, shift uint8, size uint64, first, last int64, before []byte) {
		g := Gap{Bytes: size, First: time.UnixMilli(first), Last: time.UnixMilli(last)}
		for i, n := range counts[:min(len(counts), NumReasons*NumLevels)] {
			g.Lines[i/NumLevels][i%NumLevels] = uint64(n) << (shift % 52) // the sum of 12 of these fits
		}
		line := g.AppendMarker(nil)
		if len(line) == 0 && g.Total() == 0 {
			return
		}
		if len(line) > MaxMarkerBytes {
			t.Fatalf("%d bytes, want at most %d: %s", len(line), MaxMarkerBytes, line)
		}
		back, ok := ParseMarker(line)
		if !ok || back.Lines != g.Lines || back.Bytes != g.Bytes || string(back.AppendMarker(nil)) != string(line) {
			t.Fatalf("%s is read as %+v, %v; want Bytes %d, Lines %v, true, and the same marker again", line, back, ok, g.Bytes, g.Lines)
		}
		var c Classifier
		c.Classify(before)
		if got := c.Classify(line[:len(line)-1]); got.Kind != Header || got.Level != Warning {
			t.Fatalf("%q after %q is %+v, want kind %v and level %v", line, before, got, Header, Warning)
		}
	})
}
