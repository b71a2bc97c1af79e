package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"
)

func TestSecondProcessOnTheSameDestinationIsRefused(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	must(t, s.Acquire(t.Context())) // Acquire writes the pid into the lock file
	second := openStore(t, dest, DefaultConfig())
	err := second.Acquire(t.Context())
	if err == nil || !strings.Contains(err.Error(), dest) || !strings.Contains(err.Error(), "pid") {
		t.Fatal(err)
	}
	must(t, s.Close())
	must(t, second.Acquire(t.Context()))
}

func TestKeyIsMadeOnce(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	key := bytes.Clone(s.Key())
	if len(key) != 32 || bytes.Equal(key, make([]byte, 32)) {
		t.Fatalf("the key is %x, want 32 bytes, not all of them zero", key)
	}
	must(t, s.Close())
	s = openStore(t, dest, DefaultConfig())
	if !bytes.Equal(s.Key(), key) {
		t.Fatal("the key changed, want the same key after reopening")
	}
	must(t, s.Close())
	path := filepath.Join(dest, ".ullage", "key")
	must(t, os.WriteFile(path, key[:7], 0o600))
	s = openStore(t, dest, DefaultConfig())
	if len(s.Key()) != 32 || bytes.Equal(s.Key(), key) || !strings.Contains(s.log.String(), "damaged key") {
		t.Fatalf("the key is %x, want 32 bytes other than %x, and a damaged key in the log:\n%s", s.Key(), key, s.log)
	}
	if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, s.Key()) {
		t.Fatalf("the stored key is %x, error %v; want %x and no error", stored, err, s.Key())
	}
}

func TestErrorOfOpenTeaches(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o640))
	for _, dest := range []string{file, filepath.Join(file, "below")} {
		_, err := Open(dest, DefaultConfig(), nil, nil)
		if err == nil || !strings.Contains(err.Error(), dest) || !strings.Contains(err.Error(), "name a directory") {
			t.Errorf(`%s: the error is %v, want one with this path and "name a directory"`, dest, err)
		}
	}
	err := explain(dir, "write to", unix.EACCES)
	for _, want := range []string{dir, "uid", "gid", "mode drwx", "fsGroup", "permission denied"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

func TestStreamIsTheSameUntilClosed(t *testing.T) {
	s := openStore(t, t.TempDir(), DefaultConfig())
	a := s.Stream("gc")
	if s.Stream("gc") != a || s.Stream("other") == a {
		t.Fatal("want one stream for each name")
	}
	must(t, a.Close())
	must(t, a.Close())
	if s.Stream("gc") == a {
		t.Fatal("Stream returned the closed stream, want a new one")
	}
}

func TestMetricsLeaveWithTheStore(t *testing.T) {
	s := openStore(t, t.TempDir(), DefaultConfig())
	if n, err := testutil.GatherAndCount(s.reg); err != nil || n != 13 {
		t.Fatalf("%d metrics, error %v; want 13 and no error", n, err)
	}
	other := t.TempDir()
	if _, err := Open(other, DefaultConfig(), s.reg, nil); err == nil {
		t.Fatal("a second store with the same registry was opened, want an error")
	}
	must(t, s.Close())
	again, err := Open(other, DefaultConfig(), s.reg, nil) // the Open that failed has released its lock
	must(t, err)
	must(t, again.Close())
}

func TestDescriptorsOfManyStreams(t *testing.T) {
	s := openStore(t, t.TempDir(), DefaultConfig())
	before := descriptors(t)
	for i := range 300 {
		str := freshStream(t, s, fmt.Sprintf("gc-%d", i))
		appendAll(t, str, []byte("x\n"))
		sync(t, str)
		must(t, str.CloseIdle())
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d open descriptors became %d, want no more than before", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(open)
}
