package ship

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/sink"
)

// The first call of OnCommit has every stream that may grow; see Followers. Otherwise, a
// missing stream would be treated as ended, and a sink would upload its newest segment as if
// it were complete.
func TestFirstAnnouncementHasEveryStream(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.Compress = segment.None
	a, c := b.log("a.log"), b.log("c.log")
	b.write(a, lines(0, 1000))
	s, from := b.begun(true)
	s.begins(t, from)
	b.reads(s)
	s.appends(t)
	b.commits(s)
	b.write(c, lines(0, 10))
	b.reads(s)
	s.appends(t)
	b.commits(s)
	s.killed()

	b.cfg.Segment.SegmentBytes = 8 << 10 // only the segment of a.log is sealed by the start
	var calls []map[string]segment.Mark
	b.to.Followers.OnCommit = func(marks map[string]segment.Mark, _ []string) { calls = append(calls, maps.Clone(marks)) }
	s, from = b.begun(true)
	s.begins(t, from)
	if len(calls) < 2 || !calls[1]["a.log"].Sealed {
		t.Fatalf("the start announced %v, want the sealed segment of a.log second", calls)
	}
	for _, name := range s.check.Streams() {
		if _, ok := calls[0][name]; !ok {
			t.Errorf("the first of %d announcements %v lacks %s, which may grow", len(calls), calls[0], name)
		}
	}
}

// wholes is a sink that takes whole segments.
type wholes struct {
	mu  sync.Mutex
	got map[string]string // the text, by path
}

func (w *wholes) Deliver(_ context.Context, b *sink.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := os.ReadFile(b.Segment.Path)
	w.got[b.Stream+"/"+filepath.Base(b.Segment.Path)] += string(text)
	return err
}
func (w *wholes) Close() error { return nil }
func (w *wholes) all() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.got)
}

// A JVM starts a stream while the sidecar runs. No sink gets lines of the stream before they
// are committed.
func TestNewStreamIsNotDeliveredBeforeItsFirstCommit(t *testing.T) {
	b := newBench(t)
	b.cfg.Segment.Compress = segment.None
	engine := &wholes{got: map[string]string{}}
	kinds := map[string]sink.Kind{"x": {Segments: true, Open: func(sink.Target) (sink.Sink, error) { return engine, nil }}}
	var sets []*sink.Set // one for this process, and one for the next
	for range 2 {
		set, err := sink.New(sink.Config{URLs: []string{"x://y"}}, kinds, b.cfg.Dest, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		b.must(err)
		sets = append(sets, set)
	}
	b.to.Followers = Followers{OnCommit: func(marks map[string]segment.Mark, ended []string) {
		for _, set := range sets {
			set.Committed(marks, ended)
		}
	}, SealAtEnd: true}
	s, from := b.begun(true)
	s.begins(t, from)
	w := b.log("gc.log")
	b.write(w, lines(0, 10))
	b.reads(s)
	s.appends(t) // as if the disk then stalled in fsync, or SyncInterval had not passed

	over, cancel := context.WithCancel(t.Context())
	cancel()
	// The sink examines the destination, delivers the content, and ends.
	if err := sets[0].Run(over, t.Context()); err == nil {
		t.Error("Run returned no error, as if the sink had the uncommitted lines; want an error")
	}
	if got := engine.all(); len(got) > 0 {
		t.Errorf("delivered before any commit: %q, want none", got)
	}
	b.commits(s)
	b.write(w, lines(10, 20))
	b.reads(s)
	s.appends(t)
	b.commits(s)
	b.must(s.writer.drain(t.Context())) // also seals the segments
	if err := sets[1].Run(over, t.Context()); err != nil {
		t.Error(err)
	}
	var text string
	for _, got := range engine.all() {
		text += got
	}
	if want := lines(0, 20); text != want {
		t.Errorf("the sink reports that it has everything, but has %d bytes, want %d", len(text), len(want))
	}
}
