package ring

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
)

const (
	testName = name("events-7-1763722140123")
	testMono = 5_000_000_000
	testWall = 1763722140_000_000_000 // 2025-11-21T10:49:00Z
)

// A writer is the JVM's side of a ring, one step at a time.
type writer struct {
	t    testing.TB
	path string
	mem  []byte // nil: the JVM is gone
	cap  uint64
	keep ul.Level
	last uint64 // the last complete head that was read
}

// newWriter makes a ring in a source.
func newWriter(t testing.TB, source string, n name, capacity uint64) *writer {
	t.Helper()
	path := filepath.Join(source, n.ring())
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, dataAt+capacity)); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(dataAt+capacity), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, path: path, mem: mem, cap: capacity, keep: ul.Warning}
	t.Cleanup(w.kill)
	le.PutUint32(mem[versionAt:], version)
	le.PutUint32(mem[dataOffsetAt:], dataAt)
	le.PutUint64(mem[capacityAt:], capacity)
	le.PutUint32(mem[stripesAt:], 1)
	le.PutUint32(mem[maxPayloadAt:], maxPayload)
	le.PutUint64(mem[pidAt:], 7)
	le.PutUint64(mem[monotonicAt:], testMono)
	le.PutUint64(mem[wallAt:], testWall)
	le.PutUint64(mem[controlAt+headAt+8:], ^uint64(0))
	le.PutUint64(mem, magic)
	return w
}

// begin moves the cursors of a fresh ring to a position, as if it had been in use.
func (w *writer) begin(pos uint64) {
	le.PutUint64(w.mem[controlAt:], pos)
	le.PutUint64(w.mem[controlAt+headAt:], pos)
	le.PutUint64(w.mem[controlAt+headAt+8:], ^pos)
	w.last = pos
}

// kill ends the JVM, after which no process has the ring mapped.
func (w *writer) kill() {
	if w.mem != nil {
		_ = unix.Munmap(w.mem)
		w.mem = nil
	}
}

func (w *writer) tail() uint64 { return le.Uint64(w.mem[controlAt:]) }

// head returns the head. While the head is half written, it returns the previous value.
func (w *writer) head() uint64 {
	if h := le.Uint64(w.mem[controlAt+headAt:]); le.Uint64(w.mem[controlAt+headAt+8:]) == ^h {
		w.last = h
	}
	return w.last
}

func (w *writer) at(pos uint64) int { return int(dataAt + pos&(w.cap-1)) }

// claim moves the tail over a record with a payload of n bytes, as Java does. If there is no room,
// it counts the record as refused.
func (w *writer) claim(n int, level ul.Level) (pos uint64, ok bool) {
	need := uint64(recordSize(n))
	rest := w.cap - w.tail()&(w.cap-1)
	pad := uint64(0)
	if need > rest {
		pad = rest
	}
	next := w.tail() + pad + need
	limit, why := w.cap, ul.DropAll
	if level < w.keep {
		limit, why = w.cap*60/100, ul.Discard
	}
	if next-w.head() > limit {
		at := controlAt + dropsAt + 8*(int(why)*ul.NumLevels+int(level))
		le.PutUint64(w.mem[at:], le.Uint64(w.mem[at:])+1)
		at = controlAt + droppedBytesAt
		le.PutUint64(w.mem[at:], le.Uint64(w.mem[at:])+need)
		return 0, false
	}
	pos = w.tail()
	le.PutUint64(w.mem[controlAt:], next)
	if pad > 0 {
		w.word(pos, int(pad), 0, kindPad, 0)
	}
	return pos + pad, true
}

// announce stores the word of a claim.
func (w *writer) announce(pos uint64, n int) {
	le.PutUint64(w.mem[w.at(pos):], uint64(uint32(-int32(n+1))))
}

// fill stores everything in a record except its word.
func (w *writer) fill(pos uint64, id, thread uint32, nanos int64, payload []byte) {
	b := w.mem[w.at(pos):]
	le.PutUint64(b[timeAt:], uint64(nanos))
	le.PutUint32(b[idAt:], id)
	le.PutUint32(b[threadAt:], thread)
	copy(b[payloadAt:], payload)
}

// word stores the word of a complete record.
func (w *writer) word(pos uint64, n int, level ul.Level, kind, flags uint8) {
	bits := uint64(n+1) | uint64(level)<<32 | uint64(kind)<<36 | uint64(flags)<<40
	le.PutUint64(w.mem[w.at(pos):], bits|check(bits, pos)<<wordBits)
}

// write writes a whole record and reports whether there was room.
func (w *writer) write(level ul.Level, kind uint8, id uint32, payload []byte) bool {
	pos, ok := w.claim(len(payload), level)
	if ok {
		w.announce(pos, len(payload))
		w.fill(pos, id, 99, testMono+1_000_000, payload)
		w.word(pos, len(payload), level, kind, 0)
	}
	return ok
}

// event writes an event with a number and a text.
func (w *writer) event(id int, text string) bool {
	return w.write(ul.Info, kindText, uint32(id), []byte(text))
}

// A sidecar is a Rings over a source, driven step by step.
type sidecar struct {
	*Rings
	t      testing.TB
	source string
	now    time.Time
	reg    *prometheus.Registry
	log    *strings.Builder
}

func newSidecar(t testing.TB, source string) *sidecar {
	t.Helper()
	s := &sidecar{t: t, source: source, now: time.Unix(1763722200, 0), reg: prometheus.NewRegistry(), log: &strings.Builder{}}
	s.Rings = New(s.reg, slog.New(slog.NewTextHandler(s.log, nil)), func(mark.Mark) {})
	return s
}

// start opens the source.
func (s *sidecar) start() *sidecar {
	s.t.Helper()
	dir, err := os.Open(s.source)
	if err != nil {
		s.t.Fatal(err)
	}
	defer dir.Close()
	state, err := statedir.Open(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	defer state.Close()
	s.Open(dir, state)
	s.t.Cleanup(func() { s.mu.Lock(); defer s.mu.Unlock(); s.leave() })
	return s
}

// rounds runs n rounds. Each round also asks whether JVMs are gone.
func (s *sidecar) rounds(n int) {
	for range n {
		s.now = s.now.Add(errorPause)
		s.round(s.now, true)
	}
}

// drained runs rounds until all rings are removed.
func (s *sidecar) drained() {
	s.t.Helper()
	for range 10_000 {
		if s.rounds(1); s.idle() {
			return
		}
	}
	s.t.Fatalf("the ring is not drained: %+v\n%s", s.Status(), s.log)
}

// events returns the messages in a text, without decorations, and all its lines.
func events(t testing.TB, source string, n name) (messages, lines []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(source, n.text()))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		t.Fatalf("the text ends with %q, want the end of a line", b[max(0, len(b)-80):])
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, line)
		if _, message, ok := strings.Cut(line, "][event] "); ok {
			messages = append(messages, message)
		}
	}
	return messages, lines
}

// errorsBy returns the number of errors by reason.
func (s *sidecar) errorsBy() string {
	var b strings.Builder
	for _, reason := range reasons {
		if n := testutil.ToFloat64(s.metrics.errors.WithLabelValues(reason)); n > 0 {
			fmt.Fprintf(&b, "%s=%v ", reason, n)
		}
	}
	return strings.TrimSpace(b.String())
}

// names returns the names of the files in a source and in its state directory.
func names(t testing.TB, source string) string {
	t.Helper()
	var all []string
	for _, dir := range []string{source, filepath.Join(source, statedir.Name)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != statedir.Name {
				all = append(all, e.Name())
			}
		}
	}
	return strings.Join(all, " ")
}

// tmpfs returns a directory on a tmpfs.
func tmpfs(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ring")
	if err != nil {
		t.Skip("needs a tmpfs at /dev/shm: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
