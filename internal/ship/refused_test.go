package ship

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// obstacles are what can have the name of a stream's directory.
var obstacles = map[string]func(path string) error{
	"a file": func(path string) error { return os.WriteFile(path, []byte("an old log\n"), 0o644) },
	"a link": func(path string) error { return os.Symlink(os.TempDir(), path) },
	"a loop": func(path string) error { return os.Symlink(filepath.Base(path), path) },
}

// The name of one stream's directory is taken at the destination. The other
// stream goes on, and nothing of the first one is lost: it stays on the source,
// over a restart as well, until the obstacle is gone.
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
				t.Errorf("the end of a sidecar with refused lines: %v", err)
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

// refuses waits until a stream is refused, and others are informed.
func (b *bench) refuses(stream string) {
	b.t.Helper()
	b.eventually("the stream is refused", func() bool { return b.refused(stream) })
	b.eventually("readiness reports it", func() bool {
		err := b.ship.Ready()
		return err != nil && strings.Contains(err.Error(), stream)
	})
	if n := testutil.ToFloat64(b.ship.metrics.refused.WithLabelValues("occupied")); n != 1 {
		b.t.Errorf("%v streams count as refused, want 1", n)
	}
}

// refused reports whether status shows the stream as refused.
func (b *bench) refused(stream string) bool {
	return slices.ContainsFunc(b.ship.Stats().Streams, func(st Stream) bool { return st.Name == stream && st.Refused != "" })
}

// An obstacle comes while lines of the stream are appended and not committed,
// and goes: the sidecar finds that out by itself, and repeats nothing.
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
	// The open segment takes lines until it is sealed; the next one cannot be made.
	n := 1000
	b.eventually("the stream is refused", func() bool {
		b.appendTo("bad.log", lines(n, n+1000))
		b.appendTo("gc.log", lines(n, n+1000))
		n += 1000
		return b.refused("bad.log")
	})
	b.refuses("bad.log")
	b.eventually("the other stream goes on", b.persistedLines(n))
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

// A refused stream must not fill the tmpfs: its lines are moved and dropped under
// pressure, counted, and marked once it is back. The others lose none.
func TestRefusedStreamDoesNotFillTheSource(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Budget, b.cfg.Queue = 4*settings.Mi, 256*settings.Ki
	bad := filepath.Join(b.cfg.Dest, "gc.log")
	writeFile(t, bad, nil)
	b.start()
	noisy, quiet := b.log("gc.log"), b.log("quiet.log")
	most, written := int64(0), 0
	writes := func(n int) {
		b.write(noisy, debugLines(written, written+n))
		written += n
	}
	const rounds, each = 200, 1000
	for i := range rounds {
		writes(each) // 110 KB
		b.write(quiet, lines(i*10, (i+1)*10))
		b.eventually("there is room", func() bool {
			used := allocated(t, noisy)
			most = max(most, used)
			if used < int64(b.cfg.Budget)*9/10 {
				return true
			}
			writes(1) // no line is dropped for a JVM that has stopped writing
			return false
		})
	}
	t.Logf("at most %d bytes of the budget of %d", most, int64(b.cfg.Budget))
	b.eventually("the quiet stream is persisted", func() bool { return b.persisted("quiet.log") == lines(0, rounds*10) })
	os.Remove(bad)
	b.eventually("the stream is back", func() bool { return b.ship.Ready() == nil })
	b.drain()
	marked, persisted := b.sum()
	if marked+persisted != written {
		t.Errorf("%d lines persisted and %d counted by markers, %d written", persisted, marked, written)
	}
	b.onceEach()
	if got := b.persisted("quiet.log"); got != lines(0, rounds*10) {
		t.Errorf("persisted %d bytes of the quiet stream, want %d", len(got), len(lines(0, rounds*10)))
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

// The checkpoint is lost, and the name of one stream is taken for so long that
// the sidecar is restarted meanwhile: the stream is still searched for the place
// where persisting has ended.
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
			b.cfg.Tail.Reclaim = "none" // what is persisted is still there
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

// Names that a file system does not take are forgotten when their files are
// gone, so that making them does not grow anything.
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
// is refused. The reader has not shown that the stream's file is there. So the stream stays
// refused, and the next process knows that the checkpoint was lost.
func TestRefusedStreamThatTheReaderHasNotLookedForIsNotForgotten(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = "none" // what is persisted is still there
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
			t.Errorf("the last try: rewound %v, error %v; want a stream that stays refused", rewound, err)
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
