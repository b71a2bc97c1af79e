package tail

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
)

// held returns how much memory each stream takes now.
func (r *rig) held() map[string]int64 {
	r.src.Relief.Weigh()
	held := map[string]int64{}
	for name, st := range r.src.table.Streams.ByName {
		held[name] = st.Memory
	}
	return held
}

func TestStreamBelowItsShareLosesNothing(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name    string
		level   string // of the lines of the first stream
		written []int64
		fixed   int64 // memory of a stream whose lines cannot be dropped
		allowed int64
		left    []int64
	}{
		{"one stream", "debug", []int64{8 * mib}, 0, 4 * mib, []int64{4 * mib}},
		{"one is over", "debug", []int64{8 * mib, mib}, 0, 6 * mib, []int64{5 * mib, mib}},
		{"one is over, all lines", "warning", []int64{8 * mib, mib}, 0, 6 * mib, []int64{5 * mib, mib}},
		{"two are over", "debug", []int64{8 * mib, 5 * mib, mib}, 0, 6 * mib, []int64{5 * mib / 2, 5 * mib / 2, mib}},
		{"many small ones", "debug", []int64{8 * mib, 2 * mib, 4096, 4096, 4096, 4096}, 0, 6 * mib, []int64{4 * mib, 2 * mib}},
		{"none is over", "debug", []int64{2 * mib, 2 * mib}, 0, 6 * mib, []int64{2 * mib, 2 * mib}},
		{"memory that cannot be freed", "debug", []int64{8 * mib, mib}, 4 * mib, 8 * mib, []int64{3 * mib, mib}},
		{"more memory that cannot be freed than is allowed", "debug", []int64{4 * mib, mib}, 4 * mib, 4 * mib, []int64{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			level := c.level
			for i, size := range c.written {
				line := uls("x", level, 1)
				r.put(fmt.Sprintf("%d.log", i), strings.Repeat(line, int(size)/len(line)))
				level = "debug"
			}
			if c.fixed > 0 {
				r.put("fixed.log", strings.Repeat("x", int(c.fixed)))
			}
			r.look()
			for _, f := range r.src.table.Files {
				f.Inode.Punchable = f.Entry.Name != "fixed.log"
			}
			relief := everything
			relief.Want, relief.Allowed = 64<<10, c.allowed
			r.src.Relief.Weigh()
			for r.src.Relief.Drop(ul.DropAll, relief) > 0 {
				r.src.Relief.Weigh()
			}
			held := r.held()
			for i, want := range c.left {
				if got := held[fmt.Sprintf("%d.log", i)]; got < want-blockBytes-4*position.PageSize || got > want+blockBytes {
					t.Errorf("stream %d takes %d bytes afterwards, want about %d", i, got, want)
				}
			}
		})
	}
}

// Discard drops moved lines of a stream that is over its share. The kept lines of the
// stream stay.
func TestDiscardTakesMovedLinesOfStreamsOverTheirShare(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		level     string
		allowed   int64
		discarded bool
	}{
		{"debug", 64 << 10, true},
		{"warning", 64 << 10, false},
		{"debug", 16 * mib, false},
	} {
		r := newRig(t)
		r.put("gc.log", uls("x", c.level, 8*mib/len(uls("x", "debug", 1))))
		r.put("small.log", uls("y", "debug", 100))
		r.move()
		r.src.Relief.Weigh()
		relief := everything
		relief.Allowed = c.allowed
		r.src.Relief.Drop(ul.Discard, relief)
		r.read()
		if total, _ := markers(r.text()); (total > 0) != c.discarded {
			t.Errorf("%s, %d bytes allowed: %d lines were dropped, want some: %v", c.level, c.allowed, total, c.discarded)
		}
		if total, _ := markers(r.got["small.log"].String()); total > 0 {
			t.Errorf("%s, %d bytes allowed: %d lines of the small stream were dropped, want 0", c.level, c.allowed, total)
		}
	}
}

// Pressure drops lines of the largest stream first, until it is as small as the next one.
func TestPressureIsRelievedFromTheLargestStream(t *testing.T) {
	const mib = 1 << 20
	r := newRig(t)
	for name, size := range map[string]int{"a.log": 3 * mib, "b.log": 8 * mib, "c.log": 5 * mib} {
		r.put(name, uls("x", "debug", size/len(uls("x", "debug", 1))))
	}
	r.look()
	before := r.held()
	relief := everything
	relief.Want = 2 * mib
	r.src.Relief.Drop(ul.DropAll, relief)
	after := r.held()
	if after["b.log"] > before["b.log"]-2*mib || after["a.log"] != before["a.log"] || after["c.log"] != before["c.log"] {
		t.Errorf("before: %v, after: %v; want b.log smaller by at least %d, and the others as before", before, after, 2*mib)
	}
}

// The reader takes equal amounts from all streams, whatever the size of the pieces.
func TestStreamsTakeTurnsByBytes(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		write func(r *rig)
	}{
		{"lines", func(r *rig) { r.put("gc.log", uls("x", "info", 40000)) }},
		{"many small archives", func(r *rig) {
			for i := range 100 {
				r.put(fmt.Sprintf("gc.log.%d", i), uls("x", "info", 2))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.LineLimit = mib })
			r.area = make([]byte, mib+AreaSlack)
			r.put("noise.log", strings.Repeat("y", 16*mib))
			c.write(r)
			r.look()
			size := int64(0)
			for _, f := range r.src.table.Streams.ByName["gc.log"].Files {
				size += f.Growth.Size
			}
			read := map[string]int{}
			for read["gc.log"] < int(size) {
				n, c, ok := r.src.Reader.Next(r.area)
				if !ok {
					t.Fatalf("only %v was read, want %d bytes of gc.log", read, size)
				}
				read[c.File.Stream()] += n
			}
			if noise := read["noise.log"]; noise > int(size)+mib+turnBytes {
				t.Errorf("%d bytes of gc.log were read along with %d of the other stream, want about as many", size, noise)
			}
		})
	}
}

// The source fills up after a part of an endless line was handed on. The rest of the line can
// be dropped and is then counted as one dropped line.
func TestRestOfAnEndlessLineIsDropped(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, "first\n"+strings.Repeat("y", 3*r.cfg.LineLimit))
	r.look()
	for range 2 { // one chunk of lines and one piece
		r.take()
	}
	beginning := r.text()
	if !strings.HasSuffix(beginning, "y") {
		t.Fatalf("no piece was handed on: %s", abbreviate(beginning))
	}
	for range 3 { // the line grows before and after its gap is handed on
		r.write(w, strings.Repeat("y", 8<<20))
		r.look()
		r.src.Relief.Weigh()
		if freed := r.src.Relief.Drop(ul.DropAll, everything); freed < 7<<20 {
			t.Fatalf("dropping freed %d bytes, want at least 7 MiB", freed)
		}
	}
	r.read()
	r.write(w, strings.Repeat("y", 1<<20)+"\nlast\n")
	r.look()
	relief := everything
	relief.Want = 900 << 10
	r.src.Relief.Weigh()
	r.src.Relief.Drop(ul.DropAll, relief)
	r.read()
	r.commit()
	var dropped uint64
	for line := range strings.Lines(strings.TrimPrefix(r.text(), beginning)) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			dropped += g.Total()
		} else if strings.Trim(line, "y\n") != "" && line != "last\n" {
			t.Errorf("%s was handed on, want only markers, parts of the long line, and the last line", abbreviate(line))
		}
	}
	if marked := r.droppedMetric(); dropped == 0 || float64(dropped) != marked {
		t.Errorf("markers count %d lines, the metric %v, want the same, above 0", dropped, marked)
	}
	if text := r.text(); !strings.HasSuffix(text, "\nlast\n") || strings.Contains(text, "\n\n[") {
		t.Errorf("the line does not end exactly once: %s", abbreviate(text))
	}
}
