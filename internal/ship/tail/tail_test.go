package tail

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a source directory, on a tmpfs if there is one, with the text that was read from
// it.
type rig struct {
	t    testing.TB
	dir  string
	cfg  Config
	to   Outlets
	src  *Source
	now  time.Time
	last map[File]Chunk
	got  map[string]*strings.Builder
	area []byte
}

func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	return connected(t, Outlets{}, change...)
}

// connected returns a rig whose source reports to outlets.
func connected(t testing.TB, to Outlets, change ...func(*Config)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ullage-tail-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg := DefaultConfig()
	cfg.Source = dir
	cfg.LineLimit = 64 << 10
	for _, f := range change {
		f(&cfg)
	}
	r := &rig{t: t, dir: dir, cfg: cfg, to: to, got: map[string]*strings.Builder{}, area: make([]byte, max(AreaBytes, cfg.LineLimit+AreaSlack))}
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	r.now = time.Now()
	r.last = map[File]Chunk{}
	r.src = New(r.cfg, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	r.src.Connect(r.to)
	// The clock does not move during a scan, so that another scan may follow at once.
	r.src.env.now = func() time.Time { return r.now }
	if err := r.src.Open(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.src.Close)
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// writer opens a file as HotSpot does.
func (r *rig) writer(name string) *os.File {
	r.t.Helper()
	f, err := os.OpenFile(r.path(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { f.Close() })
	return f
}

func (r *rig) write(f *os.File, text string) {
	r.t.Helper()
	if _, err := f.WriteString(text); err != nil {
		r.t.Fatal(err)
	}
}

// put writes a whole file and closes it, so that no process has it open.
func (r *rig) put(name, text string) {
	r.t.Helper()
	f := r.writer(name)
	r.write(f, text)
	f.Close()
}

// rotate rotates a log as HotSpot does: close, rename to the archive, open again.
func (r *rig) rotate(f *os.File, name, archive string) *os.File {
	r.t.Helper()
	f.Close()
	os.Remove(r.path(archive))
	if err := os.Rename(r.path(name), r.path(archive)); err != nil {
		r.t.Fatal(err)
	}
	return r.writer(name)
}

// read scans the directory and reads everything.
func (r *rig) read() {
	r.t.Helper()
	r.src.Watcher.LookAgain()
	r.readTouched()
}

// readTouched scans if a scan is due and reads the files that are known to have grown.
func (r *rig) readTouched() {
	r.t.Helper()
	if _, err := r.src.Scanner.Scan(); err != nil {
		r.t.Fatal(err)
	}
	for r.take() {
	}
}

// take reads one chunk, if there is one.
func (r *rig) take() bool {
	n, c, ok := r.src.Reader.Next(r.area)
	if !ok {
		return false
	}
	name := c.File.Stream()
	if r.got[name] == nil {
		r.got[name] = &strings.Builder{}
	}
	r.got[name].Write(r.area[:n])
	r.last[c.File] = c
	return true
}

// commit commits and reclaims everything that was read, as the next tick does.
func (r *rig) commit() {
	for _, c := range r.last {
		r.src.Reclaimer.Committed(c)
	}
	clear(r.last)
	r.now = r.now.Add(time.Second)
	r.src.Tick()
	r.src.Reclaimer.Reclaim()
}

func (r *rig) want(stream, text string) {
	r.t.Helper()
	var got string
	if b := r.got[stream]; b != nil {
		got = b.String()
	}
	if got != text {
		r.t.Fatalf("stream %s: read %s, want %s", stream, abbreviate(got), abbreviate(text))
	}
}

func abbreviate(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%q…%q (%d bytes)", s[:100], s[len(s)-100:], len(s))
	}
	return fmt.Sprintf("%q", s)
}

func (r *rig) names() []string {
	entries, _ := os.ReadDir(r.dir)
	var names []string
	for _, e := range entries {
		if e.Name() != statedir.Name {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestHalfALineIsNotConsumed(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\ntw")
	r.read()
	r.want("gc.log", "one\n")
	r.write(f, "o\n")
	r.read()
	r.want("gc.log", "one\ntwo\n")
}

func TestRotatedFilesAreOneStreamInOrder(t *testing.T) {
	for _, archives := range [][]string{{"gc.log.0"}, {"gc.log.0", "gc.log.1", "gc.log.2"}, {"gc.log.00", "gc.log.01"}} {
		t.Run(strings.Join(archives, ","), func(t *testing.T) {
			r := newRig(t)
			f := r.writer("gc.log")
			var want strings.Builder
			for i := range 20 {
				line := fmt.Sprintf("line %d\n", i)
				r.write(f, line)
				want.WriteString(line)
				if i%3 == 0 {
					r.read()
				}
				f = r.rotate(f, "gc.log", archives[i%len(archives)])
				// The scan holds the file before the file becomes an archive and is
				// overwritten.
				r.src.listing.stale = true
				r.src.Scanner.Scan()
			}
			r.read()
			r.want("gc.log", want.String())
		})
	}
}

func TestFilesFromBeforeTheStartAreReadOldestFirst(t *testing.T) {
	r := newRig(t)
	for i, name := range []string{"gc.log.3", "gc.log.4", "gc.log.0", "gc.log.1", "gc.log"} {
		r.put(name, fmt.Sprintf("line %d\n", i))
	}
	r.read()
	r.want("gc.log", "line 0\nline 1\nline 2\nline 3\nline 4\n")
}

func TestArchiveThatIsOverwrittenBeforeItWasReadIsNotLost(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.read()
	r.write(f, "first\n")
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.src.listing.stale = true
	r.src.Scanner.Scan()
	r.write(f, "second\n")
	f = r.rotate(f, "gc.log", "gc.log.0") // the first archive is no longer in the directory
	r.write(f, "third\n")
	r.read()
	r.want("gc.log", "first\nsecond\nthird\n")
}

func TestTruncationInPlaceStartsOver(t *testing.T) {
	for _, c := range []struct{ name, after string }{
		{"shorter", "new\n"},
		{"as long", "NEW line 1\nNEW line 2\n"},
		{"longer", strings.Repeat("NEW line\n", 100)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			f := r.writer("gc.log")
			r.write(f, "old line 1\nold line 2\n")
			r.read()
			r.commit()
			if err := f.Truncate(0); err != nil {
				t.Fatal(err)
			}
			r.write(f, c.after)
			r.read()
			r.want("gc.log", "old line 1\nold line 2\n"+c.after)
		})
	}
}

func TestFileReplacedByAnotherInodeOfTheSameName(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "old\n")
	r.read()
	r.put("new", "new\n")
	r.write(f, "last of the old\n")
	if err := os.Rename(r.path("new"), r.path("gc.log")); err != nil {
		t.Fatal(err)
	}
	r.read()
	r.want("gc.log", "old\nlast of the old\nnew\n")
}

func TestUnterminatedRestIsHandedOnWhenTheWriterIsGone(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\ntorn")
	r.read()
	for range 3 {
		r.commit()
		r.read()
	}
	r.want("gc.log", "one\n") // the writer still has the file open
	f.Close()
	r.read()
	r.commit()
	r.read()
	r.want("gc.log", "one\ntorn\n")
	r.commit()
	r.commit()
	if names := r.names(); len(names) != 0 {
		t.Errorf("these files should be gone: %v", names)
	}
}

func TestRestOfARotatedFileComesBeforeTheNextFile(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\ntorn")
	r.read()
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.write(f, "two\n")
	r.read()
	r.want("gc.log", "one\ntorn\ntwo\n")
}

func TestFinishedFileIsUnlinkedAndAWrittenOneIsNot(t *testing.T) {
	r := newRig(t)
	f := r.writer("alive.log")
	r.write(f, "a\n")
	r.put("dead.log", "d\n")
	r.put("empty.log", "")
	r.read()
	for range 3 {
		r.commit()
	}
	if names := r.names(); len(names) != 1 || names[0] != "alive.log" {
		t.Fatalf(`the source has the files %v, want only "alive.log"`, names)
	}
	if len(r.src.table.Files) != 1 {
		t.Fatalf("%d files are held, want 1", len(r.src.table.Files))
	}
}

func TestUncommittedFileIsNotUnlinked(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "a\n")
	r.read()
	clear(r.last) // nothing will be committed
	for range 5 {
		r.commit()
	}
	if names := r.names(); len(names) != 1 {
		t.Fatalf("the source has the files %v, want 1", names)
	}
}

func TestWriterThatOpensAFileAsItIsUnlinkedLosesNothing(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "a\n")
	r.read()
	for range 5 { // until the file has lost its name and only the descriptor is left
		r.commit()
		if len(r.names()) == 0 {
			break
		}
	}
	var held *source.File
	for _, f := range r.src.table.Files {
		held = f
	}
	if held == nil {
		t.Fatal("the file was closed when it lost its name, want it held")
	}
	w, err := os.OpenFile(kernel.NameOf(held.Inode.FD), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.commit()
	r.write(w, "late\n")
	w.Close()
	r.read()
	r.want("gc.log", "a\nlate\n")
}

func TestReclaimPunchesWhatIsCommittedAndNotMore(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	line := strings.Repeat("x", 99) + "\n"
	r.write(f, strings.Repeat(line, 1000))
	r.read()
	if used := blocks(t, r.path("gc.log")); used < 100000 {
		t.Fatalf("the log takes %d bytes before the commit, want at least 100000", used)
	}
	r.commit()
	if used := blocks(t, r.path("gc.log")); used > 2*position.PageSize {
		t.Errorf("the log takes %d bytes after the commit, want at most %d", used, 2*position.PageSize)
	}
	r.write(f, "behind the hole\n")
	r.read()
	r.want("gc.log", strings.Repeat(line, 1000)+"behind the hole\n")
}

func TestReclaimNoneLeavesEverything(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Reclaim = ReclaimNone })
	r.put("gc.log", strings.Repeat("x\n", 10000))
	r.read()
	for range 4 {
		r.commit()
	}
	if used := blocks(t, r.path("gc.log")); used < 20000 {
		t.Errorf("the log takes %d bytes, want at least 20000", used)
	}
	r.want("gc.log", strings.Repeat("x\n", 10000))
}

func TestReclaimUnlinkPunchesNoHoles(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Reclaim = ReclaimUnlink })
	f := r.writer("gc.log")
	r.write(f, strings.Repeat("x\n", 10000))
	r.read()
	r.commit()
	if used := blocks(t, r.path("gc.log")); used < 20000 {
		t.Errorf("the log takes %d bytes, want at least 20000", used)
	}
	r.rotate(f, "gc.log", "gc.log.0")
	r.read()
	r.commit()
	if names := r.names(); len(names) != 1 || names[0] != "gc.log" {
		t.Errorf(`the source has the files %v, want only "gc.log"`, names)
	}
}

func TestTruncatedFileIsNotPunched(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, strings.Repeat("old line\n", 2000))
	r.read()
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	fresh := strings.Repeat("a new line of another length\n", 3000)
	r.write(f, fresh)
	r.commit() // commits the old content
	r.read()
	r.want("gc.log", strings.Repeat("old line\n", 2000)+fresh)
}

func blocks(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

func TestRewindHandsOnAgainWhatWasNotCommitted(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.commit()
	r.write(f, "two\n")
	r.read()
	r.src.Start.Rewind()
	r.read()
	r.want("gc.log", "one\ntwo\ntwo\n")
}

func TestLineOverTheLimitIsHandedOnInPieces(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("y", 5*r.cfg.LineLimit+17)
	f := r.writer("gc.log")
	r.write(f, "before\n"+long+"\nafter\n")
	r.read()
	r.want("gc.log", "before\n"+long+"\nafter\n")
	r.write(f, long)
	r.read()
	f.Close()
	r.commit()
	r.read()
	r.commit()
	r.read()
	r.want("gc.log", "before\n"+long+"\nafter\n"+long+"\n")
}

func TestThousandFiles(t *testing.T) {
	r := newRig(t)
	for i := range 1000 {
		r.put(fmt.Sprintf("jvm-%d.log", i), fmt.Sprintf("line of %d\n", i))
	}
	r.read()
	for i := range 1000 {
		r.want(fmt.Sprintf("jvm-%d.log", i), fmt.Sprintf("line of %d\n", i))
	}
	r.commit()
	r.commit()
	r.commit()
	if names := r.names(); len(names) != 0 {
		t.Errorf("%d files are left, want none", len(names))
	}
}

func TestStreamsTakeTurns(t *testing.T) {
	r := newRig(t)
	a, b := r.writer("a.log"), r.writer("b.log")
	r.write(a, strings.Repeat(strings.Repeat("a", 99)+"\n", 20000))
	r.write(b, "b\n")
	r.src.Watcher.LookAgain()
	r.src.Scanner.Scan()
	for range 2 {
		n, c, _ := r.src.Reader.Next(r.area)
		if c.File.Stream() == "b.log" && n == 2 {
			return
		}
	}
	t.Fatal("the busy stream had two turns before the other had one")
}

func TestArchivesThatWereOverwrittenUnseenAreCounted(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers []int // of the archives, in the order of rotation
		seen    string
		want    float64
	}{
		{"all were seen", []int{0, 1, 2, 0, 1, 2}, "111111", 0},
		{"two rotations between two looks", []int{0, 1, 2, 0, 1, 2}, "010101", 0},
		{"five rotations of three archives between two looks", []int{0, 1, 2, 0, 1, 2, 0}, "1100001", 1},
		{"a JVM that started over", []int{0, 1, 2, 3, 0, 1}, "111111", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			f := r.writer("gc.log")
			r.read()
			for i, n := range c.numbers {
				r.write(f, fmt.Sprintf("line %d\n", i))
				f = r.rotate(f, "gc.log", fmt.Sprintf("gc.log.%d", n))
				if c.seen[i] == '1' {
					r.read()
				}
			}
			if got := testutil.ToFloat64(r.src.env.metrics.missedFiles); got != c.want {
				t.Errorf("%v archives were counted as missed, want %v", got, c.want)
			}
		})
	}
}

func TestLostEventsAreMadeUpFor(t *testing.T) {
	for _, c := range []struct {
		name string
		note func(s *Source)
	}{
		{"an overflow of the event queue", func(s *Source) { s.Watcher.HandleError(fsnotify.ErrEventOverflow) }},
		{"the slow poll", func(s *Source) { s.Tick() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			f := r.writer("gc.log")
			r.write(f, "one\n")
			r.read()
			// The events of the following writes are not handled.
			r.write(f, "two\n")
			f = r.rotate(f, "gc.log", "gc.log.0")
			r.write(f, "three\n")
			r.readTouched()
			r.want("gc.log", "one\n")
			c.note(r.src)
			r.readTouched()
			r.want("gc.log", "one\ntwo\nthree\n")
		})
	}
}

func TestEventsMarkWhatHasToBeRead(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.read()
	r.write(f, "one\n")
	r.src.Watcher.Handle(fsnotify.Event{Name: r.path("gc.log"), Op: fsnotify.Write})
	r.readTouched()
	r.want("gc.log", "one\n")
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.write(f, "two\n")
	r.src.Watcher.Handle(fsnotify.Event{Name: r.path("gc.log"), Op: fsnotify.Create})
	r.readTouched()
	r.want("gc.log", "one\ntwo\n")
}
