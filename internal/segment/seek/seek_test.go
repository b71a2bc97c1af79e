package seek

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// noon is the time at which the log of a test begins.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is a node on which a JVM writes a line each second and a sidecar reads the lines. From time to time, the clock
// of the node is set.
type world struct {
	t       *testing.T
	passed  time.Duration // since the boot, which was at noon
	ahead   time.Duration // how far the clock is ahead
	booted  uint32
	written []time.Time // by the JVM, one for each line
	read    int         // lines
	sidecar Recorder
	file    []byte
}

// lineBytes is the size of a line in the segment.
const lineBytes = 1000

func (w *world) now() time.Time { return noon.Add(w.passed + w.ahead) }

// run lets the JVM write for a time. The sidecar reads each line unless it is down.
func (w *world) run(d time.Duration, down bool) {
	for range d / time.Second {
		w.passed += time.Second
		w.written = append(w.written, w.now())
		if !down {
			w.commit()
		}
	}
}

// commit reads and commits all lines.
func (w *world) commit() {
	w.read = len(w.written)
	at := Place{Seq: 1, Start: noon, Offset: int64(w.read) * lineBytes}
	if due := w.sidecar.See(at, w.now(), w.booted+uint32(w.passed.Milliseconds())); len(due) > 0 {
		for _, e := range due {
			w.file = e.Append(w.file)
		}
		w.sidecar.Wrote(due)
	}
}

// restart replaces the sidecar.
func (w *world) restart() {
	w.sidecar = Recorder{}
	at := Place{Seq: 1, Start: noon, Offset: int64(w.read) * lineBytes}
	w.file = w.file[:w.sidecar.Resume(Parse(w.file), at)*EntryBytes]
}

// Whatever the clock does, a reader that begins where the seek file points finds every line of the requested time.
func TestNoLineIsLost(t *testing.T) {
	for name, live := range map[string]func(w *world){
		"the clock is right":          func(w *world) { w.run(5*time.Minute, false) },
		"the clock is set back":       func(w *world) { w.run(2*time.Minute, false); w.ahead = -time.Hour; w.run(2*time.Minute, false) },
		"... by a minute":             func(w *world) { w.run(2*time.Minute, false); w.ahead = -time.Minute; w.run(2*time.Minute, false) },
		"... by less than is noticed": func(w *world) { w.run(2*time.Minute, false); w.ahead = -4 * time.Second; w.run(2*time.Minute, false) },
		"... again and again": func(w *world) {
			for range 9 {
				w.run(40*time.Second, false)
				w.ahead -= 30 * time.Second
			}
		},
		"the clock is set forward": func(w *world) { w.run(2*time.Minute, false); w.ahead = time.Hour; w.run(2*time.Minute, false) },
		"... and back": func(w *world) {
			w.ahead = time.Hour
			w.run(2*time.Minute, false)
			w.ahead = 0
			w.run(2*time.Minute, false)
		},
		"a backlog": func(w *world) { w.run(time.Minute, false); w.run(3*time.Minute, true); w.run(time.Minute, false) },
		"set back during a backlog": func(w *world) {
			w.run(time.Minute, false)
			w.run(3*time.Minute, true)
			w.ahead = -2 * time.Minute
			w.run(time.Minute, true)
			w.run(time.Minute, false)
		},
		"a restart": func(w *world) { w.run(time.Minute, false); w.restart(); w.run(time.Minute, false) },
		"set back between two sidecars": func(w *world) {
			w.run(time.Minute, false)
			w.run(5*time.Minute, true)
			w.ahead = -3 * time.Minute
			w.run(time.Minute, true)
			w.restart()
			w.run(time.Minute, false)
		},
		"set back just before a kill": func(w *world) {
			w.run(69*time.Second, false)
			w.ahead = -time.Minute
			w.run(2*time.Second, false)
			w.restart()
			w.run(3*time.Minute, false)
		},
		"an earlier checkpoint is restored": func(w *world) {
			w.run(time.Minute, false)
			read, written := w.read, w.written
			w.run(time.Minute, false)
			w.ahead = -time.Hour
			w.run(time.Minute, false)
			w.read, w.written = read, written[:read]
			w.restart()
			w.run(2*time.Minute, false)
		},
		"the milliseconds since boot wrap": func(w *world) {
			w.booted = 1<<32 - 90*1000
			w.run(time.Minute, false)
			w.run(time.Minute, true)
			w.ahead = -time.Minute
			w.restart()
			w.run(2*time.Minute, false)
		},
		"the end of the file is damaged": func(w *world) {
			w.run(2*time.Minute, false)
			w.ahead = -time.Minute
			w.run(2*time.Minute, false)
			w.file[len(w.file)*2/3] ^= 1
			w.file = w.file[:len(Parse(w.file))*EntryBytes]
			w.restart()
			w.run(2*time.Minute, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, booted: 1000}
			live(w)
			w.check()
		})
	}
}

// check looks up each second of the log.
func (w *world) check() {
	index := &Index{Parse(w.file)}
	if len(index.entries) < 5 {
		w.t.Errorf("the seek file has %d entries, want at least 5", len(index.entries))
	}
	skipped := int64(0)
	for since := noon.Add(-2 * time.Hour); since.Before(noon.Add(2 * time.Hour)); since = since.Add(time.Second) {
		offset := index.Before(1, noon, since)
		skipped = max(skipped, offset)
		for i, at := range w.written[:offset/lineBytes] {
			if !at.Before(since) {
				w.t.Fatalf("since %v: reading begins at line %d and skips line %d, which was written at %v; want only earlier lines skipped",
					since, offset/lineBytes, i, w.written[i])
			}
		}
	}
	if skipped < int64(w.read)*lineBytes/2 {
		w.t.Errorf("%d of %d bytes can be skipped, want at least half", skipped, w.read*lineBytes)
	}
}

// Another node or another boot counts from a different start. This is not a step of the clock, and later times can
// still be found.
func TestAnotherBootIsNoStep(t *testing.T) {
	for _, booted := range []uint32{0, 1 << 30, 3 << 30} {
		w := &world{t: t, booted: 1 << 31}
		w.run(time.Minute, false)
		w.booted += booted
		w.restart()
		w.run(2*time.Minute, false)
		w.check()
	}
}

func TestOneEntryIn10Seconds(t *testing.T) {
	w := &world{t: t}
	w.run(time.Hour, false)
	if n := len(Parse(w.file)); n != 360 {
		t.Errorf("an hour has %d entries, want 360", n)
	}
}

// The lines that one entry covers must not span a silence: the JVM may have been restarted in it.
func TestASilenceBeginsWithAnEntry(t *testing.T) {
	w := &world{t: t}
	w.run(13*time.Second, false)
	w.passed += 8 * time.Second
	w.run(13*time.Second, false)
	var at []time.Duration
	for _, e := range Parse(w.file) {
		at = append(at, e.When().Sub(noon).Truncate(time.Second))
	}
	if want := []time.Duration{10 * time.Second, 13 * time.Second, 23 * time.Second, 33 * time.Second}; !slices.Equal(at, want) {
		t.Errorf("entries at %v, want %v", at, want)
	}
}

func TestIndex(t *testing.T) {
	start := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	of := func(seq int, offset int64, minute int) Entry {
		return Entry{Seq: uint64(seq), Start: start(seq).UnixMilli(), Offset: offset, Time: start(seq).Add(time.Duration(minute) * time.Minute).UnixMilli()}
	}
	x := &Index{[]Entry{of(2, 100, 10), of(2, 200, 20), of(3, 50, 10), of(3, 70, 30), of(3, 90, 20)}}
	for _, c := range []struct {
		seq    int
		minute int
		want   int64
	}{{1, 59, 0}, {2, 0, 0}, {2, 10, 0}, {2, 11, 100}, {2, 20, 100}, {2, 21, 200}, {3, 11, 50}, {3, 29, 50}, {3, 31, 90}, {4, 59, 0}} {
		if got := x.Before(uint64(c.seq), start(c.seq), start(c.seq).Add(time.Duration(c.minute)*time.Minute)); got != c.want {
			t.Errorf("segment %d, minute %d: the offset is %d, want %d", c.seq, c.minute, got, c.want)
		}
	}
	for _, c := range []struct {
		seq, minute int
		want        bool
	}{{2, 20, true}, {2, 21, false}, {3, 30, true}, {3, 31, false}, {4, 0, false}} {
		if got := x.Reaches(uint64(c.seq), start(c.seq), start(c.seq).Add(time.Duration(c.minute)*time.Minute)); got != c.want {
			t.Errorf("segment %d reaches minute %d: %t, want %t", c.seq, c.minute, got, c.want)
		}
	}
	if got := x.Before(2, start(1), start(9)); got != 0 {
		t.Errorf("the offset is %d for a segment that was created at another time, want 0", got)
	}
	if e, ok := x.Next(2, start(2), 101); !ok || e.Offset != 200 {
		t.Errorf("the next entry is %+v, found %v; want Offset 200 and true", e, ok)
	}
	if e, ok := x.Next(2, start(2), 201); ok {
		t.Errorf("after the last entry, the next one is %+v, want none", e)
	}
	if e, ok := x.Last(3, 49); !ok || e.Seq != 2 || e.Offset != 200 {
		t.Errorf("the last entry is %+v, found %v; want Seq 2, Offset 200 and true", e, ok)
	}
	if e, ok := x.Last(2, 99); ok {
		t.Errorf("before the first entry, the last one is %+v, want none", e)
	}
	var none *Index
	_, next := none.Next(1, noon, 0)
	_, last := none.Last(1, 0)
	if none.Before(1, noon, noon) != 0 || none.Reaches(1, noon, noon) || next || last || none.Bytes() != 0 {
		t.Error("a nil Index has entries, want none")
	}
}

// A thinned file stays within its bound and has only entries that the whole file has.
func TestThin(t *testing.T) {
	for _, size := range []int64{4 << 10, 1 << 20, 64 << 20, 8 << 30} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var all []Entry
			var segs []Segment
			const each = 400
			for seq := range int64(40) {
				for i := range int64(each) {
					all = append(all, Entry{Seq: uint64(seq + 1), Start: seq * 3600_000, Offset: (i + 1) * size / each, Time: seq*3600_000 + (i*7919)%each})
				}
				if seq > 3 { // retention has deleted the others
					segs = append(segs, Segment{Seq: uint64(seq + 1), Start: seq * 3600_000, Size: size})
				}
			}
			kept, bound := Thin(slices.Clone(all), segs)
			if n := int64(len(kept)) * EntryBytes; n > bound*3/4 || bound > max(4<<10, int64(len(segs))*size/1024) || bound > MaxBytes {
				t.Errorf("the entries take %d bytes with a bound of %d, for segments of %d; want at most 3/4 of the bound, and a bound of at most %d",
					n, bound, int64(len(segs))*size, min(MaxBytes, max(4<<10, int64(len(segs))*size/1024)))
			}
			if newest := int(min(bound/2/EntryBytes, int64(len(all)-4*each))); !slices.Equal(kept[len(kept)-newest+1:], all[len(all)-newest+1:]) {
				t.Error("the newest entries are missing, want them kept")
			}
			whole, thinned := &Index{all}, &Index{kept}
			for _, seg := range segs {
				start := time.UnixMilli(seg.Start)
				for ms := range int64(2 * each) {
					since := time.UnixMilli(seg.Start + ms).Add(Slack)
					if got, most := thinned.Before(seg.Seq, start, since), whole.Before(seg.Seq, start, since); got > most {
						t.Fatalf("in segment %d, reading begins at %d, want at most %d as with the whole file", seg.Seq, got, most)
					}
				}
			}
		})
	}
}

func TestWhatIsNotASeekFileHasNoEntries(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	elsewhere := filepath.Join(t.TempDir(), Name)
	if err := os.WriteFile(elsewhere, (Entry{Seq: 1, Start: 5, Offset: 7, Time: 9}).Append(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, create := range map[string]func() error{
		"none":      func() error { return nil },
		"empty":     func() error { return os.WriteFile(path, nil, 0o600) },
		"zeros":     func() error { return os.WriteFile(path, make([]byte, 4096), 0o600) },
		"too long":  func() error { return os.Truncate(path, 1<<40) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
		"link":      func() error { return os.Symlink(elsewhere, path) },
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(path)
			if name == "too long" {
				os.WriteFile(path, nil, 0o600)
			}
			if err := create(); err != nil {
				t.Fatal(err)
			}
			if index := Read(dir, MaxBytes); index != nil && len(index.entries) > 0 {
				t.Errorf("the index is read as %+v, want no entries", index)
			}
		})
	}
}

// Whatever the file contains, the entries read are a prefix of it, in order.
func FuzzParse(f *testing.F) {
	one, two := Entry{Seq: 1, Start: 5, Offset: 7, Time: 9, Up: 11}, Entry{Seq: 1, Start: 5, Offset: 8, Time: 3, Up: 12}
	f.Add(two.Append(one.Append(nil)))
	f.Add(one.Append(two.Append(nil)))
	f.Add(append(one.Append(nil), make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries := Parse(data)
		var again []byte
		for _, e := range entries {
			again = e.Append(again)
		}
		if string(again) != string(data[:len(again)]) || !slices.IsSortedFunc(entries, compare) {
			t.Fatalf("the entries are %+v, want them sorted, and the same bytes when they are written again", entries)
		}
		x := &Index{entries}
		for _, e := range entries {
			if got := x.Before(e.Seq, time.UnixMilli(e.Start), time.UnixMilli(1<<40)); got < 0 {
				t.Fatalf("the offset is %d, want at least 0", got)
			}
		}
		kept, bound := Thin(entries, []Segment{{Seq: 1, Start: 5, Size: 1 << 20}})
		if int64(len(kept))*EntryBytes > bound {
			t.Fatalf("%d entries take %d bytes, want at most %d", len(kept), int64(len(kept))*EntryBytes, bound)
		}
	})
}
