package segment_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	allCompressions     = []segment.Compression{segment.Zstd, segment.Gzip, segment.None}
	writtenCompressions = []segment.Compression{segment.Zstd, segment.None}
)

// eachCompression runs a test for every compression that is written.
func eachCompression(t *testing.T, run func(t *testing.T, how segment.Compression)) {
	for _, how := range writtenCompressions {
		t.Run(how.String(), func(t *testing.T) { run(t, how) })
	}
}

func configOf(how segment.Compression) store.Config {
	cfg := store.DefaultConfig()
	cfg.Compress = how
	return cfg
}

func openStore(t testing.TB, dir string, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(dir, cfg, nil, nil)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// freshStream is a stream of an empty destination, ready for Append.
func freshStream(t testing.TB, s *store.Store, name string) *store.Stream {
	t.Helper()
	str := s.Stream(name)
	must(t, str.Resume(segment.Mark{}, 0))
	return str
}

func sync(t testing.TB, str *store.Stream) segment.Mark {
	t.Helper()
	m, err := str.Sync()
	must(t, err)
	return m
}

// lines returns n bytes of UL-like lines, or a few more.
func lines(seed int64, n int) []byte {
	r := rand.New(rand.NewSource(seed))
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "[2026-11-20T10:%02d:%02d.%03d+0000][%d.%03ds][info][gc,heap] GC(%d) Eden regions: %d->0(%d)\n",
			i/60%60, i%60, r.Intn(1000), i/10, r.Intn(1000), i/8, r.Intn(500), r.Intn(500))
	}
	return b.Bytes()
}

// noise returns n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(7)).Read(b)
	return b
}

func decode(t testing.TB, path string) []byte {
	t.Helper()
	r, err := segment.OpenReader(path)
	must(t, err)
	defer r.Close()
	var all []byte
	for {
		raw, err := r.Next()
		if err == io.EOF {
			return all
		}
		must(t, err)
		all = append(all, raw...)
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// edit changes the bytes of a file.
func edit(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o640))
}
