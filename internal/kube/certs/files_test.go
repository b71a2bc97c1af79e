package certs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/test/lab"
)

// pair makes a certificate and its key, both in PEM.
func pair(t testing.TB, now time.Time, life time.Duration) (cert, key []byte) {
	t.Helper()
	var m material
	if err := m.rotate(now, life); err != nil {
		t.Fatal(err)
	}
	if err := m.issue([]string{"injector.shop-system.svc"}, now, life); err != nil {
		t.Fatal(err)
	}
	data, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	return data[tlsCertKey], data[tlsKeyKey]
}

// volume is a Secret volume as a kubelet makes it: its files are links into a
// directory that is replaced as a whole.
type volume struct {
	dir string
	n   int
}

func (v *volume) swap(t *testing.T, cert, key []byte) {
	t.Helper()
	v.n++
	next := filepath.Join(v.dir, ".."+strings.Repeat("x", v.n))
	if err := os.Mkdir(next, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(next, "tls.crt"), cert)
	write(t, filepath.Join(next, "tls.key"), key)
	link := filepath.Join(v.dir, "..data_tmp")
	if err := os.Symlink(filepath.Base(next), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(v.dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(v.dir, name))
	}
}

func newFiles(dir string, c *clock) (*files, *lab.Journal) {
	log := &lab.Journal{}
	return &files{cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"),
		serving: newServing(newMetrics(prometheus.NewRegistry())), log: log.Logger(), now: c.now}, log
}

func TestFilesAreTakenWhenTheyAreSwapped(t *testing.T) {
	c := newClock()
	v := &volume{dir: t.TempDir()}
	f, log := newFiles(v.dir, c)
	f.look()
	f.look()
	if err := f.serving.valid(c.now()); err == nil || strings.Count(log.String(), "no such file") != 1 {
		t.Errorf("before there are files, want an error and \"no such file\" once: %v\n%s", err, log)
	}
	for range 3 {
		v.swap(t, first(pair(t, c.now(), time.Hour)), second(pair(t, c.now(), time.Hour))) // a certificate and a key that do not match
		old := f.serving.current.Load()
		f.look()
		f.look()
		if f.serving.current.Load() != old {
			t.Error("a pair that does not match is in use")
		}
		cert, key := pair(t, c.now(), time.Hour)
		v.swap(t, cert, key)
		f.look()
		if now := f.serving.current.Load(); now == old || f.serving.valid(c.now()) != nil {
			t.Error("a matching pair is not in use")
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 4 {
		t.Errorf("%d warnings, want 4:\n%s", n, log)
	}
	if n := testutil.ToFloat64(f.serving.metrics.renewals); n != 2 {
		t.Errorf("%v renewals are counted, want 2", n)
	}
}

func first(a, _ []byte) []byte  { return a }
func second(_, b []byte) []byte { return b }

func TestABadPairKeepsTheOldOne(t *testing.T) {
	c := newClock()
	good, goodKey := pair(t, c.now(), time.Hour)
	expired, expiredKey := pair(t, c.now().Add(-2*time.Hour), time.Hour)
	for _, k := range []struct {
		name   string
		change func(dir string)
		says   string
	}{
		{"garbage", func(dir string) { write(t, filepath.Join(dir, "tls.crt"), []byte("x")) }, "failed to find any PEM data"},
		{"no key", func(dir string) { os.Remove(filepath.Join(dir, "tls.key")) }, "read --tls-key"},
		{"an expired pair", func(dir string) {
			write(t, filepath.Join(dir, "tls.crt"), expired)
			write(t, filepath.Join(dir, "tls.key"), expiredKey)
		}, "expired at"},
		{"too large", func(dir string) { write(t, filepath.Join(dir, "tls.crt"), make([]byte, 1<<20+1)) }, "larger than 1 MiB"},
		{"a directory", func(dir string) {
			os.Remove(filepath.Join(dir, "tls.crt"))
			os.Mkdir(filepath.Join(dir, "tls.crt"), 0o755)
		}, "not a regular file"},
		{"a FIFO without a writer", func(dir string) {
			os.Remove(filepath.Join(dir, "tls.crt"))
			syscall.Mkfifo(filepath.Join(dir, "tls.crt"), 0o644)
		}, "not a regular file"},
	} {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "tls.crt"), good)
			write(t, filepath.Join(dir, "tls.key"), goodKey)
			f, log := newFiles(dir, c)
			f.look()
			k.change(dir)
			f.look()
			f.look()
			if err := f.serving.valid(c.now()); err != nil {
				t.Error(err)
			}
			if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), k.says) {
				t.Errorf("the log is\n%s\nwant one warning, and %q in it", log, k.says)
			}
		})
	}
}

func TestFilesAreFollowedUntilTheEnd(t *testing.T) {
	c := newClock()
	v := &volume{dir: t.TempDir()}
	cert, key := pair(t, c.now(), time.Hour)
	v.swap(t, cert, key)
	f, _ := newFiles(v.dir, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.run(ctx); close(done) }()
	lab.Eventually(t, patience, "the certificate", func() bool { return f.serving.current.Load() != nil })
	cancel()
	<-done
}
