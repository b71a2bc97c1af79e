package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a source on a tmpfs, a destination on a disk, and a Shipper between them that
// can be started and stopped.
type bench struct {
	t    testing.TB
	cfg  Config
	to   Outlets
	reg  *prometheus.Registry
	ship *Shipper
	stop func() error
}

// statusOf returns the status that a Shipper shows.
func statusOf(s *Shipper) (st admin.Status) {
	s.Show(&st)
	return st
}

func newBench(t testing.TB) *bench {
	t.Helper()
	source, err := os.MkdirTemp("/dev/shm", "ullage-test-")
	if err != nil {
		source = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(source) })
	cfg := DefaultConfig()
	cfg.Tail.Source, cfg.Dest = source, t.TempDir()
	cfg.SyncInterval = 20 * time.Millisecond
	cfg.Budget = 64 * settings.Mi
	cfg.DrainTimeout = lab.Patience
	return &bench{t: t, cfg: cfg}
}

func (b *bench) start() *bench {
	b.t.Helper()
	if bad := b.cfg.Validate(); bad != nil {
		b.t.Fatal(bad)
	}
	b.reg = prometheus.NewRegistry()
	b.ship = New(b.cfg, b.reg, slog.New(slog.NewTextHandler(testWriter{b.t}, &slog.HandlerOptions{Level: slog.LevelInfo})))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.ship.Run(ctx, b.to) }()
	stopped := false
	b.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	b.t.Cleanup(func() { b.stop() })
	return b
}

// drain stops the Shipper and fails the test if the drain was not completed.
func (b *bench) drain() {
	b.t.Helper()
	if err := b.stop(); err != nil {
		b.t.Fatal(err)
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (b *bench) path(name string) string { return filepath.Join(b.cfg.Tail.Source, name) }

func (b *bench) appendTo(name, text string) {
	b.t.Helper()
	f, err := os.OpenFile(b.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		b.t.Fatal(err)
	}
}

// persisted returns the content of a stream's segments. When a Shipper starts, it cuts off
// the uncommitted end of a segment and appends to the segment again. A reader may then find
// no frame where the previous one ended, so persisted reads the segments once more.
func (b *bench) persisted(stream string) (text string) {
	b.t.Helper()
	var err error
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, err = readStream(b.cfg.Dest, stream); err == nil {
			return text
		}
	}
	b.t.Fatal(err)
	return ""
}

// readStream reads the segments of a stream as they are now.
func readStream(dest, stream string) (string, error) {
	infos, err := segment.List(filepath.Join(dest, stream))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, info := range infos {
		r, err := segment.OpenReader(info.Path)
		if errors.Is(err, os.ErrNotExist) {
			continue // retention has deleted it since
		}
		if err != nil {
			return "", err
		}
		for err == nil {
			var p []byte
			p, err = r.Next()
			out.Write(p)
		}
		r.Close()
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return "", err
		}
	}
	return out.String(), nil
}

// eventually waits until ok returns true. The deadline is only for a broken build.
func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	deadline := time.Now().Add(lab.Patience)
	for !ok() {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %s: %s", lab.Patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func lines(from, to int) string {
	var s strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&s, "[%d.%03ds][info ][gc,heap] line %d\n", i/1000, i%1000, i)
	}
	return s.String()
}

func TestLinesWrittenBeforeAndAfterTheStartArePersistedOnce(t *testing.T) {
	for _, c := range []segment.Compression{segment.Zstd, segment.None} {
		t.Run(c.String(), func(t *testing.T) {
			b := newBench(t)
			b.cfg.Segment.Compress = c
			b.appendTo("gc.log", lines(0, 1000))
			b.start()
			b.appendTo("gc.log", lines(1000, 2000))
			b.drain()
			if got, want := b.persisted("gc.log"), lines(0, 2000); got != want {
				t.Fatalf("persisted %d bytes, want %d", len(got), len(want))
			}
			if left, _ := filepath.Glob(b.path("*.log*")); len(left) != 0 {
				t.Errorf("finished files are left: %v, want none", left)
			}
		})
	}
}
