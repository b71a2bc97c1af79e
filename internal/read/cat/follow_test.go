package cat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/test/lab"
)

// follower is `ullage logs -f` running in a test.
type follower struct {
	t              *testing.T
	stdout, stderr lab.Journal
	want           strings.Builder
}

func startFollower(t *testing.T, cfg Config, args ...string) *follower {
	f := &follower{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	cfg.Follow = true
	p := New(cfg, &f.stdout, &f.stderr)
	for _, err := range p.Find(args) {
		t.Error(err)
	}
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || p.Failed() {
			t.Errorf("error %v, failed: %v, stderr %q; want %v and failed: false", err, p.Failed(), f.stderr.String(), context.Canceled)
		}
		if got := f.stdout.String(); got != f.want.String() {
			t.Errorf("at the end:\n%q, want\n%q", got, f.want.String())
		}
	})
	return f
}

// expect waits until text is printed. It fails if the whole output is not exactly what was
// expected so far.
func (f *follower) expect(text string) {
	f.t.Helper()
	f.want.WriteString(text)
	for deadline := time.Now().Add(lab.Patience); len(f.stdout.String()) < f.want.Len(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			break
		}
	}
	if got, want := f.stdout.String(), f.want.String(); got != want {
		f.t.Fatalf("printed\n%q, want\n%q\nstderr %q", got, want, f.stderr.String())
	}
}

// shipped is a destination that a test writes to.
type shipped struct {
	t     *testing.T
	dir   string
	cfg   store.Config
	store *store.Store
}

func newShipped(t *testing.T, how segment.Compression) *shipped {
	d := &shipped{t: t, dir: t.TempDir(), cfg: store.DefaultConfig()}
	d.cfg.Compress = how
	d.open()
	t.Cleanup(func() { d.must(d.store.Close()) })
	return d
}

func (d *shipped) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *shipped) open() {
	var err error
	d.store, err = store.Open(d.dir, d.cfg, nil, nil)
	d.must(err)
}

// restart acts as a new sidecar: it truncates the stream to the mark.
func (d *shipped) restart(name string, m segment.Mark) *store.Stream {
	d.must(d.store.Close())
	d.open()
	s := d.store.Stream(name)
	d.must(s.Resume(m, 1<<30))
	return s
}

func (d *shipped) append(s *store.Stream, frames ...string) {
	d.t.Helper()
	for _, raw := range frames {
		d.must(s.Append([]byte(raw)))
	}
}

func (d *shipped) sync(s *store.Stream) segment.Mark {
	d.t.Helper()
	m, err := s.Sync()
	d.must(err)
	return m
}

// eachFollow runs a test for every compression in three ways: without a filter, with a filter, and with polling instead
// of kernel events.
func eachFollow(t *testing.T, run func(t *testing.T, d *shipped, cfg Config)) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		for name, cfg := range map[string]Config{"": {}, " filtered": {Level: ul.Info, Since: time.Unix(946684800, 0)}, " polled": {unwatched: true}} {
			t.Run(how.String()+name, func(t *testing.T) {
				t.Parallel()
				run(t, newShipped(t, how), cfg)
			})
		}
	}
}

// A follower prints a line as soon as it is appended, not at the next poll. That is true of a new stream, too.
func TestFollowPrintsAtOnceWhatIsAppended(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	d := newShipped(t, segment.Zstd)
	s := d.restart("gc.log", segment.Mark{})
	d.append(s, "1\n")
	f := startFollower(t, Config{poll: time.Hour}, d.dir)
	f.expect("1\n")
	d.append(s, "2\n")
	f.expect("2\n")
	d.append(d.restart("new.log", segment.Mark{}), "3\n")
	f.expect("new.log: 3\n")
}

// Two arguments may name one directory, which the kernel watches only once. The follower must not look for changes
// again and again for that reason.
func TestFollowRestsIfTwoPathsNameOneDirectory(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	n := newNotice(time.Hour, true)
	defer n.close()
	dirs := []string{dir, link}
	slices.Sort(dirs)
	for range 3 {
		n.watch(dirs)
	}
	if watched := n.watcher.WatchList(); len(watched) != 1 {
		t.Fatalf("watched are %q, want one of %q", watched, dirs)
	}
	<-n.changed // the first watch
	n.watch(dirs)
	select {
	case <-n.changed:
		t.Error("a change is reported, want none")
	default:
	}
}

// When the sidecar restarts, it cuts off uncommitted data and writes it again, in other
// frames. A reader that follows must see each line once.
func TestFollowAcrossARestartPrintsEachLineOnce(t *testing.T) {
	eachFollow(t, func(t *testing.T, d *shipped, cfg Config) {
		s := d.restart("gc.log", segment.Mark{})
		d.append(s, "1\n")
		mark := d.sync(s)
		f := startFollower(t, cfg, d.dir)
		f.expect("1\n")
		d.append(s, "2\n", "3\n")
		f.expect("2\n3\n")
		// The reader sees the cut while the segment is still shorter.
		s = d.restart("gc.log", mark)
		d.append(s, "2\n3\n4\n")
		f.expect("4\n")
		// By the time the reader looks, the cut segment is longer than before: only its bytes reveal the
		// cut.
		s = d.restart("gc.log", mark)
		d.append(s, "2\n3\n", "4\n5\n", "6\n", "7\n"+strings.Repeat("long ", 100)+"\n")
		f.expect("5\n6\n7\n" + strings.Repeat("long ", 100) + "\n")
		// Everything is cut, as if nothing had been committed.
		s = d.restart("gc.log", segment.Mark{})
		d.append(s, "1\n2\n", "3\n4\n5\n6\n7\n"+strings.Repeat("long ", 100)+"\n8\n")
		f.expect("8\n")
	})
}

func TestFollowIntoNewSegmentsAndStreams(t *testing.T) {
	eachFollow(t, func(t *testing.T, d *shipped, cfg Config) {
		cfg.Stream = "*.log"
		f := startFollower(t, cfg, d.dir)
		s := d.restart("gc.log", segment.Mark{})
		d.append(s, "1\n")
		mark := d.sync(s)
		f.expect("1\n")
		mark.Sealed = true
		for _, step := range []string{"2\n", "3\n", "4\n"} {
			// A new segment is deleted with all its content.
			s = d.restart("gc.log", mark)
			d.append(s, step)
			f.expect(step)
			s = d.restart("gc.log", mark)
			d.append(s, step+"and ", "more\n")
			f.expect("and more\n")
			mark = d.sync(s)
			mark.Sealed = true
		}
		// The new segment is deleted, and the segment before it grows instead.
		s = d.restart("gc.log", mark)
		d.append(s, "5\n")
		f.expect("5\n")
		d.must(os.Remove(newestSegment(t, d.dir, "gc.log")))
		grow(t, d, newestSegment(t, d.dir, "gc.log"), "5\n6\n")
		f.expect("6\n")
		// Streams that do not match are not printed.
		d.append(d.restart("other", segment.Mark{}), "no match\n")
		d.append(d.restart("app.log", segment.Mark{}), "match\n")
		f.expect("app.log: match\n")
	})
}

// Retention deletes old segments while they are read. It also deletes streams that have
// ended.
func TestFollowPastRetention(t *testing.T) {
	eachFollow(t, func(t *testing.T, d *shipped, cfg Config) {
		s := d.restart("gc.log", segment.Mark{})
		d.append(s, "1\n")
		mark := d.sync(s)
		f := startFollower(t, cfg, d.dir)
		f.expect("1\n")
		old := newestSegment(t, d.dir, "gc.log")
		mark.Sealed = true
		s = d.restart("gc.log", mark)
		d.append(s, "2\n")
		d.must(os.Remove(old))
		f.expect("2\n")
		// The stream ends and is deleted as a whole. Later it reappears with the same
		// numbers and the same beginning.
		d.must(os.RemoveAll(filepath.Join(d.dir, "gc.log")))
		d.append(d.restart("gc.log", segment.Mark{}), "1\n")
		f.expect("1\n")
	})
}

func newestSegment(t *testing.T, dest, stream string) string {
	t.Helper()
	segs, err := segment.List(filepath.Join(dest, stream))
	if err != nil || len(segs) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	return segs[len(segs)-1].Path
}

// grow adds a frame to a segment.
func grow(t *testing.T, d *shipped, path, raw string) {
	t.Helper()
	other := newShipped(t, d.cfg.Compress)
	other.append(other.restart("s", segment.Mark{}), raw)
	frame, err := os.ReadFile(newestSegment(t, other.dir, "s"))
	d.must(err)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	d.must(err)
	_, err = file.Write(frame)
	d.must(err)
	d.must(file.Close())
}

// The memory for a line must be bounded, however long the line is and whether or not it passes the filter.
func TestAnEndlessLineIsBounded(t *testing.T) {
	d := newShipped(t, segment.Zstd)
	s := d.restart("gc.log", segment.Mark{})
	d.append(s, "[0.001s][error][gc] ")
	piece := strings.Repeat("x", segment.FrameBytes)
	for range 64 {
		d.append(s, piece)
	}
	d.append(s, "\n[0.002s][info][gc] end\n")
	for level, want := range map[ul.Level]int{ul.Warning: 64<<20 + 21, ul.Info: 64<<20 + 44} {
		var n countingWriter
		p := New(Config{Level: level}, &n, os.Stderr)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		errs := append(p.Find([]string{d.dir}), p.Run(context.Background()))
		runtime.ReadMemStats(&after)
		if err := errors.Join(errs...); err != nil || p.Failed() || int(n) != want {
			t.Errorf("%s: %v, %d bytes, want %d", level, err, n, want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: %d bytes allocated, want at most 16 MiB", level, got)
		}
	}
}

type countingWriter int

func (n *countingWriter) Write(p []byte) (int, error) {
	*n += countingWriter(len(p))
	return len(p), nil
}

// A follower first prints the last lines, then everything that is appended, as in `tail -n 2 -f`.
func TestFollowFromTheTail(t *testing.T) {
	eachFollow(t, func(t *testing.T, d *shipped, cfg Config) {
		s := d.restart("gc.log", segment.Mark{})
		d.append(s, "1\n2\n", "3\n")
		mark := d.sync(s)
		mark.Sealed = true
		s = d.restart("gc.log", mark)
		d.append(s, "4\n")
		cfg.Tail = 2
		f := startFollower(t, cfg, d.dir)
		f.expect("3\n4\n")
		d.append(s, "5\n", "6\n", "7\n")
		f.expect("5\n6\n7\n")
	})
}
