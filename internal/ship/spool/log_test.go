package spool

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

var born = position.Content{Identity: position.Identity{Dev: 1, Ino: 2, Born: 3}}

// open opens the spool at path.
func open(t testing.TB, path string) (*Log, []*Record) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l, records, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, records
}

// block makes a block of text. Lines with the word "keep" are kept lines.
func block(from int64, text string) *Block {
	b := &Block{}
	b.Begin(born, "gc.log", from, []byte(text))
	for line := range strings.Lines(text) {
		level := ul.Info
		if strings.Contains(line, "keep") {
			level = ul.Warning
		}
		b.Take([]byte(line), level, level == ul.Warning, true)
	}
	end := from + int64(len(text))
	b.End = position.Position{Offset: end, CheckLen: position.Span(end), Open: !strings.HasSuffix(text, "\n"), Level: ul.Info}
	b.Read = time.Unix(1000, 0)
	return b
}

func appended(t testing.TB, l *Log, b *Block, without Without) *Record {
	t.Helper()
	r, err := l.Append(b, without)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read returns what is handed on for the records: their lines and markers.
func read(t testing.TB, l *Log, records ...*Record) Reading {
	t.Helper()
	var o Reading
	for _, r := range records {
		if err := l.Read(&o, r); err != nil {
			t.Fatal(err)
		}
	}
	o.Mark()
	return o
}

// shape replaces each marker with the counts in it.
func shape(text []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(text) {
		if g, ok := ul.ParseMarker(line); ok {
			fmt.Fprintf(&out, "<%d lines, %d bytes>\n", g.Total(), g.Bytes)
			continue
		}
		out.Write(line)
	}
	return out.String()
}

func manyLines(n int, word string) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "[%d.000s][info][gc] %s %d\n", i, word, i)
	}
	return s.String()
}

func TestLinesComeBackAsTheyWere(t *testing.T) {
	long := manyLines(100, "rest")
	for _, c := range []struct{ name, text string }{
		{"only rest", long},
		{"only kept", strings.ReplaceAll(long, "rest", "keep")},
		{"kept at the beginning", "keep\n" + long},
		{"kept at the end", long + "keep\n"},
		{"kept between", long + "keep 1\nkeep 2\n" + long + "keep 3\n" + long},
		{"short rest between kept", "keep 1\nrest\nkeep 2\n" + long},
		{"ends inside a line", long + "keep"},
		{"one byte", "\n"},
		{"does not compress", string(noise(BlockBytes))},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool")
			l, _ := open(t, path)
			r := appended(t, l, block(100, c.text), Without{})
			if got := read(t, l, r); string(got.Data) != c.text || got.Made != 0 {
				t.Errorf("read %d bytes, want %d", len(got.Data), len(c.text))
			}
			again, records := open(t, path)
			if len(records) != 1 || records[0].From != 100 || records[0].Stream != "gc.log" || records[0].Of != born {
				t.Fatalf("the records are %+v, want one of the stream gc.log, from offset 100 of the content %+v", records, born)
			}
			if got := read(t, again, records[0]); string(got.Data) != c.text {
				t.Errorf("after a restart: %d bytes, want %d", len(got.Data), len(c.text))
			}
		})
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func TestDroppedPartsLeaveMarkersInTheirPlaces(t *testing.T) {
	long := manyLines(100, "rest")
	text := long + "keep 1\n" + long + "keep 2\nrest\nkeep 3\n" + long
	n := len(long)
	for _, c := range []struct {
		name    string
		without Without
		drop    []Part
		why     ul.Reason
		want    string
	}{
		{"rest", Without{}, []Part{Rest}, ul.Discard, fmt.Sprintf("<100 lines, %d bytes>\nkeep 1\n<100 lines, %d bytes>\nkeep 2\nrest\nkeep 3\n<100 lines, %d bytes>\n", n, n, n)},
		{"rest, from the start", WithoutRest(), nil, ul.Discard, fmt.Sprintf("<100 lines, %d bytes>\nkeep 1\n<100 lines, %d bytes>\nkeep 2\nrest\nkeep 3\n<100 lines, %d bytes>\n", n, n, n)},
		{"both", Without{}, []Part{Rest, Kept}, ul.DropAll, fmt.Sprintf("<304 lines, %d bytes>\n", len(text))},
		{"both, from the start", WithoutLines(), nil, ul.DropAll, fmt.Sprintf("<304 lines, %d bytes>\n", len(text))},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool")
			l, _ := open(t, path)
			r := appended(t, l, block(0, text), c.without)
			for _, p := range c.drop {
				if _, err := l.Drop(r, p, c.why); err != nil {
					t.Fatal(err)
				}
			}
			got := read(t, l, r)
			if shape(got.Data) != c.want {
				t.Errorf("the log hands on\n%swant\n%s", shape(got.Data), c.want)
			}
			again, records := open(t, path)
			if second := read(t, again, records...); !bytes.Equal(second.Data, got.Data) {
				t.Errorf("after a restart, the log hands on\n%swant\n%s", second.Data, got.Data)
			}
			if len(got.Data) > len(text)+ul.MaxMarkerBytes+1 {
				t.Errorf("%d bytes are handed on for %d bytes of lines, want at most %d", len(got.Data), len(text), len(text)+ul.MaxMarkerBytes+1)
			}
		})
	}
}

func TestRecordsWithoutLinesAreOneMarker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	l, _ := open(t, path)
	text := manyLines(10, "rest")
	n := int64(len(text))
	var records []*Record
	for i := range int64(3) {
		records = append(records, appended(t, l, block(i*n, text), WithoutLines()))
	}
	want := fmt.Sprintf("<30 lines, %d bytes>\n", 3*n)
	if got := shape(read(t, l, records...).Data); got != want {
		t.Errorf("the log hands on %q, want %q", got, want)
	}
	sum := records[0]
	for _, r := range records[1:] {
		var err error
		if sum, err = l.Merge(sum, r); err != nil {
			t.Fatal(err)
		}
	}
	if got := shape(read(t, l, sum).Data); got != want || sum.From != 0 || sum.End.Offset != 3*n {
		t.Errorf("the merged record hands on %q, want %q; it is %+v", got, want, sum)
	}
	if got := l.Memory(); got > ReserveBytes+2*position.PageSize {
		t.Errorf("%d bytes are in use, want at most %d", got, ReserveBytes+2*position.PageSize)
	}
	again, found := open(t, path)
	if len(found) != 1 || shape(read(t, again, found...).Data) != want {
		t.Errorf("after a restart there are %d records, want 1 that hands on %q", len(found), want)
	}
}

// After a long stall, kept lines are scattered over many records. Merged
// records share pages and read as before.
func TestKeptLinesMoveTogether(t *testing.T) {
	long := manyLines(100, "rest")
	for name, texts := range map[string][]string{
		"kept between":      {long + "keep 1\n" + long, long + "keep 2\n" + long, long + "keep 3\n" + long},
		"kept side by side": {long + "keep 1\n", "keep 2\n" + long, long + "keep 3\n"},
		"none in some":      {long, long + "keep 2\n" + long, long, long},
		"only kept":         {"keep 1\n", "keep 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool")
			l, _ := open(t, path)
			var records []*Record
			at, want := int64(0), Reading{}
			for _, text := range texts {
				r := appended(t, l, block(at, text), Without{})
				if _, err := l.Drop(r, Rest, ul.Discard); err != nil {
					t.Fatal(err)
				}
				if err := l.Read(&want, r); err != nil {
					t.Fatal(err)
				}
				records, at = append(records, r), r.End.Offset
			}
			want.Mark()
			sum := records[0]
			for _, r := range records[1:] {
				var err error
				if sum, err = l.Merge(sum, r); err != nil {
					t.Fatal(err)
				}
			}
			got := read(t, l, sum)
			if string(got.Data) != string(want.Data) || got.Lines != want.Lines || got.Made != want.Made {
				t.Errorf("handed on:\n%swant:\n%s", got.Data, want.Data)
			}
			if used := l.Memory(); used > ReserveBytes+2*position.PageSize {
				t.Errorf("%d bytes are in use, want at most %d", used, ReserveBytes+2*position.PageSize)
			}
			again, found := open(t, path)
			if len(found) != 1 || !bytes.Equal(read(t, again, found...).Data, want.Data) {
				t.Errorf("after a restart there are %d records, want 1 that hands on:\n%s", len(found), want.Data)
			}
			// A record may count 256 MiB of lines that it no longer holds; reading it needs no memory for them.
			if cap(again.lines) > 1<<10 {
				t.Errorf("reading took %d bytes of memory for %d bytes of lines, want at most 1 KiB", cap(again.lines), len(want.Data))
			}
		})
	}
}

func TestMergeOfRecordsWithLinesIsRefused(t *testing.T) {
	l, _ := open(t, filepath.Join(t.TempDir(), "spool"))
	a := appended(t, l, block(0, "a\n"), Without{})
	b := appended(t, l, block(2, "b\n"), WithoutLines())
	if _, err := l.Merge(a, b); err == nil {
		t.Error("a record with lines was merged, so lines are lost; want an error")
	}
}

// The sidecar is killed after the append of a merged record and before the records that it
// replaces are freed.
func TestOfRecordsThatOverlapTheLastCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	l, _ := open(t, path)
	a := appended(t, l, block(0, "a\n"), WithoutLines())
	b := appended(t, l, block(2, "b\n"), WithoutLines())
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(after, before) // as if nothing had been freed
	if err := os.WriteFile(path, after, 0o600); err != nil {
		t.Fatal(err)
	}
	_, found := open(t, path)
	if len(found) != 1 || found[0].From != 0 || found[0].End.Offset != 4 {
		t.Errorf("found %d records, the first from %d to %d, want one, from 0 to 4", len(found), found[0].From, found[0].End.Offset)
	}
}

func TestMarkerAfterAPieceOfALineBeginsALine(t *testing.T) {
	l, _ := open(t, filepath.Join(t.TempDir(), "spool"))
	a := appended(t, l, block(0, "keep this pie"), Without{})
	b := appended(t, l, block(13, "ce\n"), WithoutLines())
	got := read(t, l, a, b)
	if want := "keep this pie\n<1 lines, 3 bytes>\n"; shape(got.Data) != want || got.Lines[ul.Warning] != 1 {
		t.Errorf("the log hands on %q, want %q; its lines by level are %v, want 1 at warning", shape(got.Data), want, got.Lines)
	}
}

func TestFreedRecordsAreForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	l, _ := open(t, path)
	text := manyLines(1000, "rest")
	var records []*Record
	for i := range int64(20) {
		records = append(records, appended(t, l, block(i*int64(len(text)), text), Without{}))
	}
	full := l.Memory()
	for _, r := range records[:19] {
		l.Free(r)
	}
	if got := l.Memory(); got > full/20+ReserveBytes+2*position.PageSize {
		t.Errorf("%d of %d bytes are in use, want at most %d", got, full, full/20+ReserveBytes+2*position.PageSize)
	}
	again, found := open(t, path)
	if len(found) != 1 || string(read(t, again, found...).Data) != text {
		t.Fatalf("found %d records, want 1 with the text of the last block", len(found))
	}
	again.Free(found[0])
	empty, none := open(t, path)
	if len(none) != 0 || empty.Memory() > ReserveBytes {
		t.Errorf("%d records were found and %d bytes are in use, want none and at most %d", len(none), empty.Memory(), ReserveBytes)
	}
}

func TestTornAndForeignPagesAreGivenBack(t *testing.T) {
	text := manyLines(1000, "rest")
	for _, c := range []struct {
		name string
		harm func(b []byte, second *Record) []byte
		want int
	}{
		{"killed before the header was written", func(b []byte, r *Record) []byte { clear(b[r.at : r.at+4096]); return b }, 1},
		{"header with another byte", func(b []byte, r *Record) []byte { b[r.at+60]++; return b }, 1},
		{"length of the head out of bounds", func(b []byte, r *Record) []byte { copy(b[r.at+atHead:], "\xff\xff\xff\xff"); return b }, 1},
		{"no such state", func(b []byte, r *Record) []byte { b[r.at+atState] = 3; return b }, 1},
		{"cut inside the header", func(b []byte, r *Record) []byte { return b[:r.at+100] }, 1},
		{"something after the records", func(b []byte, r *Record) []byte { return append(b, bytes.Repeat([]byte("x"), 1<<20)...) }, 2},
		{"something in front", func(b []byte, r *Record) []byte { return append(bytes.Repeat([]byte("x"), 1<<20), b...) }, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool")
			l, _ := open(t, path)
			appended(t, l, block(0, text), Without{})
			second := appended(t, l, block(int64(len(text)), text), Without{})
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.harm(b, second), 0o600); err != nil {
				t.Fatal(err)
			}
			again, found := open(t, path)
			if len(found) != c.want {
				t.Fatalf("found %d records, want %d", len(found), c.want)
			}
			if got := read(t, again, found...); string(got.Data) != strings.Repeat(text, c.want) {
				t.Errorf("read %d bytes, want %d times %d", len(got.Data), c.want, len(text))
			}
			if got := again.Memory(); got > 64<<10+ReserveBytes {
				t.Errorf("%d bytes are in use, want at most %d", got, 64<<10+ReserveBytes)
			}
			r := appended(t, again, block(1<<30, text), Without{})
			if got := read(t, again, r); string(got.Data) != text {
				t.Error("a block that is appended afterwards cannot be read")
			}
		})
	}
}

func TestLinesThatOthersChangedAreAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	l, _ := open(t, path)
	text := manyLines(1000, "rest")
	for _, kind := range []string{"a whole part", "two parts"} {
		t.Run(kind, func(t *testing.T) {
			if kind == "two parts" {
				text += "keep\n"
			}
			r := appended(t, l, block(0, text), Without{})
			from, _ := r.place(Rest)
			if _, err := l.file.WriteAt([]byte("other"), from+20); err != nil {
				t.Fatal(err)
			}
			o := Reading{Data: []byte("before")}
			if err := l.Read(&o, r); !errors.Is(err, errPayload) || string(o.Data) != "before" {
				t.Errorf(`read %q, error %v; want "before" and %v`, o.Data, err, errPayload)
			}
		})
	}
}

// A record cannot report more dropped bytes than any file has, or more lines than bytes.
func TestForgedSumIsNoRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	l, _ := open(t, path)
	text := manyLines(100, "rest")
	a := appended(t, l, block(0, text), WithoutLines())
	b := appended(t, l, block(int64(len(text)), text), WithoutLines())
	sum, err := l.Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, forge := range []func(g *ul.Gap){
		func(g *ul.Gap) { g.Bytes = 1 << 62 },
		func(g *ul.Gap) { g.Lines[ul.Discard][ul.Info] = 1 << 62 },
	} {
		forged := *sum
		g := *sum.sum
		forge(&g)
		forged.sum = &g
		if err := l.writeAt(forged.appendHead(nil, nil), sum.at); err != nil {
			t.Fatal(err)
		}
		if r, err := l.readHead(sum.at); err == nil {
			t.Errorf("a forged record of %d bytes counts %d dropped bytes, want an error", r.End.Offset-r.From, r.Gap().Bytes)
		}
	}
}

// A frame that this process wrote is handed on unchanged. Any other frame is decompressed first.
func TestOnlyOwnFramesAreTrusted(t *testing.T) {
	path, text := filepath.Join(t.TempDir(), "spool"), manyLines(60, "rest")
	l, _ := open(t, path)
	appended(t, l, block(0, text), WithoutLines())
	r := appended(t, l, block(int64(len(text)), text), Without{})
	l.Rest()
	own, raw, err := l.Frame(r)
	if err != nil || raw != len(text) || !l.codec.Resting() {
		t.Errorf("a frame of ours: %d bytes, decompressed: %t, %v; want %d bytes, false and no error", raw, !l.codec.Resting(), err, len(text))
	}
	own = bytes.Clone(own)

	again, found := open(t, path)
	frame, raw, err := again.Frame(found[1])
	if err != nil || raw != len(text) || !bytes.Equal(frame, own) || again.codec.Resting() {
		t.Errorf("a frame of an earlier process: %d bytes, decompressed: %t, %v; want our frame, %d bytes, true and no error", raw, !again.codec.Resting(), err, len(text))
	}

	at, _ := r.place(Rest)
	if err := l.writeAt([]byte{own[0] ^ 1}, at); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Frame(r); !errors.Is(err, errPayload) {
		t.Errorf("a frame of ours that was changed since: got the error %v, want %v", err, errPayload)
	}
}
