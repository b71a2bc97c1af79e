package ship

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// obstacles put something else in the place of a stream's directory.
var obstacles = map[string]func(path string) error{
	"a file": func(path string) error { return os.WriteFile(path, []byte("an old log\n"), 0o644) },
	"a link": func(path string) error { return os.Symlink(os.TempDir(), path) },
	"a loop": func(path string) error { return os.Symlink(filepath.Base(path), path) },
}

// At the destination, something else has the name of one stream's directory. The other stream
// continues. No line of the first stream is lost: until the obstacle is gone, its lines stay
// in the source, even across a restart.
func TestStreamWhoseNameIsTakenStopsNoOther(t *testing.T) {
	for name, obstruct := range obstacles {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			bad := filepath.Join(b.cfg.Dest, "bad.log")
			if err := obstruct(bad); err != nil {
				t.Fatal(err)
			}
			b.start()
			b.appendTo("bad.log", lines(0, 500))
			b.refuses("bad.log")
			b.appendTo("gc.log", lines(0, 500))
			b.eventually("the other stream is persisted", b.persistedLines(500))
			if err := b.stop(); err == nil || !strings.Contains(err.Error(), "bad.log") {
				t.Errorf("the end of a sidecar with refused lines: %v, want an error that names bad.log", err)
			}
			b.start()
			b.refuses("bad.log")
			b.appendTo("bad.log", lines(500, 1000))
			b.appendTo("gc.log", lines(500, 1000))
			b.eventually("the other stream is persisted after a restart", b.persistedLines(1000))
			if err := os.Remove(bad); err != nil {
				t.Fatal(err)
			}
			b.drain()
			for _, stream := range []string{"bad.log", "gc.log"} {
				if got := b.persisted(stream); got != lines(0, 1000) {
					t.Errorf("persisted %d bytes of %s, want %d", len(got), stream, len(lines(0, 1000)))
				}
			}
		})
	}
}

// refuses waits until a stream is refused, and until readiness and the metric show it.
func (b *bench) refuses(stream string) {
	b.t.Helper()
	b.eventually("the stream is refused", func() bool { return b.refused(stream) })
	b.eventually("readiness reports it", func() bool {
		err := b.ship.Ready()
		return err != nil && strings.Contains(err.Error(), stream)
	})
	if n := testutil.ToFloat64(b.ship.metrics.refused.WithLabelValues("occupied")); n != 1 {
		b.t.Errorf("%v streams are reported as refused, want 1", n)
	}
}

// refused reports whether status shows the stream as refused.
func (b *bench) refused(stream string) bool {
	return slices.ContainsFunc(statusOf(b.ship).Streams, func(st admin.Stream) bool { return st.Name == stream && st.Refused != "" })
}

// An obstacle appears and disappears while lines of the stream are appended but not
// committed. The sidecar notices both by itself and repeats no line.
func TestStreamIsRefusedInTheMiddleAndComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Segment.Compress, b.cfg.Segment.SegmentBytes = segment.None, 64*settings.Ki
	b.start()
	dir := filepath.Join(b.cfg.Dest, "bad.log")
	b.appendTo("bad.log", lines(0, 1000))
	b.appendTo("gc.log", lines(0, 1000))
	b.eventually("both are persisted", func() bool {
		return b.persisted("bad.log") == lines(0, 1000) && b.persisted("gc.log") == lines(0, 1000)
	})
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, nil)
	// The open segment accepts lines until it is sealed; the next one cannot be created.
	n := 1000
	b.eventually("the stream is refused", func() bool {
		b.appendTo("bad.log", lines(n, n+1000))
		b.appendTo("gc.log", lines(n, n+1000))
		n += 1000
		return b.refused("bad.log")
	})
	b.refuses("bad.log")
	b.eventually("the other stream continues", b.persistedLines(n))
	os.Remove(dir)
	if err := os.Rename(dir+".moved", dir); err != nil {
		t.Fatal(err)
	}
	b.eventually("the stream is back", func() bool { return b.ship.Ready() == nil })
	b.drain()
	for _, stream := range []string{"bad.log", "gc.log"} {
		if got := b.persisted(stream); got != lines(0, n) {
			t.Errorf("persisted %d bytes of %s, want %d", len(got), stream, len(lines(0, n)))
		}
	}
}

// A refused stream must not fill the tmpfs. Under pressure, its lines are moved, dropped
// and counted, and they are marked once the stream is back. The other streams lose no
// lines.
func TestRefusedStreamDoesNotFillTheSource(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Budget, b.cfg.Queue = 4*settings.Mi, 256*settings.Ki
	n := newNoise(b)
	n.floods(200)
	n.settles()
}

// The same, with extreme settings that no flag allows, and with different settings after a
// restart: the settings of a sidecar do not bound the data that an earlier sidecar left.
func TestRefusedStreamAtTheExtremes(t *testing.T) {
	queues := []settings.Size{256 * settings.Ki, 300 * settings.Ki, settings.Mi, 1025 * settings.Ki, 64 * settings.Mi}
	syncs := []settings.Size{64 * settings.Ki, 256 * settings.Ki, 8 * settings.Mi, settings.Gi}
	marks := [][3]int{{25, 60, 85}, {5, 6, 7}, {93, 94, 95}, {5, 50, 95}, {5, 6, 95}, {20, 90, 91}}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 7))
			b := newBench(t)
			b.cfg.Budget = []settings.Size{settings.Mi, 3 * settings.Mi, 4 * settings.Mi}[rng.IntN(3)]
			draw := func() {
				b.cfg.Queue, b.cfg.SyncBytes = queues[rng.IntN(len(queues))], syncs[rng.IntN(len(syncs))]
				m := marks[rng.IntN(len(marks))]
				b.cfg.SpoolAt, b.cfg.DiscardAt, b.cfg.DropAt = m[0], m[1], m[2]
				t.Logf("budget %s, queue %s, sync %s, marks %v", b.cfg.Budget, b.cfg.Queue, b.cfg.SyncBytes, m)
			}
			draw()
			n := newNoise(b)
			n.floods(30)
			if err := b.stop(); err == nil || !strings.Contains(err.Error(), "gc.log") {
				t.Errorf("the end of a sidecar with refused lines: %v, want an error that names gc.log", err)
			}
			draw()
			b.start()
			n.floods(30)
			n.settles()
		})
	}
}

// noise is a stream that the destination refuses, with more lines than the budget holds,
// alongside a quiet stream that the destination accepts.
type noise struct {
	*bench
	noisy, quiet    *os.File
	written, rounds int
	most            int64 // the most bytes that the noisy stream had in the source
}

func newNoise(b *bench) *noise {
	b.t.Helper()
	writeFile(b.t, filepath.Join(b.cfg.Dest, "gc.log"), nil)
	b.start()
	return &noise{bench: b, noisy: b.log("gc.log"), quiet: b.log("quiet.log")}
}

func (n *noise) writes(lines int) {
	n.t.Helper()
	n.write(n.noisy, debugLines(n.written, n.written+lines))
	n.written += lines
}

// floods writes for the given number of rounds, each as soon as the source has room for it.
func (n *noise) floods(rounds int) {
	n.t.Helper()
	room := int64(n.cfg.Budget) * int64(max(90, n.cfg.DropAt+5)) / 100
	for range rounds {
		n.writes(1000) // 110 KB
		n.write(n.quiet, lines(n.rounds*10, (n.rounds+1)*10))
		n.rounds++
		n.eventually("there is room", func() bool {
			used := allocated(n.t, n.noisy)
			n.most = max(n.most, used)
			if used < room {
				return true
			}
			n.writes(1) // once a JVM has stopped writing, the sidecar drops nothing
			return false
		})
	}
}

// settles removes the obstacle and accounts for every line.
func (n *noise) settles() {
	n.t.Helper()
	n.t.Logf("the noisy stream took at most %d bytes of the budget of %d", n.most, int64(n.cfg.Budget))
	n.eventually("the quiet stream is persisted", func() bool { return n.persisted("quiet.log") == lines(0, n.rounds*10) })
	os.Remove(filepath.Join(n.cfg.Dest, "gc.log"))
	n.eventually("the stream is back", func() bool { return n.ship.Ready() == nil })
	n.drain()
	marked, persisted := n.sum()
	if n.t.Logf("%d of %d lines were dropped", marked, n.written); marked+persisted != n.written {
		n.t.Errorf("%d lines persisted and %d counted by markers, want %d in all", persisted, marked, n.written)
	}
	n.onceEach()
	if got := n.persisted("quiet.log"); got != lines(0, n.rounds*10) {
		n.t.Errorf("persisted %d bytes of the quiet stream, want %d", len(got), len(lines(0, n.rounds*10)))
	}
}

func allocated(t testing.TB, f *os.File) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// The checkpoint is lost, and one stream is refused for so long that the sidecar is
// restarted in the meantime. The source must still be searched for the place where
// persisting ended.
func TestLostCheckpointIsRememberedForARefusedStream(t *testing.T) {
	for name, spoil := range map[string]func(b *bench){
		"lost": (*bench).loseCheckpoint,
		"forged": func(b *bench) {
			for _, s := range b.slots() {
				writeFile(b.t, s, []byte("ullage-checkpoint 1 2 "+strings.Repeat("0", 64)+"\n{}"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Tail.Reclaim = "none" // persisted lines stay in the source
			w := b.log("gc.log")
			b.write(w, lines(0, 500))
			b.ships("line 499\n")
			spoil(b)
			dir := filepath.Join(b.cfg.Dest, "gc.log")
			if err := os.Rename(dir, dir+".moved"); err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, nil)
			b.start()
			b.refuses("gc.log")
			b.appendTo("other.log", lines(0, 10))
			b.eventually("another stream is persisted", func() bool { return b.persisted("other.log") == lines(0, 10) })
			b.write(w, lines(500, 600))
			_ = b.stop()
			os.Remove(dir)
			if err := os.Rename(dir+".moved", dir); err != nil {
				t.Fatal(err)
			}
			b.ships("line 599\n")
			if got := b.persisted("gc.log"); got != lines(0, 600) {
				t.Errorf("persisted %d lines, want 600", strings.Count(got, "\n"))
			}
		})
	}
}

// A refused stream is forgotten when its files are gone. So an application that creates such
// names cannot make the sidecar's memory grow.
func TestRefusedStreamWithoutFilesIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bad := filepath.Join(b.cfg.Dest, "bad.log")
	writeFile(t, bad, nil)
	b.start()
	b.appendTo("bad.log", "")
	w := b.log("bad.log")
	b.write(w, lines(0, 10))
	b.refuses("bad.log")
	if err := w.Truncate(0); err != nil {
		t.Fatal(err)
	}
	w.Close()
	os.Remove(b.path("bad.log"))
	b.eventually("it is forgotten", func() bool { return b.ship.Ready() == nil })
	b.drain()
}

// A checkpoint was lost, and the sidecar ends before the reader has learned that a stream
// is refused. The reader has not yet reported whether the stream's file exists. So the
// stream stays refused, and the next process knows that the checkpoint was lost.
func TestRefusedStreamThatTheReaderHasNotLookedForIsNotForgotten(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = "none" // persisted lines stay in the source
	w := b.log("gc.log")
	b.write(w, lines(0, 500))
	b.ships("line 499\n")
	b.loseCheckpoint()
	dir := filepath.Join(b.cfg.Dest, "gc.log")
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, nil)
	s, from := b.begun(true)
	s.begins(t, from)
	if _, refused := s.writer.refused.streams["gc.log"]; !refused {
		t.Fatal("the stream is not refused")
	}
	s.answering(t, func(ctx context.Context) {
		if rewound, err := s.writer.readmit(ctx); rewound || err != nil {
			t.Errorf("the last attempt: rewound %v, error %v; want a stream that stays refused", rewound, err)
		}
	})
	if err := s.writer.saveCheckpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.killed()
	os.Remove(dir)
	if err := os.Rename(dir+".moved", dir); err != nil {
		t.Fatal(err)
	}
	b.write(w, lines(500, 600))
	b.ships("line 599\n")
	if got := b.persisted("gc.log"); got != lines(0, 600) {
		t.Errorf("persisted %d lines, want 600", strings.Count(got, "\n"))
	}
}
