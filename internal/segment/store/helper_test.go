package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

func TestMain(m *testing.M) {
	unix.Umask(0o022) // modes of files are tested
	goleak.VerifyTestMain(m)
}

var allCompressions = []segment.Compression{segment.Zstd, segment.None}

// eachCompression runs a test for every compression.
func eachCompression(t *testing.T, run func(t *testing.T, how segment.Compression)) {
	for _, how := range allCompressions {
		t.Run(how.String(), func(t *testing.T) { run(t, how) })
	}
}

func configOf(how segment.Compression) Config {
	cfg := DefaultConfig()
	cfg.Compress = how
	return cfg
}

// testStore is a store with its metrics and its log.
type testStore struct {
	*Store
	reg *prometheus.Registry
	log *bytes.Buffer
}

func openStore(t testing.TB, dir string, cfg Config) *testStore {
	t.Helper()
	s := &testStore{reg: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	var err error
	s.Store, err = Open(dir, cfg, s.reg, slog.New(slog.NewTextHandler(s.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// memory returns a directory in memory, where a sync costs nothing.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ullage-segment-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Maintain maintains a store whose checkpoint accepts every mark.
func (s *testStore) Maintain(now time.Time) error {
	return s.Store.Maintain(now, func(released []*Stream) error {
		for _, t := range released {
			if m := t.Mark(); !m.Gone || !m.Sealed {
				return fmt.Errorf("released with the mark %+v, want Gone and Sealed true", m)
			}
		}
		return nil
	})
}

func (s *testStore) scan() error { return s.retention.scan(time.Now()) }

func (s *testStore) used() use { return s.retention.used() }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// freshStream is a stream of an empty destination, ready for Append.
func freshStream(t testing.TB, s *testStore, name string) *Stream {
	t.Helper()
	str := s.Stream(name)
	must(t, str.Resume(segment.Mark{}, 0))
	return str
}

func appendAll(t testing.TB, str *Stream, batches ...[]byte) {
	t.Helper()
	for _, b := range batches {
		must(t, str.Append(b))
	}
}

func sync(t testing.TB, str *Stream) segment.Mark {
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

// contents decodes all segments of a stream; damage fails the test.
func contents(t testing.TB, dest, stream string) []byte {
	t.Helper()
	segs, err := segment.List(filepath.Join(dest, stream))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	must(t, err)
	var all []byte
	for _, seg := range segs {
		all = append(all, decode(t, seg.Path)...)
	}
	return all
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

func wantContents(t testing.TB, dest, stream string, want []byte) {
	t.Helper()
	if got := contents(t, dest, stream); !bytes.Equal(got, want) {
		t.Fatalf("stream has %d bytes, want %d; first difference at %d", len(got), len(want), firstDifference(got, want))
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

func last(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// edit changes the bytes of a file.
func edit(t testing.TB, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, change(b), 0o640))
}
