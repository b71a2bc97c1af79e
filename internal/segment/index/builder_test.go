package index

import (
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
)

func stamped(s int, rest string) string {
	return at(s).Format("[2006-01-02T15:04:05.000-0700]") + rest + "\n"
}

// Only a plain log of one JVM is regular.
func TestWhatIsRegular(t *testing.T) {
	gap := ul.Gap{First: at(2), Last: at(3), Bytes: 9}
	gap.Lines[ul.Discard][ul.Debug] = 7
	plain := stamped(1, "[1.000s][info ][gc] a") + stamped(2, "[2.000s][debug][gc,heap] b") + " more\n\nand more [x]\n" + stamped(3, "[3.000s][info ][gc] c")
	for name, c := range map[string]struct {
		text    string
		regular bool
	}{
		"a log":                                {plain, true},
		"without uptimes":                      {stamped(1, "[info][gc] a") + stamped(2, "[error][gc] b"), true},
		"with pid and tid":                     {stamped(1, "[1.000s][7][8][info][gc] a") + stamped(2, "[1.100s][7][9][info][gc] b"), true},
		"threads that log out of order":        {stamped(2, "[2.000s][info][gc] a") + stamped(1, "[1.950s][info][gc] b"), true},
		"nothing":                              {"", false},
		"no date":                              {"[1.000s][info][gc] a\n", false},
		"a line without a date":                {plain + "[4.000s][info][gc] a\n", false},
		"a line without an uptime":             {plain + stamped(4, "[info][gc] a"), false},
		"no level":                             {stamped(1, "[1.000s][gc] a"), false},
		"milliseconds":                         {"[1795341600000ms][info][gc] a\n", false},
		"a hostname":                           {stamped(1, "[1.000s][info][info][gc] a"), false},
		"the rest of a record":                 {" more\n" + plain, false},
		"another JVM":                          {plain + stamped(4, "[0.100s][info][gc] a"), false},
		"a marker":                             {plain + string(gap.AppendMarker(nil)), false},
		"a marker without uptimes":             {stamped(1, "[info][gc] a") + string(gap.AppendMarker(nil)), false},
		"lines that the JVM dropped":           {plain + stamped(4, "[4.000s][warning][] ") + stamped(4, "[4.000s][warning]      7 messages dropped due to async logging"), false},
		"a line with another inside":           {plain + strings.TrimSuffix(stamped(4, "[4.000s][info ][gc] cu"), "\n") + stamped(5, "[5.000s][info ][gc] d"), false},
		"a line with another inside, no text":  {plain + strings.TrimSuffix(stamped(4, "[4.000s][info ][gc] "), "\n") + stamped(5, "[5.000s][info ][gc] d"), false},
		"a part of a record is missing":        {plain + string(ul.AppendShortened(nil, at(4), ul.Error)), false},
		"a record of another format":           {plain + "2026-11-22 10:00:07 [main] INFO x - y\n", false},
		"a line without its end":               {plain + strings.TrimSuffix(stamped(4, "[4.000s][info ][gc] x"), "\n"), false},
		"an implausible date":                  {"[9999-11-22T10:00:01.000+0000][1.000s][info][gc] a\n", false},
		"an implausible uptime":                {stamped(1, "[2000000000.000s][info][gc] a"), false},
		"decorations that are longer than all": {stamped(1, "[1.000s][info]["+strings.Repeat("gc,", 40)+"gc] a"), false},
	} {
		for _, frames := range []int{1, 2} {
			var b Builder
			if frames == 2 {
				half := strings.IndexByte(c.text, '\n') + 1
				b.Frame([]byte(c.text[:half]))
				b.Frame([]byte(c.text[half:]))
			} else {
				b.Frame([]byte(c.text))
			}
			if got := b.Segment(1, 2); (got.Regular != nil) != c.regular {
				t.Errorf("%s in %d frames: the regular entry is %v, want one only for a plain log of one JVM", name, frames, got.Regular)
			}
		}
	}
	var b Builder
	b.Frame([]byte(plain))
	got := b.Segment(1, 2)
	want := Regular{First: at(1), Last: at(3), Uptimes: true, Begin: time.Second, Low: time.Second, High: 3 * time.Second, Uptime: 3 * time.Second, End: at(3)}
	r := *got.Regular
	head := string(r.Head)
	if r.Head = nil; r.First != want.First || r.Last != want.Last || r.Begin != want.Begin || r.Low != want.Low || r.High != want.High || r.End != want.End || r.Uptime != want.Uptime || !r.Uptimes ||
		head+"\n" != stamped(3, "[3.000s][info ][gc] c") || got.Lines != [ul.NumLevels]uint64{ul.Info: 2, ul.Debug: 4} {
		t.Errorf("the regular entry is %+v, its head %q, its lines %v; want %+v, the head of the line c, 2 lines of info and 4 of debug",
			r, head, got.Lines, want)
	}
}

// The fast parser finds the same clocks as the parser of records.
func FuzzHour(f *testing.F) {
	for _, line := range []string{"[1.000s][info ][gc] a", "[info][gc] a", "[1.5s][info] a", "[12.345s][7][8][warning][gc] a", "[1.000s][7][host][info] a", "[info", "[info]", "[trace][gc,region] a", "[trace][gc,ref   ] a", "[1.000s][info][error] a"} {
		f.Add(strings.TrimSuffix(stamped(1, line), "\n"), "[2026-11-22T10:59:59.999+0000]"+line)
	}
	f.Add("[2026-11-22T10:00:01.000+0530][1.000s][info][gc] a", "[2026-11-22T10:60:01.000+0530][1.000s][info][gc] a")
	f.Fuzz(func(t *testing.T, first, second string) {
		var a, b ul.Record
		var h hour
		a.Parse([]byte(first))
		when, dated := a.When()
		_, uptimes := a.Since()
		if a.Kind != ul.Header || !dated || len(first) < 6 || first[5] != '-' || a.Present&ul.Hostname != 0 || a.Level == ul.Unknown {
			return
		}
		h.begin([]byte(first), when)
		var seen recent
		if _, _, n, ok := h.read([]byte(first), uptimes); ok {
			seen.read([]byte(first)[n:])
		}
		at, up, n, ok := h.read([]byte(second), uptimes)
		if !ok {
			return
		}
		level, length := seen.read([]byte(second)[n:])
		if level == ul.Unknown {
			return
		}
		b.Parse([]byte(second))
		want, dated := b.When()
		since, has := b.Since()
		if b.Kind == ul.Drop {
			return
		}
		if b.Kind != ul.Header || !dated || !at.Equal(want) || has != uptimes || up != since || level != b.Level || second[n+length:] != string(b.Message) {
			t.Fatalf("%q: the date is %v, the uptime %v, the level %v, the message %q; want those of the record: %+v",
				second, at, up, level, second[n+length:], b)
		}
	})
}

// entry is the entry of a segment of two lines.
func entry(seq uint64) Entry {
	var b Builder
	gap := ul.Gap{First: at(2), Last: at(3), Bytes: 9}
	gap.Lines[ul.DropAll][ul.Error] = 1 << 40
	b.Frame([]byte(stamped(1, "[1.000s][info ][gc] a") + stamped(2, "[2.000s][debug][gc,heap] b")))
	e := Entry{Seq: seq, Start: at(0).UnixMilli(), Segment: b.Segment(77, 0xdeadbeef)}
	if seq == gapped {
		e.Gap, e.Regular = gap, nil
	}
	return e
}

const gapped = 3 // this entry has a gap

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	var file []byte
	for seq := range uint64(4) {
		e := entry(seq + 1)
		var ok bool
		if file, ok = e.Append(file); !ok {
			t.Fatal("the entry was not appended")
		}
	}
	if len(file) != 4*EntryBytes {
		t.Fatalf("the entries take %d bytes, want 4*EntryBytes", len(file))
	}
	got := Parse(file)
	if len(got) != 4 {
		t.Fatalf("%d entries are read back, want 4", len(got))
	}
	for i, e := range got {
		again, _ := e.Append(nil)
		if string(again) != string(file[i*EntryBytes:(i+1)*EntryBytes]) || e.Seq != uint64(i+1) || (e.Regular == nil) != (e.Seq == gapped) {
			t.Errorf("entry %d is %+v, want its own number and the same bytes when it is written again; a regular part only without a gap", i, e)
		}
	}
	for i := range file {
		bad := append([]byte(nil), file...)
		bad[i] ^= 1
		if n := len(Parse(bad)); n != i/EntryBytes {
			t.Fatalf("with byte %d changed, %d entries are read, want those before the changed entry", i, n)
		}
	}
	if kept := Thin(got, []uint64{2, 4, 5}); len(kept) != 2 || kept[0].Seq != 2 || kept[1].Seq != 4 {
		t.Errorf("the kept entries are %+v, want 2 of them, with Seq 2 and Seq 4", kept)
	}
	if e := entry(1); true {
		e.First = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		if _, ok := e.Append(nil); ok {
			t.Error("a time that the format cannot express is appended, want it refused")
		}
	}
}

// A reader neither overflows nor panics, whatever entry with a valid checksum was written into the file.
func FuzzParse(f *testing.F) {
	for seq := range uint64(gapped) {
		e := entry(seq + 1)
		good, _ := e.Append(nil)
		f.Add(good[:EntryBytes-4])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range Parse(checked(data)) {
			r := e.Regular
			if e.Size < 0 || e.Raw < 0 || e.lines() > uint64(e.Raw) || e.Gap.Total() > 1<<52 {
				t.Fatalf("an impossible entry is accepted, want Size and Raw of at least 0, at most Raw lines and a gap of at most 1<<52: %+v", e)
			}
			if r != nil && (e.Gap.Total() > 0 || r.Low > r.High || r.First.After(r.Last) || r.Low < 0 || len(r.Head) > headBytes) {
				t.Fatalf("the entry is %+v, its regular part %+v, want a regular part only without a gap, with its limits in order and a short head", e, r)
			}
			if again, ok := e.Append(nil); !ok || len(Parse(again)) != 1 {
				t.Fatalf("%+v cannot be read back", e)
			}
		}
	})
}
