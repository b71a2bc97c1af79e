package segment

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Followers that are used one after another return what each is to return, and do not
// allocate their buffers and decoders again.
func TestFollowersShareMemory(t *testing.T) {
	eachCompression(t, func(t *testing.T, how Compression) {
		dir := t.TempDir()
		store := openStore(t, dir, configOf(how))
		want := map[string][]byte{}
		for i, name := range []string{"a.log", "b.log"} {
			str := freshStream(t, store, name)
			want[name] = lines(int64(i), 2000)
			appendAll(t, str, want[name])
			sync(t, str)
		}
		var m Memory
		look := func(name string) (got []byte) {
			f, err := OpenFollower(filepath.Join(dir, name), FollowOptions{Memory: &m})
			must(t, err)
			defer f.Close()
			for {
				raw, err := f.Next()
				if errors.Is(err, io.EOF) {
					return got
				}
				must(t, err)
				got = append(got, raw...)
			}
		}
		for range 3 {
			for name, text := range want {
				if got := look(name); !bytes.Equal(got, text) {
					t.Fatalf("%s has %d bytes, want %d", name, len(got), len(text))
				}
			}
		}
		const looks = 50
		allocated := func() uint64 {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			return s.TotalAlloc
		}
		before := allocated()
		for range looks {
			f, err := OpenFollower(filepath.Join(dir, "a.log"), FollowOptions{Memory: &m})
			must(t, err)
			_, err = f.Next()
			must(t, err)
			must(t, f.Close())
		}
		if each := (allocated() - before) / looks; each > 16<<10 {
			t.Errorf("a look allocates %d bytes", each)
		}
	})
}

// What is durable leaves the page cache, unless somebody is to read it soon.
func TestCommittedPagesLeaveThePageCache(t *testing.T) {
	for _, reread := range []bool{false, true} {
		dest := t.TempDir()
		cfg := configOf(None)
		cfg.Reread = reread
		str := freshStream(t, openStore(t, dest, cfg), "gc")
		for range 3 {
			appendAll(t, str, noise(100_000))
			sync(t, str)
		}
		f, err := os.Open(filepath.Join(dest, "gc", str.Mark().Segment))
		must(t, err)
		defer f.Close()
		const pages = 300_000 / pageBytes
		for i, cached := range cachedPages(t, f, pages) {
			if cached != reread {
				t.Fatalf("reread %v: page %d of %d is cached: %v", reread, i, pages, cached)
			}
		}
	}
}

// cachedPages tells which of the first pages of a file the kernel holds. It asks by
// mincore(2): a read, even one that must not wait, would have the kernel read ahead.
func cachedPages(t *testing.T, f *os.File, pages int) (cached []bool) {
	t.Helper()
	mem, err := unix.Mmap(int(f.Fd()), 0, pages*pageBytes, unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	defer func() { must(t, unix.Munmap(mem)) }()
	held := make([]byte, pages)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&held[0])))
	if errno != 0 {
		t.Fatal("mincore: ", errno)
	}
	for _, h := range held {
		cached = append(cached, h&1 != 0)
	}
	return cached
}

// A Store that rests gives the encoder's memory back, and its frames go on afterwards.
func TestRestGivesMemoryBack(t *testing.T) {
	eachCompression(t, func(t *testing.T, how Compression) {
		dest := t.TempDir()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		inUse := func() uint64 {
			runtime.GC()
			runtime.GC() // what pools hold survives one collection
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		var want []byte
		for i := range 3 {
			text := lines(int64(i), 2000)
			want = append(want, text...)
			appendAll(t, str, text)
			sync(t, str)
			busy := inUse()
			s.Rest()
			rested := inUse()
			if how != None && rested+512<<10 > busy {
				t.Errorf("%d bytes are in use, and %d after Rest", busy, rested)
			}
			s.Rest() // with nothing to give back
		}
		if got := contents(t, dest, "gc"); !bytes.Equal(got, want) {
			t.Errorf("%d bytes were read back, %d written", len(got), len(want))
		}
	})
}
