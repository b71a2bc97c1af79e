package ship

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/tail"
)

// begun returns a Shipper whose loops are about to start, so that a test can run their
// steps one by one. If the destination answers, the Shipper has its key.
func (b *bench) begun(answers bool) (*Shipper, start) {
	b.t.Helper()
	s := New(b.cfg, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(testWriter{b.t}, nil)))
	connect(s, b.to)
	if err := s.reader.waitForSource(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	if answers {
		durable, err := store.Open(b.cfg.Dest, b.cfg.Segment, nil, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		s.store.Store(durable)
		s.check.SetKey(durable.Key(), durable.Number())
	}
	from, err := s.restore(answers)
	if err != nil {
		b.t.Fatal(err)
	}
	if answers {
		s.writer = newWriter(s.cfg, s.to, s.link, s.store.Load(), s.check, s.detail, s.view, s.metrics, s.log)
	}
	b.t.Cleanup(func() { s.killed() })
	return s, from
}

// killed ends the Shipper as kill -9 would.
func (s *Shipper) killed() {
	s.src.Close()
	s.check.Attach(nil)
	s.link.news.setDir(nil)
	if durable := s.store.Swap(nil); durable != nil {
		durable.Close()
	}
}

// log opens a log for writing until the test ends.
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

// ships runs a Shipper until the persisted lines of gc.log contain the text.
func (b *bench) ships(text string) {
	b.t.Helper()
	b.start()
	b.eventually("persisted: "+text, func() bool { return strings.Contains(b.persisted("gc.log"), text) })
	b.drain()
}

// drops moves lines into the spool and drops them for the given reason until the wanted
// amount of memory is freed, whatever the marks say. It returns how much was freed.
func (s *Shipper) drops(why ul.Reason, want int64) (freed int64) {
	m := s.reader.budget.measure()
	relief := tail.Relief{Want: want, Least: 1, Keep: ul.Level(s.cfg.KeepLevel)}
	s.src.Relief.Move(relief)
	return s.reader.press.drop(why, relief, m)
}

func (s *Shipper) commits(t testing.TB) {
	t.Helper()
	if err := s.writer.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// small sets a budget that is quickly used up.
func (b *bench) small() { b.cfg.Queue, b.cfg.Budget = 256*settings.Ki, settings.Mi }

// pressed returns a Shipper that has begun with a small queue and this budget, and its log, which is open for writing.
func pressed(t *testing.T, budget settings.Size) (b *bench, w *os.File, s *Shipper) {
	t.Helper()
	b = newBench(t)
	b.small()
	b.cfg.Budget = budget
	w = b.log("gc.log")
	s, from := b.begun(true)
	s.begins(t, from)
	return b, w, s
}

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
		b.t.Errorf("%d lines were persisted twice, want none", twice)
	}
}

// begins runs the writer's begin, with a reader that answers.
func (s *Shipper) begins(t testing.TB, from start) {
	t.Helper()
	s.answering(t, func(ctx context.Context) {
		if err := (&placing{s.writer, from}).begin(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// answering runs a step of the writer. Meanwhile, a reader rewinds whenever the writer asks it
// to and does nothing else.
func (s *Shipper) answering(t testing.TB, step func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for {
			select {
			case request := <-s.link.rewind:
				request.done <- s.reader.rewind(request)
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-answered }()
	step(ctx)
}

// appends appends everything that is queued.
func (s *Shipper) appends(t testing.TB) {
	t.Helper()
	for s.link.queue.Bytes() > 0 {
		if err := s.writer.appendBatch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// sum returns how many lines the markers of gc.log count, and how many lines of it are
// persisted.
func (b *bench) sum() (marked, persisted int) {
	b.t.Helper()
	return sumOf(b.persisted("gc.log"))
}

// sumOf returns how many lines the markers in a text count, and how many other lines it
// has.
func sumOf(text string) (marked, persisted int) {
	for line := range strings.Lines(text) {
		if g, ok := ul.ParseMarker([]byte(line)); ok {
			marked += int(g.Total())
		} else {
			persisted++
		}
	}
	return marked, persisted
}

// The writer answers a draining reader and rewinds the reader before the reader has taken the
// answer. The answer is not valid for lines that are read after the rewind.
func TestAnswerFromBeforeARewindEndsNoDrain(t *testing.T) {
	s, _ := newBench(t).begun(true)
	s.reader.drain.on, s.reader.drain.asked = true, true
	s.link.flushed <- struct{}{}
	s.reader.rewind(rewind{})
	if s.reader.drain.asked || len(s.link.flushed) > 0 {
		t.Error("the reader mistakes the earlier answer for the answer to its next request")
	}
}
