package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
)

// sums returns the numbers of the segments of a stream whose entry in the index matches their bytes.
func sums(t *testing.T, dest, stream string) (known []uint64) {
	t.Helper()
	dir := filepath.Join(dest, stream)
	x := index.Read(dir)
	segs, err := segment.List(dir)
	must(t, err)
	for _, seg := range segs {
		file, err := segment.OpenFile(seg)
		must(t, err)
		s, ok := x.Of(seg.Seq, seg.Start, file)
		size, crc, err := segment.Checksum(file)
		must(t, err)
		if ok && s.Size == size && s.CRC == crc {
			known = append(known, seg.Seq)
		}
		must(t, file.Close())
	}
	return known
}

func wantSums(t *testing.T, dest string, want ...uint64) {
	t.Helper()
	if got := sums(t, dest, "gc"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("segments %d have a sum, want %d", got, want)
	}
}

// Only the Stream that has appended all of a segment adds the segment's sum to the index. After a
// restart, the index continues. Segments are sealed even if something else has replaced its file.
func TestSealedSegmentsAreSummedUp(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		put := func(text string) segment.Mark {
			appendAll(t, str, lines(7, 300<<10))
			appendAll(t, str, []byte(text))
			return sync(t, str)
		}
		for range 2 { // 1 and 2
			put("one\n")
			put("more\n")
			s.SealAll()
		}
		wantSums(t, dest, 1, 2)
		mark := put("in the third\n")
		appendAll(t, str, []byte("cut off\n"))
		str.Abandon()
		must(t, str.Resume(mark, Unbounded))
		put("behind it\n")
		s.SealAll()
		mark = put("in the fourth\n")
		must(t, s.Close())
		wantSums(t, dest, 1, 2)

		s = openStore(t, dest, configOf(how))
		str = s.Stream("gc")
		must(t, str.Resume(mark, 1<<20))
		put("behind what an earlier process has written\n")
		s.SealAll()
		put("in the fifth\n")
		s.SealAll()
		wantSums(t, dest, 1, 2, 5)
		must(t, s.Close())

		path := filepath.Join(dest, "gc", index.Name)
		for name, change := range map[string]func() error{
			"a directory": func() error { return os.Mkdir(path, 0o750) },
			"a link":      func() error { return os.Symlink("/dev/full", path) },
			"a FIFO":      func() error { return unix.Mkfifo(path, 0o640) },
			"half a file": func() error { return os.WriteFile(path, make([]byte, 100), 0o640) },
		} {
			must(t, os.RemoveAll(path))
			must(t, change())
			s = openStore(t, dest, configOf(how))
			str = s.Stream("gc")
			_, _, err := str.Recover()
			must(t, err)
			put("one more\n")
			s.SealAll()
			must(t, s.Close())
			if t.Failed() {
				t.Fatalf("the case %q failed; its messages are above", name)
			}
		}
	})
}

// Whenever a process is killed, an entry is used only for the bytes that it describes.
func TestSumsAfterACrash(t *testing.T) {
	type rig struct {
		dest string
		*testStore
		*Stream
	}
	put := func(r *rig) segment.Mark {
		appendAll(t, r.Stream, lines(7, 300<<10))
		return sync(t, r.Stream)
	}
	restart := func(r *rig, at segment.Mark) {
		must(t, r.Store.Close())
		r.testStore = openStore(t, r.dest, configOf(segment.Zstd))
		r.Stream = r.Store.Stream("gc")
		must(t, r.Resume(at, Unbounded))
	}
	for name, run := range map[string]func(r *rig){
		"after a seal, before the checkpoint": func(r *rig) {
			mark := put(r)
			r.SealAll()
			wantSums(t, r.dest, 1)
			restart(r, mark) // the mark is from before the seal
			put(r)
			wantSums(t, r.dest)
			r.SealAll()
			put(r)
			r.SealAll()
			wantSums(t, r.dest, 2)
		},
		"after the seal of a segment that is deleted": func(r *rig) {
			put(r)
			r.SealAll()
			mark := r.Mark()
			put(r)
			r.SealAll()
			wantSums(t, r.dest, 1, 2)
			restart(r, mark)
			put(r)
			wantSums(t, r.dest, 1)
			r.SealAll()
			wantSums(t, r.dest, 1, 3)
		},
		"a power failure that leaves a hole in the file": func(r *rig) {
			for range 3 {
				put(r)
				r.SealAll()
			}
			path := filepath.Join(r.dest, "gc", index.Name)
			data, err := os.ReadFile(path)
			must(t, err)
			clear(data[index.EntryBytes : 2*index.EntryBytes])
			must(t, os.WriteFile(path, data, 0o640))
			wantSums(t, r.dest, 1)
			restart(r, r.Mark())
			put(r)
			r.SealAll()
			wantSums(t, r.dest, 1, 4)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir()
			s := openStore(t, dest, configOf(segment.Zstd))
			run(&rig{dest, s, freshStream(t, s, "gc")})
		})
	}
}

// A segment with a frame that was compressed elsewhere has no sum.
func TestAFrameThatIsAppendedAsItIs(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, configOf(segment.None))
	str := freshStream(t, s, "gc")
	must(t, str.AppendFrame([]byte("line\n")))
	for range 2 {
		appendAll(t, str, lines(7, 300<<10))
		sync(t, str)
		s.SealAll()
	}
	appendAll(t, str, []byte("a small one\n"))
	sync(t, str)
	s.SealAll()
	wantSums(t, dest, 2)
}

// The index does not grow beyond its bound. Retention includes its size in the used bytes and
// deletes it with its stream.
func TestTheFileOfSumsIsBounded(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, Config{Compress: segment.None, SegmentBytes: leastSummed, RetainBytes: 8 * leastSummed})
	a, b := freshStream(t, s, "a"), freshStream(t, s, "gc")
	appendAll(t, a, lines(7, leastSummed))
	sync(t, a)
	const most = index.MaxBytes / index.EntryBytes
	b.last = 2 * most
	for n := range 40 {
		if n == 10 { // as if there had been many segments
			for seq := range uint64(most - 10) {
				b.sum.bytes, b.sum.content = leastSummed, index.Builder{}
				b.sum.seal(segment.Info{Seq: most + seq, Start: time.Now(), Size: leastSummed})
			}
		}
		appendAll(t, b, lines(7, leastSummed))
		sync(t, b)
		must(t, s.Maintain(time.Now()))
		known := s.used()
		must(t, s.scan())
		if is := s.used(); is != known {
			t.Fatalf("at segment %d, the store counts %+v, but the disk has %+v", n, known, is)
		}
		stat, err := os.Stat(filepath.Join(dest, "gc", index.Name))
		if err != nil || stat.Size() > index.MaxBytes {
			t.Fatalf("at segment %d, the index is %v, error %v, want a file of at most index.MaxBytes", n, stat, err)
		}
	}
	if got := sums(t, dest, "gc"); len(got) < 4 || got[len(got)-1] != 2*most+40 {
		t.Errorf("segments %d have a sum, want at least 4, the newest segment last", got)
	}
	if _, err := os.Stat(filepath.Join(dest, "a")); !os.IsNotExist(err) {
		t.Errorf("os.Stat of the oldest stream's directory: %v, want ErrNotExist", err)
	}
}
