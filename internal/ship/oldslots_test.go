package ship

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/tail"
)

// hoard is an application that keeps a copy of every slot that it has ever seen. It also knows
// which lines its sidecars made durable.
type hoard struct {
	*bench
	rand     *rand.Rand
	slots    [][]byte
	files    map[string]*os.File
	next     int // number of the next line
	archives int
	dests    []string                   // all destinations so far
	safe     map[string]map[string]bool // committed lines, by destination
	did      []string                   // the steps so far, for the failure message
}

func newHoard(t *testing.T, seed uint64) *hoard {
	b := newBench(t)
	h := &hoard{bench: b, rand: rand.New(rand.NewPCG(seed, 1)), files: map[string]*os.File{}, safe: map[string]map[string]bool{}}
	all := []segment.Compression{segment.Zstd, segment.None}
	b.cfg.Segment.Compress = all[h.rand.IntN(len(all))]
	b.cfg.Segment.SegmentBytes = settings.Size(16+h.rand.IntN(200)) * settings.Ki
	b.cfg.Queue = 256 * settings.Ki
	h.moves()
	return h
}

func (h *hoard) note(format string, a ...any) { h.did = append(h.did, fmt.Sprintf(format, a...)) }

// moves switches to another destination: a new one, or one that was used before.
func (h *hoard) moves() {
	if n := h.rand.IntN(len(h.dests) + 1); n < len(h.dests) {
		h.cfg.Dest = h.dests[n]
	} else {
		dir, err := os.MkdirTemp(filepath.Dir(h.cfg.Tail.Source), "ullage-test-dest-")
		h.must(err)
		h.t.Cleanup(func() { os.RemoveAll(dir) })
		h.cfg.Dest = dir
		h.dests = append(h.dests, dir)
		h.safe[dir] = map[string]bool{}
	}
	h.note("destination %d", slices.Index(h.dests, h.cfg.Dest))
}

// writes appends lines to a log, which it sometimes rotates.
func (h *hoard) writes() {
	name := []string{"gc.log", "gc.log", "other.log"}[h.rand.IntN(3)]
	if h.files[name] != nil && h.rand.IntN(20) == 0 {
		h.files[name].Close()
		delete(h.files, name)
		h.must(os.Rename(h.path(name), h.path(fmt.Sprintf("%s.%d", name, h.archives))))
		h.archives++ // each archive gets its own name, so that no archive is overwritten
		h.note("rotates %s", name)
	}
	if h.files[name] == nil {
		h.files[name] = h.log(name)
	}
	var text strings.Builder
	for range h.rand.IntN(400) {
		fmt.Fprintf(&text, "[%d.000s][info][gc] line %d %08x\n", h.next, h.next, h.rand.Uint32())
		h.next++
	}
	h.write(h.files[name], text.String())
}

// keeps copies the present slots.
func (h *hoard) keeps() {
	for _, path := range h.bench.slots() {
		if data, err := os.ReadFile(path); err == nil && len(bytes.TrimRight(data, "\x00")) > 0 {
			data = bytes.TrimRight(data, "\x00")
			if !slices.ContainsFunc(h.slots, func(b []byte) bool { return bytes.Equal(b, data) }) {
				h.slots = append(h.slots, data)
			}
		}
	}
}

// begins starts a sidecar, whose destination may answer late.
func (h *hoard) begins() *Shipper {
	late := h.rand.IntN(3) == 0
	s, from := h.begun(!late)
	if late {
		s.src.Tick()
		for range h.rand.IntN(3) {
			s.reader.round()
			s.reader.settle()
		}
		from = answered(h.t, s, from)
	}
	h.keeps()
	s.begins(h.t, from)
	h.keeps()
	return s
}

// answered continues a start whose destination answers only now.
func answered(t testing.TB, s *Shipper, from start) start {
	t.Helper()
	durable, err := store.Open(s.cfg.Dest, s.cfg.Segment, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.store.Store(durable)
	from = s.unseal(from)
	s.writer = newWriter(s.cfg, s.to, s.link, durable, s.check, s.detail, s.view, s.metrics, s.log)
	return from
}

// runs lets a sidecar work for a while and kills it at a random moment.
func (h *hoard) runs() {
	s := h.begins()
	defer s.killed()
	for range 1 + h.rand.IntN(25) {
		switch h.rand.IntN(7) {
		case 0, 1:
			h.writes()
			s.src.Tick()
		case 2:
			s.reader.round()
		case 3:
			if s.link.queue.Bytes() > 0 {
				h.must(s.writer.appendBatch(h.t.Context()))
			}
		case 4:
			if s.writer.taken.bytes > 0 && h.rand.IntN(4) == 0 {
				h.isKilledInACommit(s)
				return
			}
			if len(s.link.replies.published) > 0 || s.writer.taken.bytes > 0 {
				s.commits(h.t)
				h.commits()
			}
		case 5:
			s.reader.settle()
		case 6:
			s.src.Relief.Move(tail.Relief{Want: 64 << 10, Least: 1, Keep: 0})
		}
		h.keeps()
	}
	h.note("ran to line %d", h.next)
}

// isKilledInACommit leaves the files as a kill would after the checkpoint was saved and
// before its number was recorded at the destination.
func (h *hoard) isKilledInACommit(s *Shipper) {
	s.reader.settle() // takes what was published before
	number := filepath.Join(h.cfg.Dest, segment.OwnDir, "checkpoint-number")
	before, err := os.ReadFile(number)
	h.must(err)
	s.commits(h.t)
	h.must(os.WriteFile(number, before, 0o640))
	h.keeps()
	h.note("ran to line %d, killed before the number", h.next)
}

// commits records every persisted line as durable. It is called right after a commit, when
// nothing else is being appended.
func (h *hoard) commits() {
	for _, stream := range []string{"gc.log", "other.log"} {
		for line := range strings.Lines(h.persisted(stream)) {
			h.safe[h.cfg.Dest][line] = true
		}
	}
}

// spoils leaves, removes or replaces each slot, at random.
func (h *hoard) spoils() {
	for _, path := range h.bench.slots() {
		what := h.rand.IntN(10)
		switch {
		case what < 2 || len(h.slots) == 0:
			h.note("leaves %s", filepath.Base(path))
		case what < 4:
			h.must(os.RemoveAll(path))
			h.note("removes %s", filepath.Base(path))
		default:
			n := h.rand.IntN(len(h.slots))
			if what == 4 {
				n = h.rand.IntN(min(8, len(h.slots))) // one of the first slots, from before any commit
			}
			data := bytes.Clone(h.slots[n])
			if what == 9 {
				data[h.rand.IntN(len(data))] ^= 1 << h.rand.IntN(8)
			}
			h.must(os.RemoveAll(path))
			writeFile(h.t, path, data)
			h.note("puts slot %d of %d into %s, damaged: %t", n, len(h.slots), filepath.Base(path), what == 9)
		}
	}
}

// keepsAll fails the test if a durable line has disappeared or was persisted twice.
func (h *hoard) keepsAll() {
	h.t.Helper()
	for at, dest := range h.dests {
		was := h.cfg.Dest
		h.cfg.Dest = dest
		have := h.persisted("gc.log") + h.persisted("other.log")
		h.cfg.Dest = was
		seen, twice, lost := map[string]int{}, 0, 0
		for line := range strings.Lines(have) {
			if seen[line]++; seen[line] == 2 {
				twice++
			}
		}
		for line := range h.safe[dest] {
			if seen[line] == 0 {
				lost++
			}
		}
		if lost > 0 || twice > 0 {
			h.t.Fatalf("destination %d: %d of %d durable lines have disappeared, and %d are there twice; want 0 and 0:\n%s", at, lost, len(h.safe[dest]), twice, strings.Join(h.did, "\n"))
		}
	}
}

// The application keeps a copy of every slot. Again and again it puts old slots back, some
// of them damaged or mixed with others, while sidecars are killed and destinations change.
func TestNoOldCheckpointShortensWhatIsDurable(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := newHoard(t, seed)
			for range 8 {
				h.runs()
				h.keepsAll()
				if h.rand.IntN(2) == 0 {
					h.spoils()
				}
				if h.rand.IntN(6) == 0 {
					h.moves()
				}
			}
			h.start()
			h.writes()
			h.eventually("everything is durable", func() bool { return h.ship.Ready() == nil && statusOf(h.ship).BacklogBytes == 0 })
			h.drain()
			h.keepsAll()
			h.everyLine()
		})
	}
}

// everyLine fails the test if a line was never persisted.
func (h *hoard) everyLine() {
	h.t.Helper()
	found := map[string]bool{}
	for _, dest := range h.dests {
		h.cfg.Dest = dest
		for line := range strings.Lines(h.persisted("gc.log") + h.persisted("other.log")) {
			_, rest, _ := strings.Cut(line, " line ")
			if number, _, ok := strings.Cut(rest, " "); ok {
				found[number] = true
			}
		}
	}
	missing := 0
	for n := range h.next {
		if !found[strconv.Itoa(n)] {
			missing++
		}
	}
	if missing > 0 {
		h.t.Fatalf("%d of %d lines were never persisted:\n%s", missing, h.next, strings.Join(h.did, "\n"))
	}
}

// The first slot that has a log gives its position as 0: nothing of the log is committed. Once
// most of the log is punched, the application puts that slot back. Or the application damages
// the newest slot, so that the older one is left.
func TestAnOldSlotIsNoCheckpoint(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(h *hoard)
	}{
		{"the first one", func(h *hoard) {
			first := slices.IndexFunc(h.slots, func(b []byte) bool { return bytes.Contains(b, []byte(`"stream":"gc.log","offset":0`)) })
			if first < 0 {
				h.t.Fatal("no slot has the log at offset 0")
			}
			writeFile(h.t, h.bench.slots()[0], h.slots[first])
			h.must(os.Remove(h.bench.slots()[1]))
		}},
		{"from before the log was known", func(h *hoard) {
			writeFile(h.t, h.bench.slots()[0], h.slots[0])
			h.must(os.Remove(h.bench.slots()[1]))
		}},
		{"the one before the newest", func(h *hoard) {
			truncateFile(h.t, h.newestSlot(), 100)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHoard(t, 0)
			w := h.log("gc.log")
			s := h.begins()
			for n := range 20 {
				h.write(w, lines(n*500, n*500+500))
				s.src.Tick()
				s.reader.round()
				s.appends(t)
				h.keeps()
				s.commits(t)
				s.reader.settle()
				h.keeps()
			}
			s.killed()
			if got := allocated(t, w); got > 2*int64(os.Getpagesize()) {
				t.Fatalf("%d bytes of the log are left, too many for this test", got)
			}
			c.put(h)
			h.write(w, lines(10000, 10001))
			h.ships("line 10000\n")
			if got, want := h.persisted("gc.log"), lines(0, 10001); got != want {
				t.Errorf("%d lines were persisted, want %d, each once", strings.Count(got, "\n"), strings.Count(want, "\n"))
			}
			if testutil.ToFloat64(h.ship.metrics.checkpointInvalid.WithLabelValues("stale")) == 0 {
				t.Error("the old slot was not counted as stale")
			}
		})
	}
}

// The application changes the name of a stream in the slots. While the destination does not
// answer, the sidecar continues to read for the stream that the slots claim.
func TestASlotThatNamesAnotherStreamRepeatsNothing(t *testing.T) {
	for _, claimed := range []string{"gc.loo", "up.log"} { // a new stream, and an existing one
		b := newBench(t)
		w, other := b.log("gc.log"), b.log("up.log")
		b.write(w, lines(0, 300))
		b.write(other, lines(1000, 1100))
		b.ships("line 299\n")
		for _, path := range b.slots() {
			data, err := os.ReadFile(path)
			b.must(err)
			writeFile(t, path, bytes.ReplaceAll(data, []byte(`"stream":"gc.log"`), []byte(`"stream":"`+claimed+`"`)))
		}
		b.write(w, lines(300, 500))
		s, from := b.begun(false)
		s.src.Tick()
		s.reader.round()
		s.reader.settle()
		s.begins(t, answered(t, s, from))
		s.src.Tick()
		s.reader.round()
		s.appends(t)
		s.commits(t)
		if got, want := b.persisted("gc.log"), lines(0, 500); got != want {
			t.Errorf("claimed %s: %d lines of gc.log were persisted, want %d", claimed, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		if got, want := b.persisted("up.log"), lines(1000, 1100); got != want {
			t.Errorf("claimed %s: %d lines of up.log were persisted, want %d", claimed, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		s.killed()
	}
}

// A sidecar waits for the destination, which another sidecar holds and writes to. The lines
// that the other sidecar made durable must stay.
func TestAnotherSidecarHasUsedTheDestination(t *testing.T) {
	for _, known := range []bool{true, false} {
		b := newBench(t)
		w := b.log("gc.log")
		b.write(w, lines(0, 100))
		b.ships("line 99\n")
		if !known { // the sidecar has another source, without a checkpoint yet
			b.newSource()
			w = b.log("gc.log")
		}
		s, from := b.begun(true)
		other, err := store.Open(b.cfg.Dest, b.cfg.Segment, nil, nil)
		b.must(err)
		b.must(other.Acquire(t.Context()))
		str := other.Stream("gc.log")
		_, _, err = str.Recover()
		b.must(errors.Join(err, str.Append([]byte(lines(1000, 1100)))))
		_, err = str.Sync()
		b.must(err)
		other.SetNumber(other.Number() + 10)
		b.must(other.Close())
		b.write(w, lines(100, 200))
		s.begins(t, from)
		s.src.Tick()
		s.reader.round()
		s.appends(t)
		s.commits(t)
		if got, want := b.persisted("gc.log"), lines(0, 100)+lines(1000, 1100)+lines(100, 200); got != want {
			t.Errorf("checkpoint %t: %d lines were persisted, want %d", known, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		if stale := testutil.ToFloat64(s.metrics.checkpointInvalid.WithLabelValues("stale")) > 0; stale != known {
			t.Errorf("checkpoint %t: a slot was counted as stale: %t, want %t", known, stale, known)
		}
	}
}

// A part of a line over the limit is committed and freed before the end of the line is
// written. The application damages the checkpoint.
func TestAPartOfALongLineOutlivesTheCheckpoint(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		t.Run(how.String(), func(t *testing.T) {
			b := newBench(t)
			b.cfg.Segment.Compress = how
			b.cfg.Queue = 256 * settings.Ki
			w := b.log("gc.log")
			begin, end := lines(0, 10)+"[0.1s][info][gc] "+strings.ReplaceAll(lines(0, 20_000), "\n", " "), "is over\n"+lines(10, 20)
			b.write(w, begin)
			s, from := b.begun(true)
			s.begins(t, from)
			for range 10 {
				s.reader.round()
				s.appends(t)
				s.commits(t)
				s.reader.settle()
			}
			durable := b.persisted("gc.log")
			if len(durable) < len(begin)-128<<10 || allocated(t, w) > 256<<10 {
				t.Fatalf("of %d bytes %d are durable, and %d are left in the source: too few or too many for this test", len(begin), len(durable), allocated(t, w))
			}
			s.killed()
			b.loseCheckpoint()
			b.write(w, end)
			b.ships("line 19\n")
			if got, want := b.persisted("gc.log"), begin+end; got != want {
				t.Errorf("%d bytes were persisted, want %d; the first difference is at %d", len(got), len(want), firstDifference(got, want))
			}
		})
	}
}

func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// newestSlot returns the slot that the last sidecar wrote most recently.
func (h *hoard) newestSlot() string {
	last := h.slots[len(h.slots)-1]
	for _, path := range h.bench.slots() {
		if data, err := os.ReadFile(path); err == nil && bytes.HasPrefix(data, last) {
			return path
		}
	}
	h.t.Fatalf("there is no newest slot in %s", h.path(statedir.Name))
	return ""
}
