package spool

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// refused is the gap of the n-th marker.
func refused(n int) ul.Gap {
	g := ul.Gap{Bytes: uint64(5000 * n), First: time.Unix(int64(n), 0), Last: time.Unix(int64(n), 0)}
	g.Lines[ul.Discard][ul.Debug], g.Lines[ul.DropAll][ul.Error] = uint64(100*n), uint64(n)
	return g
}

// withMarkers makes a block of ten lines and a marker after each of them.
func withMarkers(from int64, level ul.Level) (b *Block, marked ul.Gap) {
	const line = "[1.000s][info ][event] an event\n"
	b = &Block{}
	b.Begin(born, "events-7.log", from, make([]byte, 0, 1<<16))
	size := 0
	take := func(text []byte, as func(line []byte)) {
		copy(b.data[size:cap(b.data)], text)
		as(b.data[size : size+len(text) : size+len(text)])
		size += len(text)
	}
	for n := range 10 {
		g := refused(n + 1)
		marked.Add(g)
		take([]byte(line), func(line []byte) { b.Take(line, level, level == ul.Warning, true) })
		take(g.AppendMarker(nil), func(line []byte) { b.TakeMarker(line, ul.Warning, g) })
	}
	end := from + int64(size)
	b.End = position.Position{Offset: end, CheckLen: position.Span(end), Level: level}
	b.Read = time.Unix(1000, 0)
	return b, marked
}

// The numbers in a marker stay exact, whether its line is kept or is dropped with all other
// lines, in one record or in two that are merged, and after a restart.
func TestMarkersInDroppedLinesKeepTheirNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		level   ul.Level
		without Without
		drop    bool
		held    int // lines of each block that are left
		dropped uint64
	}{
		"kept":                     {ul.Warning, Without{}, false, 20, 0},
		"the others discarded":     {ul.Info, WithoutRest(), false, 20, 0},
		"all dropped at once":      {ul.Info, WithoutLines(), false, 0, 10},
		"dropped later":            {ul.Warning, Without{}, true, 0, 10},
		"discarded, dropped later": {ul.Info, WithoutRest(), true, 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool")
			l, _ := open(t, path)
			b, marked := withMarkers(0, c.level)
			first := appended(t, l, b, c.without)
			b, more := withMarkers(b.End.Offset, c.level)
			second := appended(t, l, b, c.without)
			marked.Add(more)
			want := marked.Total() + 2*c.dropped
			if first.Merges(second) {
				sum, err := l.Merge(first, second)
				if err != nil {
					t.Fatal(err)
				}
				first, second = sum, nil
			}
			for _, r := range []*Record{first, second} {
				for _, p := range []Part{Rest, Kept} {
					if r != nil && c.drop {
						if _, err := l.Drop(r, p, ul.DropAll); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			check := func(records []*Record) {
				t.Helper()
				o := Reading{Data: make([]byte, 0, 1<<20)}
				for _, r := range records {
					if err := l.Read(&o, r); err != nil {
						t.Fatal(err)
					}
				}
				o.Mark()
				total, lines := uint64(0), 0
				for line := range bytes.Lines(o.Data) {
					if g, ok := ul.ParseMarker(line); ok {
						total += g.Total()
					}
					lines++
				}
				if total != want || c.held > 0 && lines != 2*c.held || c.held == 0 && lines != 1 {
					t.Errorf("%d lines are left and their markers count %d, want 2 times %d and %d", lines, total, c.held, want)
				}
			}
			if second == nil {
				check([]*Record{first})
			} else {
				check([]*Record{first, second})
			}
			l.Close()
			var records []*Record
			l, records = open(t, path)
			check(records)
		})
	}
}

// The bytes of a dropped marker are not counted as bytes of a missing line.
func TestDroppedMarkersCountTheBytesOfWhatTheyStandFor(t *testing.T) {
	l, _ := open(t, filepath.Join(t.TempDir(), "spool"))
	b, marked := withMarkers(0, ul.Warning)
	lines := b.Len() - int(b.markers)
	r := appended(t, l, b, WithoutLines())
	if got, want := r.Gap().Bytes, marked.Bytes+uint64(lines); got != want {
		t.Errorf("%d bytes are missing, want %d", got, want)
	}
	if r.Lost() != int64(b.Len()) {
		t.Errorf("%d bytes of the file are lost, want %d", r.Lost(), b.Len())
	}
}

// An application can write a line that looks like a marker. Its numbers cannot overflow
// the sum.
func TestAMarkerWithImpossibleNumbersIsALine(t *testing.T) {
	l, _ := open(t, filepath.Join(t.TempDir(), "spool"))
	g := ul.Gap{Bytes: 1 << 63}
	g.Lines[ul.DropAll][ul.Info] = 1 << 62
	text := g.AppendMarker(nil)
	b := &Block{}
	b.Begin(born, "events-7.log", 0, text)
	b.TakeMarker(text, ul.Warning, g)
	b.End = position.Position{Offset: int64(len(text)), CheckLen: position.Span(int64(len(text)))}
	r := appended(t, l, b, WithoutLines())
	if gap := r.Gap(); gap.Total() != 1 || gap.Bytes != uint64(len(text)) {
		t.Errorf("%d lines of %d bytes are missing, want the marker's line alone", gap.Total(), gap.Bytes)
	}
}
