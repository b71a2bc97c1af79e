package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/sink/address"
	"github.com/ullage/ullage/test/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine keeps everything that is delivered. It fails when a test wants it to.
type engine struct {
	mu    sync.Mutex
	lines []string // "stream offset text"
	files []string // "stream name"
	fails func(b *Batch) error
	tries int
}

func (e *engine) Deliver(ctx context.Context, b *Batch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tries++
	if e.fails != nil {
		if err := e.fails(b); err != nil {
			return err
		}
	}
	if b.Lines == nil {
		e.files = append(e.files, b.Stream+" "+b.Segment.Name)
	}
	for _, l := range b.Lines {
		e.lines = append(e.lines, fmt.Sprintf("%s %d %s %s", b.Stream, l.Offset, l.Level, l.Text))
	}
	return nil
}

func (e *engine) Close() error { return nil }

func (e *engine) got() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.lines, e.files)
}

// rig is a destination that a test writes to, with a sink.
type rig struct {
	*testing.T
	dest   string
	store  *store.Store
	engine *engine
	whole  bool
	set    *Set
	reg    *prometheus.Registry
	end    func() error
}

func newRig(t *testing.T, whole bool) *rig {
	t.Helper()
	r := &rig{T: t, dest: t.TempDir(), engine: &engine{}, whole: whole}
	cfg := store.DefaultConfig()
	cfg.SegmentBytes, cfg.Compress = 4096, segment.None
	durable, err := store.Open(r.dest, cfg, nil, nil)
	r.must(err)
	r.must(durable.Acquire(t.Context()))
	r.store = durable
	t.Cleanup(func() { durable.Close() })
	r.begin()
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// begin starts the sinks, as a new process does.
func (r *rig) begin() {
	r.Helper()
	kinds := map[string]Kind{"test": {Segments: r.whole, Open: func(t Target) (Sink, error) { return r.engine, t.Options.Done() }}}
	r.beginWith(kinds)
}

// beginWith starts sinks of the given kinds.
func (r *rig) beginWith(kinds map[string]Kind) {
	r.Helper()
	r.reg = prometheus.NewRegistry()
	set, err := New(Config{URLs: address.URLs{"test://there"}}, kinds, r.dest, r.reg, slog.New(slog.DiscardHandler))
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	stop, cut := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- set.Run(ctx, stop) }()
	r.set = set
	r.end = sync.OnceValue(func() error {
		cancel()
		defer cut()
		select {
		case err := <-done:
			return err
		case <-time.After(lab.Patience):
			cut()
			return <-done
		}
	})
	r.Cleanup(func() { // otherwise a sink that cannot deliver would never end
		cut()
		_ = r.end()
	})
}

// appends commits lines of a stream.
func (r *rig) appends(stream string, lines ...string) segment.Mark {
	r.Helper()
	s := r.store.Stream(stream)
	if s.Mark() == (segment.Mark{}) {
		_, _, err := s.Recover()
		r.must(err)
	}
	r.must(s.Append([]byte(strings.Join(lines, "\n") + "\n")))
	mark, err := s.Sync()
	r.must(err)
	return mark
}

func (r *rig) commits(stream string, lines ...string) {
	r.Helper()
	r.set.Committed(map[string]segment.Mark{stream: r.appends(stream, lines...)}, nil)
}

// gets returns the content of the engine once it has this many entries.
func (r *rig) gets(n int) []string {
	r.Helper()
	var got []string
	r.waits(fmt.Sprintf("the engine has %d things", n), func() bool {
		got = r.engine.got()
		return len(got) >= n
	})
	return got
}

// waits waits for a condition.
func (r *rig) waits(what string, holds func() bool) {
	r.Helper()
	for end := time.Now().Add(lab.Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("this did not happen within %s: %s", lab.Patience, what)
		}
	}
}

// has reports whether the sink has acknowledged all of a segment.
func (r *rig) has(info segment.Info) bool { return !r.set.Needs(info) }

func (r *rig) expects(want ...string) {
	r.Helper()
	if got := r.gets(len(want)); !slices.Equal(got, want) {
		r.Fatalf("the engine has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLinesArriveOnceCommittedWithTheirOffsetAndLevel(t *testing.T) {
	r := newRig(t, false)
	mark := r.appends("gc.log", "[1s][info][gc] one", "  more of it", "[2s][debug][gc] two")
	r.appends("gc.log", "[3s][info][gc] not said to be committed")
	r.set.Committed(map[string]segment.Mark{"gc.log": mark}, nil)
	first := []string{
		"gc.log 0 info [1s][info][gc] one",
		"gc.log 19 info   more of it",
		"gc.log 32 debug [2s][debug][gc] two",
	}
	r.expects(first...)
	r.must(r.end())
	r.expects(first...)
}

func TestARestartContinuesBehindWhatWasAcknowledged(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("segments: %t", whole), func(t *testing.T) {
			r := newRig(t, whole)
			line := "[1s][info][gc] " + strings.Repeat("x", 5000) // a segment of its own
			r.commits("gc.log", line)
			r.commits("gc.log", line)
			r.gets(1)
			_ = r.end()
			before := r.gets(1)

			r.begin()
			r.commits("gc.log", line)
			r.set.Committed(nil, []string{"gc.log"}) // the stream has ended: all of it is sealed
			r.gets(3)
			r.must(r.end())
			if got := r.gets(3); len(got) != 3 || !slices.Equal(got[:len(before)], before) {
				t.Errorf("the engine has %q, want 3 lines, the first of them %q", got, before)
			}
		})
	}
}

func TestADeliveryIsRepeatedUntilItIsAcknowledged(t *testing.T) {
	r := newRig(t, false)
	var tried []time.Time
	r.engine.fails = func(*Batch) error {
		if tried = append(tried, time.Now()); len(tried) < 3 {
			return errors.New("no connection")
		}
		return nil
	}
	r.commits("gc.log", "[1s][info][gc] one")
	r.expects("gc.log 0 info [1s][info][gc] one")
	if gap := tried[2].Sub(tried[1]); gap < 2*firstPause {
		t.Errorf("the second pause was %s, want at least %s", gap, 2*firstPause)
	}
	r.must(r.end())
	if n := testutil.ToFloat64(r.set.workers[0].metrics.errors.WithLabelValues(kindUnavailable)); n != 2 {
		t.Errorf("%v errors are counted, want 2", n)
	}
}

func TestWhatAnEngineRejectsIsSetAsideAndCounted(t *testing.T) {
	r := newRig(t, false)
	r.engine.fails = func(b *Batch) error {
		if strings.Contains(string(b.Lines[0].Text), "bad") {
			return &RejectedError{Err: errors.New("no such field")}
		}
		return nil
	}
	r.commits("gc.log", "[1s][info][gc] bad", "[1s][info][gc] with it")
	r.commits("safepoint.log", "[2s][info][gc] good")
	r.expects("safepoint.log 0 info [2s][info][gc] good")
	r.must(r.end())
	if n := testutil.ToFloat64(r.set.workers[0].metrics.rejectedLines); n != 2 {
		t.Errorf("%v lines are counted as rejected, want 2", n)
	}
	list, err := os.ReadFile(filepath.Join(r.dest, stateDir, "test.rejected.jsonl"))
	if err != nil || !strings.Contains(string(list), `"stream":"gc.log"`) || !strings.Contains(string(list), "no such field") {
		t.Errorf("the list is %q, error %v; want the stream gc.log and \"no such field\" in the list, and no error", list, err)
	}
}

func TestSegmentsArriveOnceTheyAreSealed(t *testing.T) {
	r := newRig(t, true)
	r.commits("gc.log", "[1s][info][gc] "+strings.Repeat("x", 5000))
	mark := r.store.Stream("gc.log").Mark()
	r.commits("gc.log", "[2s][info][gc] in the next segment")
	r.expects("gc.log " + mark.Segment)
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "has not received") {
		t.Errorf(`an unsealed segment is left, but the error is %v, want one with "has not received"`, err)
	}
}

func TestRetentionWaitsForASinkAndCountsWhatItDoesNotWaitFor(t *testing.T) {
	r := newRig(t, true)
	r.engine.fails = func(*Batch) error { return errors.New("away") }
	r.commits("gc.log", "[1s][info][gc] "+strings.Repeat("x", 5000))
	all, err := segment.List(filepath.Join(r.dest, "gc.log"))
	r.must(err)
	if !r.set.Needs(all[0]) {
		t.Error("the sink does not need a segment that it lacks, want it to need the segment")
	}
	r.set.Deleted(all[0])
	if n := testutil.ToFloat64(r.set.workers[0].metrics.skippedSegments); n != 1 {
		t.Errorf("%v segments are counted as skipped, want 1", n)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	kinds := map[string]Kind{"test": {Open: func(t Target) (Sink, error) { return &engine{}, t.Options.Done() }}}
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"unknown scheme":    {Config{URLs: address.URLs{"ftp://x"}}, "unknown scheme"},
		"a former scheme":   {Config{URLs: address.URLs{"opensearch+https://x/logs?name=search"}}, "sinks.md#opensearch-and-elasticsearch"},
		"one without TLS":   {Config{URLs: address.URLs{"opensearch://x/logs"}}, "OpenTelemetry Collector"},
		"a password":        {Config{URLs: address.URLs{"test://me:secret@x"}}, "must not hold a user or password"},
		"a bad name":        {Config{URLs: address.URLs{"test://x?name=../up"}}, "lower-case letters"},
		"a name twice":      {Config{URLs: address.URLs{"test://x", "test://y"}}, "its own name=NAME"},
		"an unknown option": {Config{URLs: address.URLs{"test://x?speed=9"}}, "unknown option speed"},
		"a negative age":    {Config{UploadAge: -1}, "--upload-age"},
		"too many":          {Config{URLs: address.URLs{"test://?name=a", "test://?name=b", "test://?name=c", "test://?name=d", "test://?name=e", "test://?name=f", "test://?name=g", "test://?name=h", "test://?name=i"}}, "at most 8"},
		"something else":    {Config{URLs: address.URLs{"test://x\x7f"}}, "not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := c.cfg.Validate(kinds)
			if len(bad) != 1 || !strings.Contains(bad[0].Error(), c.want) || strings.Contains(bad[0].Error(), "secret") {
				t.Errorf("errors %v, want one with %q", bad, c.want)
			}
		})
	}
}

// The writer creates the destination, perhaps after the sinks have begun. That is not an error.
func TestSinksWaitForTheDestination(t *testing.T) {
	for name, c := range map[string]struct {
		is   string // what has the name of the destination; empty: nothing
		want bool   // a message is logged
	}{"nothing": {"", false}, "a file": {"file", true}} {
		t.Run(name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "dest")
			if c.is != "" {
				if err := os.WriteFile(dest, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var log strings.Builder
			kinds := map[string]Kind{"test": {Open: func(t Target) (Sink, error) { return &engine{}, t.Options.Done() }}}
			set, err := New(Config{URLs: address.URLs{"test://there"}}, kinds, dest, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			_ = set.Run(over, over)
			if told := strings.Contains(log.String(), "directory of the cursors"); told != c.want {
				t.Errorf("the log is %q, want a message about the directory of the cursors: %v", log.String(), c.want)
			}
		})
	}
}
