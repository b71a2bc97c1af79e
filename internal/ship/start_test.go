package ship

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/settings"
	"github.com/ullage/ullage/internal/tail"
	"github.com/ullage/ullage/internal/ul"
)

// begun returns a Shipper at the moment in which its loops begin, which a test
// can then do step by step. With a destination that answers it is keyed.
func (b *bench) begun(answers bool) (*Shipper, start) {
	b.t.Helper()
	s := New(b.cfg, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(testWriter{b.t}, nil)))
	if err := s.reader.waitForSource(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	if answers {
		store, err := segment.Open(b.cfg.Dest, b.cfg.Segment, nil, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		s.store = store
		s.check.setKey(store.Key())
	}
	from, err := s.restore(answers)
	if err != nil {
		b.t.Fatal(err)
	}
	if answers {
		s.writer = newWriter(s.cfg, s.link, s.store, s.ledger, s.check, s.view, s.metrics, s.log)
		s.writer.cpu = newGovernor(0)
	}
	b.t.Cleanup(func() { s.killed() })
	return s, from
}

// killed leaves behind what kill -9 would.
func (s *Shipper) killed() {
	s.src.Close()
	s.check.attach(nil)
	if s.store != nil {
		s.store.Close()
		s.store = nil
	}
}

// log is a file that stays open for writing.
func (b *bench) log(name string) *os.File {
	b.t.Helper()
	w, err := os.OpenFile(b.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { w.Close() })
	return w
}

func (b *bench) write(w *os.File, text string) {
	b.t.Helper()
	if _, err := w.WriteString(text); err != nil {
		b.t.Fatal(err)
	}
}

// ships runs a Shipper until the text is persisted of gc.log.
func (b *bench) ships(text string) {
	b.t.Helper()
	b.start()
	b.eventually("persisted: "+text, func() bool { return strings.Contains(b.persisted("gc.log"), text) })
	b.drain()
}

// small is a tmpfs that is soon too full.
func (b *bench) small() { b.cfg.Queue, b.cfg.Budget = 256*settings.Ki, settings.Mi }

func (b *bench) loseCheckpoint() {
	for _, s := range b.slots() {
		os.Remove(s)
	}
}

func debugLines(from, to int) string {
	var s strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&s, "[%d.%03ds][debug][gc,heap] line %d %s\n", i/1000, i%1000, i, strings.Repeat("y", 80))
	}
	return s.String()
}

// onceEach fails the test if a line was persisted twice.
func (b *bench) onceEach() {
	b.t.Helper()
	seen, twice := map[string]int{}, 0
	for line := range strings.Lines(b.persisted("gc.log")) {
		if seen[line]++; seen[line] == 2 {
			twice++
		}
	}
	if twice > 0 {
		b.t.Errorf("%d lines were persisted twice", twice)
	}
}

// A checkpoint was lost, and the sidecar is killed between the moment in which
// it knows how the segments end and the one in which it has found that in the
// source.
func TestKilledBeforeTheSourceIsAligned(t *testing.T) {
	b := newBench(t)
	b.small()
	w := b.log("gc.log")
	b.write(w, lines(0, 500))
	b.ships("line 499\n")
	b.loseCheckpoint()
	b.write(w, debugLines(500, 20000))
	s, from := b.begun(true)
	s.reader.round()
	for _, name := range s.writer.unplaced(from) {
		if err := s.writer.placeStream(context.Background(), name, from); err != nil {
			t.Fatal(err)
		}
	}
	s.reader.drop(512<<10, s.reader.measure())
	if err := s.check.save(s.ledger.state); err != nil {
		t.Fatal(err)
	}
	s.killed()
	b.ships("line 19999 ")
	b.onceEach()
}

// A checkpoint was lost, and one stream's directory cannot be opened for a
// while, so that reading runs far ahead of the place where persisting ended.
func TestNothingIsDroppedBeforeTheSourceIsAligned(t *testing.T) {
	for _, slow := range []bool{false, true} {
		b := newBench(t)
		b.cfg.Tail.Reclaim = tail.ReclaimNone // what is persisted is still there
		w := b.log("gc.log")
		b.write(w, debugLines(0, 20000))
		b.ships("line 19999 ")
		b.loseCheckpoint()
		b.cfg.Tail.Reclaim = tail.ReclaimAuto
		b.small()
		bad := filepath.Join(b.cfg.Dest, "other.log")
		if slow {
			b.appendTo("other.log", "x\n")
			writeFile(t, bad, nil)
		}
		b.start()
		for i := range 30 {
			b.write(w, debugLines(20000+i*100, 20100+i*100))
			time.Sleep(20 * time.Millisecond)
		}
		os.Remove(bad)
		b.eventually("it is ready, and nothing waits", func() bool { return b.ship.Ready() == nil && b.ship.Stats().Usage.Backlog == 0 })
		b.write(w, lines(23000, 23001))
		b.eventually("the last line is persisted", func() bool { return strings.Contains(b.persisted("gc.log"), "line 23000\n") })
		b.drain()
		b.onceEach()
	}
}

// A log is truncated, and then lines of it are dropped while the destination is
// silent, by a sidecar that is killed.
func TestGapsOfATruncatedLogSurviveASilentStart(t *testing.T) {
	for _, when := range []string{"never", "while down", "in the silence"} {
		t.Run(when, func(t *testing.T) {
			b := newBench(t)
			b.small()
			w := b.log("gc.log")
			b.write(w, lines(0, 500))
			b.ships("line 499\n")
			again := func() {
				if err := w.Truncate(0); err != nil {
					t.Fatal(err)
				}
				b.write(w, debugLines(0, 20000))
			}
			if when == "while down" {
				again()
			}
			s, _ := b.begun(false)
			switch when {
			case "in the silence":
				again()
			case "never":
				b.write(w, debugLines(0, 20000))
			}
			s.src.Tick()
			for range 10 {
				s.reader.round()
				s.reader.drop(256<<10, s.reader.measure())
			}
			if s.src.Gaps() == 0 {
				t.Fatal("nothing was dropped")
			}
			b.write(w, debugLines(20000, 20001))
			s.killed()
			b.ships("line 20000 ")
			if told, persisted := b.sum(); told+persisted != 20501 {
				t.Errorf("%d persisted, %d told of by markers, want 20501", persisted, told)
			}
		})
	}
}

func identify(t *testing.T, path string) tail.Identity {
	t.Helper()
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
		t.Fatal(err)
	}
	return tail.Identity{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino, Born: st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}
}

// The application writes a slot that nobody can authenticate, with a stream
// that is none.
func TestForgedSlotDoesNotStopOtherStreams(t *testing.T) {
	b := newBench(t)
	b.appendTo("gc.log", lines(0, 100))
	b.ships("line 99\n")
	b.appendTo("evil.log", "x\n")
	b.appendTo("gc.log", lines(100, 200))
	body, err := json.Marshal(state{Seq: 1000, Files: []fileState{{Identity: identify(t, b.path("evil.log")), Stream: "../../outside"}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, b.path(".ullage/provisional-0"), append(fmt.Appendf(nil, slotHeader, len(body), hex.EncodeToString(sum(nil, body))), body...))
	b.ships("line 199\n")
	if got := b.persisted("evil.log"); got != "x\n" {
		t.Errorf("of the other stream %q is persisted", got)
	}
}

// The application puts back slots that were its sidecar's, and deletes the log.
func TestReplayedCheckpointWithoutItsFileCutsNothing(t *testing.T) {
	b := newBench(t)
	b.appendTo("gc.log", lines(0, 100))
	b.ships("line 99\n")
	old := copyTree(t, b.path(tail.StateDir))
	b.appendTo("gc.log", lines(100, 100000))
	b.ships("line 99999\n")
	replaceTree(t, old, b.path(tail.StateDir))
	os.Remove(b.path("gc.log"))
	b.start()
	b.eventually("it is ready", func() bool { return b.ship.Ready() == nil })
	b.drain()
	if n := strings.Count(b.persisted("gc.log"), "\n"); n != 100000 {
		t.Errorf("of 100000 durable lines %d are left", n)
	}
}

// The sidecar was drained and has unlinked what was finished. The next JVM
// begins with the same lines.
func TestSameLinesAfterARestartAreOthers(t *testing.T) {
	for _, text := range []string{"[0.005s][info][gc] Using G1\n", strings.Repeat("[info][app] tick\n", 400)} {
		for _, fresh := range []bool{false, true} {
			b := newBench(t)
			b.appendTo("gc.log", text)
			b.start()
			b.drain()
			if fresh { // a pod with a persistent destination and a new tmpfs
				if err := os.RemoveAll(b.cfg.Tail.Source); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(b.cfg.Tail.Source, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			b.appendTo("gc.log", text)
			b.start()
			b.drain()
			if got := b.persisted("gc.log"); got != text+text {
				t.Errorf("fresh source %t: of %d lines %d are persisted", fresh, 2*strings.Count(text, "\n"), strings.Count(got, "\n"))
			}
		}
	}
}

// begins runs the writer's begin with a reader that answers.
func (s *Shipper) begins(t *testing.T, from start) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for {
			select {
			case request := <-s.link.rewind:
				s.reader.rewind(request)
				close(request.done)
			case <-ctx.Done():
				return
			}
		}
	}()
	err := s.writer.begin(ctx, from)
	cancel()
	<-answered
	if err != nil {
		t.Fatal(err)
	}
}

// appends appends all that is queued.
func (s *Shipper) appends(t *testing.T) {
	t.Helper()
	for s.link.queue.Bytes() > 0 {
		if err := s.writer.appendBatch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Killed with much that is appended and not committed, markers among it, while
// the JVM deletes an archive that was persisted.
func TestKilledBehindAMarkerAndAnArchiveIsGone(t *testing.T) {
	for _, gone := range []bool{false, true} {
		b := newBench(t)
		b.small()
		b.appendTo("gc.log.0", lines(0, 100))
		b.appendTo("gc.log", lines(100, 101))
		archive, w := b.log("gc.log.0"), b.log("gc.log")
		b.ships("line 100\n")
		s, from := b.begun(true)
		s.begins(t, from)
		b.write(w, debugLines(101, 12000))
		s.src.Tick()
		for range 8 {
			s.reader.round()
			s.reader.drop(64<<10, s.reader.measure())
			s.appends(t)
		}
		if s.writer.pending == 0 {
			t.Fatal("nothing is uncommitted")
		}
		s.killed()
		archive.Close()
		if gone {
			os.Remove(b.path("gc.log.0"))
		}
		b.write(w, debugLines(12000, 12001))
		b.ships("line 12000 ")
		told, persisted := b.sum()
		if told+persisted != 12001 {
			t.Errorf("archive gone %t: %d persisted, %d told of by markers, want 12001", gone, persisted, told)
		}
	}
}

// sum counts what is persisted of gc.log, and what its markers tell of.
func (b *bench) sum() (told, persisted int) {
	b.t.Helper()
	for line := range strings.Lines(b.persisted("gc.log")) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			told += int(g.Total())
		} else {
			persisted++
		}
	}
	return told, persisted
}

// A sidecar whose JVM had written nothing restarts, and the destination is
// silent: nothing was lost, so that lines can go.
func TestNothingWasLostOfASourceThatHadNothing(t *testing.T) {
	b := newBench(t)
	b.small()
	b.start()
	b.eventually("it is ready", func() bool { return b.ship.Ready() == nil })
	b.drain()
	b.write(b.log("gc.log"), debugLines(0, 20000))
	s, from := b.begun(false)
	s.src.Tick()
	s.reader.round()
	s.reader.drop(256<<10, s.reader.measure())
	if from.lost || s.src.Gaps() == 0 {
		t.Errorf("lost: %t, %d gaps", from.lost, s.src.Gaps())
	}
}

// A checkpoint was lost, and two sidecars, one after the other, have no answer
// from the destination: both know that what is there may be persisted.
func TestALostCheckpointIsNotForgotten(t *testing.T) {
	b := newBench(t)
	b.cfg.Tail.Reclaim = tail.ReclaimNone
	w := b.log("gc.log")
	b.write(w, debugLines(0, 10000))
	b.ships("line 9999 ")
	b.cfg.Tail.Reclaim = tail.ReclaimAuto
	b.small()
	b.loseCheckpoint()
	for range 2 {
		s, from := b.begun(false)
		if !from.lost {
			t.Error("the checkpoint does not count as lost")
		}
		b.appendTo("other.log", debugLines(0, 20000))
		s.src.Tick()
		for range 10 {
			s.reader.round()
			s.reader.drop(256<<10, s.reader.measure())
		}
		s.killed()
	}
	b.write(w, lines(10000, 10001))
	b.ships("line 10000\n")
	if told, persisted := b.sum(); told+persisted != 10001 {
		t.Errorf("%d persisted, %d told of by markers, want 10001", persisted, told)
	}
}

// The destination is replaced after it was opened, before any stream is placed.
func TestDestinationThatIsReplacedWhileItBegins(t *testing.T) {
	b := newBench(t)
	b.write(b.log("gc.log"), lines(0, 10))
	b.ships("line 9\n")
	b.appendTo("gc.log", lines(10, 20))
	s, from := b.begun(true)
	if err := s.store.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(b.cfg.Dest, b.cfg.Dest+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.cfg.Dest, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.writer.placeStreams(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	s.killed()
	b.ships("line 19\n")
}
