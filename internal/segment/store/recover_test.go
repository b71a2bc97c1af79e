package store

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/segment"
)

func noise(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(7)).Read(b)
	return b
}

// harm is one way to damage a segment. do gets the segment and the offsets at which its frames end. It returns the
// damaged segment and how many frames before the damage are intact.
type harm struct {
	name string
	do   func(data []byte, ends []int) ([]byte, int)
}

func harmsOf(how segment.Compression, size int) []harm {
	var all []harm
	add := func(name string, do func(data []byte, ends []int) ([]byte, int)) { all = append(all, harm{name, do}) }
	add("nothing", func(d []byte, ends []int) ([]byte, int) { return d, len(ends) })
	for _, n := range []int{1, 3, 4095, 70000} {
		add(fmt.Sprintf("%d zeros", n), func(d []byte, ends []int) ([]byte, int) {
			return append(d, make([]byte, n)...), len(ends)
		})
	}
	add("only zeros", func(d []byte, ends []int) ([]byte, int) { return make([]byte, len(d)), 0 })
	add("empty", func(d []byte, ends []int) ([]byte, int) { return nil, 0 })
	for n := 1; n <= size; n++ {
		add(fmt.Sprintf("cut %d", n), func(d []byte, ends []int) ([]byte, int) {
			return d[:len(d)-n], len(ends) - 1
		})
	}
	if how == segment.None {
		return all // there is no checksum that reveals the other kinds of damage
	}
	add("garbage", func(d []byte, ends []int) ([]byte, int) { return append(d, noise(3000)...), len(ends) })
	add("half a header", func(d []byte, ends []int) ([]byte, int) { return append(d, d[:5]...), len(ends) })
	add("half a magic", func(d []byte, ends []int) ([]byte, int) { return append(d, d[:2]...), len(ends) })
	add("zeros in the last frame", func(d []byte, ends []int) ([]byte, int) {
		clear(d[ends[len(ends)-2]+20:])
		return d, len(ends) - 1
	})
	add("a flip in the first frame", func(d []byte, ends []int) ([]byte, int) { d[ends[0]/2] ^= 4; return d, 0 })
	add("a flip in the middle frame", func(d []byte, ends []int) ([]byte, int) { d[(ends[0]+ends[1])/2] ^= 4; return d, 1 })
	return all
}

func TestRecoverKeepsExactlyTheSoundFrames(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		batches := [][]byte{lines(1, 6000), lines(2, 200), lines(3, 150)}
		seed := t.TempDir()
		str := freshStream(t, openStore(t, seed, configOf(how)), "gc")
		var ends []int
		for _, b := range batches {
			appendAll(t, str, b)
			ends = append(ends, int(sync(t, str).Offset))
		}
		name := str.Mark().Segment
		data, err := os.ReadFile(filepath.Join(seed, "gc", name))
		must(t, err)
		for _, h := range harmsOf(how, ends[2]-ends[1]) {
			t.Run(h.name, func(t *testing.T) {
				bad, sound := h.do(bytes.Clone(data), ends)
				want := join(batches[:sound]...)
				if how == segment.None && strings.HasPrefix(h.name, "cut") {
					// Without frames, recovery keeps all whole lines.
					want = bad[:bytes.LastIndexByte(bad, '\n')+1]
				}
				checkRecovery(t, how, name, bad, want)
			})
		}
	})
}

// checkRecovery recovers a stream of one segment and appends to it.
func checkRecovery(t *testing.T, how segment.Compression, name string, data, want []byte) {
	t.Helper()
	dest := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dest, "gc"), 0o750))
	must(t, os.WriteFile(filepath.Join(dest, "gc", name), data, 0o640))
	s := openStore(t, dest, configOf(how))
	str := s.Stream("gc")
	tail, cut, err := str.Recover()
	must(t, err)
	wantContents(t, dest, "gc", want)
	if !bytes.Equal(tail, last(want, TailBytes)) {
		t.Fatalf("the tail is %q, want %q", tail, last(want, TailBytes))
	}
	if got := str.Mark().Offset; cut != int64(len(data))-got {
		t.Fatalf("Recover cut %d of %d bytes and kept %d, want %d to be cut", cut, len(data), got, int64(len(data))-got)
	}
	if got := testutil.ToFloat64(s.metrics.cut); got != float64(cut) {
		t.Fatalf("%v bytes are counted as cut, want %d", got, cut)
	}
	if logged := strings.Count(s.log.String(), "\n"); logged != min(1, int(cut)) {
		t.Fatalf("logged %d lines, want %d:\n%s", logged, min(1, int(cut)), s.log)
	}
	if (len(want) == 0) != (str.Mark() == segment.Mark{}) {
		t.Fatalf("the mark is %+v with %d bytes kept, want the zero mark exactly if nothing is kept", str.Mark(), len(want))
	}
	appendAll(t, str, lines(9, 300))
	m := sync(t, str)
	if m.Segment == name {
		t.Fatal("a recovered segment grew, want a new segment")
	}
	wantContents(t, dest, "gc", join(want, lines(9, 300)))
	again, cut, err := str.Recover()
	if err != nil || cut != 0 || !bytes.Equal(again, last(join(want, lines(9, 300)), TailBytes)) {
		t.Fatalf("a second recovery returned a tail of %d bytes and cut %d, error %v; want the end of the stream, 0 and no error", len(again), cut, err)
	}
}

func TestRecoverReadsTheTailBackAcrossSegments(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		str := openStore(t, dest, configOf(how)).Stream("gc")
		var all []byte
		for i := range 8 {
			tail, cut, err := str.Recover()
			must(t, err)
			if cut != 0 || !bytes.Equal(tail, last(all, TailBytes)) {
				t.Fatalf("after %d bytes, Recover returned a tail of %d bytes and cut %d, want the last %d and 0",
					len(all), len(tail), cut, len(last(all, TailBytes)))
			}
			appendAll(t, str, lines(int64(i), 900))
			sync(t, str)
			all = append(all, lines(int64(i), 900)...)
		}
		segs, err := segment.List(filepath.Join(dest, "gc"))
		must(t, err)
		if len(segs) != 8 {
			t.Fatalf("%d segments, want 8", len(segs))
		}
		for i, seg := range segs {
			if seg.Seq != uint64(i+1) {
				t.Errorf("segment number %d is at index %d, want number %d", seg.Seq, i, i+1)
			}
		}
	})
}

func TestRecoverDeletesEmptiedSegmentsAndVerifiesTheOneBefore(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		appendAll(t, str, lines(1, 500))
		m := sync(t, str)
		edit(t, filepath.Join(dest, "gc", m.Segment), func(b []byte) []byte { return append(b, 0, 0, 0) })
		for seq, data := range map[uint64]string{2: "", 3: "\x00\x00", 4: "half a li"} {
			info, _ := segment.ParseName(m.Segment)
			must(t, os.WriteFile(filepath.Join(dest, "gc", segment.FileName(info.Start, seq, how)), []byte(data), 0o640))
		}
		tail, cut, err := str.Recover()
		must(t, err)
		if cut != 14 || !bytes.Equal(tail, lines(1, 500)) || str.Mark().Segment != m.Segment || !str.Mark().Sealed {
			t.Fatalf("Recover cut %d bytes and returned a tail of %d; the mark is %+v; want 14, the %d of the segment and the sealed mark of %s",
				cut, len(tail), str.Mark(), len(lines(1, 500)), m.Segment)
		}
		appendAll(t, str, lines(2, 500))
		next, _ := segment.ParseName(sync(t, str).Segment)
		if next.Seq != 5 {
			t.Errorf("the number of a deleted segment was used again: %d, want 5", next.Seq)
		}
		wantContents(t, dest, "gc", join(lines(1, 500), lines(2, 500)))
	})
}

func TestRecoverNeedsNoMarkToResumeAfter(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 500))
	sync(t, str)
	_, _, err := str.Recover()
	must(t, err)
	appendAll(t, str, lines(2, 500)) // the destination fails
	str.Abandon()
	must(t, str.Resume(str.Mark(), 1<<20))
	wantContents(t, dest, "gc", lines(1, 500))
	appendAll(t, str, lines(3, 500))
	sync(t, str)
	wantContents(t, dest, "gc", join(lines(1, 500), lines(3, 500)))
}

func TestRecoverOfLongLinesWithoutCompression(t *testing.T) {
	long := append(bytes.Repeat([]byte("x"), 3*blockBytes), '\n')
	for name, c := range map[string]struct{ data, want []byte }{
		"line over many blocks":  {join(long, []byte("half")), long},
		"newline at block start": {join(long[:blockBytes], []byte("\n"), bytes.Repeat([]byte("y"), longLine-1)), join(long[:blockBytes], []byte("\n"))},
		"no newline at all":      {bytes.Repeat([]byte("x"), longLine-1), nil},
		"only a newline":         {[]byte("\n" + strings.Repeat("z", longLine-1)), []byte("\n")},
		"part of a long line":    {join(long, long[:longLine]), join(long, long[:longLine])},
		"... and zeros":          {join(long[:2*blockBytes], make([]byte, blockBytes)), long[:2*blockBytes]},
		"torn, with zeros in it": {join(long, make([]byte, longLine), []byte("half")), long},
		"many zeros":             {join(long, make([]byte, 5*blockBytes)), long},
		"half a line and zeros":  {join(long, []byte("half"), make([]byte, blockBytes)), long},
	} {
		t.Run(name, func(t *testing.T) {
			checkRecovery(t, segment.None, "20261120T100000.000Z-000001.log", c.data, c.want)
		})
	}
}
