package store

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

// Durable bytes are dropped from the page cache, unless a sink will read them soon.
func TestCommittedPagesLeaveThePageCache(t *testing.T) {
	for _, reread := range []bool{false, true} {
		dest := t.TempDir()
		cfg := configOf(segment.None)
		cfg.Reread = reread
		str := freshStream(t, openStore(t, dest, cfg), "gc")
		for range 3 {
			appendAll(t, str, noise(100_000))
			sync(t, str)
		}
		f, err := os.Open(filepath.Join(dest, "gc", str.Mark().Segment))
		must(t, err)
		defer f.Close()
		const pages = 300_000 / segment.PageBytes
		for i, cached := range cachedPages(t, f, pages) {
			if cached != reread {
				t.Fatalf("reread %v: page %d of %d is cached: %v, want %v", reread, i, pages, cached, reread)
			}
		}
	}
}

// cachedPages reports which of the first pages of a file the kernel has cached. It uses mincore(2), because even a
// nonblocking read would make the kernel read ahead.
func cachedPages(t *testing.T, f *os.File, pages int) (cached []bool) {
	t.Helper()
	mem, err := unix.Mmap(int(f.Fd()), 0, pages*segment.PageBytes, unix.PROT_READ, unix.MAP_SHARED)
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

// An idle Store frees the encoder's memory and can append frames again afterwards.
func TestRestGivesMemoryBack(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		inUse := func() uint64 {
			runtime.GC()
			runtime.GC() // pooled objects survive one collection
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
			if how != segment.None && rested+512<<10 > busy {
				t.Errorf("%d bytes are in use, and %d after Rest; want at least 512 KiB less", busy, rested)
			}
			s.Rest() // with nothing to free
		}
		if got := contents(t, dest, "gc"); !bytes.Equal(got, want) {
			t.Errorf("%d bytes were read back, want the %d that were written", len(got), len(want))
		}
	})
}
