package ship

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/tail"
)

// crashAndRestart ends the Shipper as kill -9 would at that moment: only its files on the
// tmpfs and at the destination are left, unchanged. Between runs before the restart.
func (b *bench) crashAndRestart(between func()) {
	b.t.Helper()
	saved := copyTree(b.t, b.cfg.Tail.Source)
	dest := copyTree(b.t, b.cfg.Dest)
	b.drain()
	replaceTree(b.t, dest, b.cfg.Dest)
	replaceTree(b.t, saved, b.cfg.Tail.Source)
	between()
	b.start()
}

// copyTree copies a directory. The copies have other inodes, so no position in a checkpoint
// matches them.
func copyTree(t testing.TB, dir string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}

func replaceTree(t testing.TB, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) persistedLines(n int) func() bool {
	return func() bool { return strings.Count(b.persisted("gc.log"), "\n") >= n }
}

// slots returns the paths of the two slots of the checkpoint.
func (b *bench) slots() []string {
	return []string{b.path(statedir.Name + "/checkpoint-0"), b.path(statedir.Name + "/checkpoint-1")}
}

func TestUnusableCheckpointLetsTheSegmentsDecide(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		spoil        func(t *testing.T, slots []string)
	}{
		{"missing", "", func(t *testing.T, slots []string) {
			for _, s := range slots {
				os.Remove(s)
			}
		}},
		{"torn", "torn", func(t *testing.T, slots []string) {
			for _, s := range slots {
				truncateFile(t, s, 40)
			}
		}},
		{"emptied", "torn", func(t *testing.T, slots []string) {
			for _, s := range slots {
				truncateFile(t, s, 0)
			}
		}},
		{"garbage", "torn", func(t *testing.T, slots []string) {
			for _, s := range slots {
				writeFile(t, s, bytes.Repeat([]byte("garbage\x00\n"), 1000))
			}
		}},
		{"forged", "forged", func(t *testing.T, slots []string) {
			for _, s := range slots {
				data, err := os.ReadFile(s)
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, s, bytes.Replace(data, []byte(`"offset":`), []byte(`"offset":1`), 1))
			}
		}},
		{"a directory", "unreadable", func(t *testing.T, slots []string) {
			for _, s := range slots {
				os.Remove(s)
				if err := os.MkdirAll(s+"/not/empty", 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"a link", "unreadable", func(t *testing.T, slots []string) {
			for _, s := range slots {
				os.Remove(s)
				if err := os.Symlink("/etc/passwd", s); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Tail.Reclaim = tail.ReclaimNone
			b.appendTo("gc.log", lines(0, 500))
			b.start()
			b.eventually("500 lines are persisted", b.persistedLines(500))
			b.drain()
			b.appendTo("gc.log", lines(500, 700))
			c.spoil(t, b.slots())
			b.start()
			b.drain()
			if got, want := b.persisted("gc.log"), lines(0, 700); got != want {
				t.Fatalf("persisted %d bytes, want %d", len(got), len(want))
			}
			invalid, err := testutil.GatherAndCount(b.reg, "ullage_checkpoint_invalid_total")
			if err != nil || (invalid > 0) != (c.reason != "") {
				t.Errorf("%d kinds of invalid slots were counted, want only %q (%v)", invalid, c.reason, err)
			}
			if c.reason != "" && testutil.ToFloat64(b.ship.metrics.checkpointInvalid.WithLabelValues(c.reason)) == 0 {
				t.Errorf("no slot was counted as %s", c.reason)
			}
		})
	}
}

func truncateFile(t testing.TB, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReplayedCheckpointCannotDestroyWhatIsDurable(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = tail.ReclaimNone
	b.cfg.Segment.Compress = segment.None
	b.appendTo("gc.log", lines(0, 100))
	b.start()
	b.eventually("100 lines are persisted", b.persistedLines(100))
	b.drain()
	old := copyTree(t, b.path(statedir.Name))
	more := lines(100, 400000) // more bytes than can be uncommitted
	b.cfg.SyncBytes = 64 << 10
	b.appendTo("gc.log", more)
	b.start()
	b.drain()
	replaceTree(t, old, b.path(statedir.Name))
	b.start()
	b.drain()
	if got, want := b.persisted("gc.log"), lines(0, 100)+more; got != want {
		t.Fatalf("persisted %d bytes, want %d", len(got), len(want))
	}
}

func TestSourceAndDestinationThatDoNotBelongTogether(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = tail.ReclaimNone
	b.appendTo("gc.log", lines(0, 100))
	b.start()
	b.drain()
	b.cfg.Dest = t.TempDir() // a fresh volume
	b.start()
	b.drain()
	if got, want := b.persisted("gc.log"), lines(0, 100); got != want {
		t.Fatalf("persisted %d bytes at the new destination, want %d", len(got), len(want))
	}
}

// TestCopyOfTheSourceIsAlignedWithTheSegments restores the source and the destination from
// a backup that was taken while lines were being shipped.
func TestCopyOfTheSourceIsAlignedWithTheSegments(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = tail.ReclaimNone
	b.appendTo("gc.log", lines(0, 300))
	b.start()
	b.eventually("300 lines are persisted", b.persistedLines(300))
	b.crashAndRestart(func() {
		for _, s := range b.slots() {
			os.Remove(s)
		}
		b.appendTo("gc.log", lines(300, 400))
	})
	b.drain()
	if got, want := b.persisted("gc.log"), lines(0, 400); got != want {
		t.Fatalf("persisted %d bytes, want %d", len(got), len(want))
	}
}

// The state directory is removed with its content while no sidecar runs. A punched log
// shows that the source is not new.
func TestARemovedStateDirectoryIsNoNewSource(t *testing.T) {
	b := newBench(t)
	w := b.log("gc.log")
	b.write(w, lines(0, 5000))
	b.start()
	b.eventually("everything is persisted", b.persistedLines(5000))
	b.eventually("most of it is freed", func() bool { return allocated(t, w) < 32<<10 })
	b.drain()
	if err := os.RemoveAll(b.path(statedir.Name)); err != nil {
		t.Fatal(err)
	}
	b.write(w, lines(5000, 6000))
	b.start()
	b.drain()
	if got, want := b.persisted("gc.log"), lines(0, 6000); got != want {
		t.Errorf("persisted %d bytes, want %d", len(got), len(want))
	}
}
