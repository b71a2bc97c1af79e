package tail

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// These tests handle only the events that they create.

func TestPollFollowsAFileThatFlowsAndItsRotation(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.write(f, "two\n")
	r.src.Watcher.Poll()
	r.readTouched()
	r.want("gc.log", "one\ntwo\n")
	r.write(f, "three\n")
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.write(f, "four\n")
	r.src.Watcher.Poll()
	r.readTouched()
	r.want("gc.log", "one\ntwo\nthree\nfour\n")
}

func TestPollLeavesAFileAloneThatHadNothing(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.src.Watcher.Poll()
	r.readTouched() // reads nothing: no more lines arrive
	r.now = r.now.Add(time.Hour)
	r.src.Watcher.Poll()
	r.write(f, "two\n")
	r.src.Watcher.Poll()
	r.readTouched()
	r.want("gc.log", "one\n")
}

// setAge sets the clock to the time d after the last change of the directory.
func setAge(r *rig, d time.Duration) {
	r.t.Helper()
	changed, err := r.src.dir.changed()
	if err != nil {
		r.t.Fatal(err)
	}
	r.now = changed.Add(d)
}

func TestPollScansForAChangeOfTheDirectoryOnceItsTimeIsOver(t *testing.T) {
	r := newRig(t)
	r.put("a.log", "x\n")
	for _, step := range []struct {
		name string
		age  time.Duration // of the last change, at the scan before the poll
		due  bool
	}{
		{"another change may have the same time", time.Millisecond, true},
		{"nothing has changed", mtimeStep, false},
		{"nothing has changed, and the clock was set back", -time.Hour, false},
	} {
		setAge(r, step.age)
		r.src.listing.after = r.now
		r.src.listing.expire()
		r.readTouched()
		if r.src.Watcher.Poll(); r.src.Scanner.Stale() != step.due {
			t.Errorf("%s: a scan is due: %v, want %v", step.name, !step.due, step.due)
		}
	}
	r.put("b.log", "y\n")
	if r.src.Watcher.Poll(); !r.src.Scanner.Stale() {
		t.Error("no scan is due, although the directory has another file")
	}
}

// After a burst of new names, the kernel has queued thousands of events. The watcher passes
// them on one by one, for minutes.
func TestEventsOfWhatAScanHasSeenMakeNoScanDue(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "x\n")
	r.put("gone.log", "y\n")
	setAge(r, time.Second)
	r.src.listing.expire()
	r.readTouched()
	for _, name := range []string{"gc.log", "gone.log", "never.log", "other.txt"} {
		for _, op := range []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Rename, fsnotify.Remove, fsnotify.Chmod} {
			if r.src.Watcher.Handle(fsnotify.Event{Name: r.path(name), Op: op}); r.src.Scanner.Stale() {
				t.Fatalf("an old event %s of %s makes a scan due", op, name)
			}
		}
	}
	if err := os.Rename(r.path("gone.log"), r.path("gone.log.0")); err != nil {
		t.Fatal(err)
	}
	if r.src.Watcher.Handle(fsnotify.Event{Name: r.path("gone.log"), Op: fsnotify.Rename}); !r.src.Scanner.Stale() {
		t.Error("the event of a new name does not make a scan due")
	}
}

// The kubelet writes annotations into a new directory and swaps a link to it.
func TestAChangeInAnotherWatchedDirectoryIsReportedAndScansNothing(t *testing.T) {
	other, calls := t.TempDir(), 0
	r := connected(t, Outlets{Watched: func() { calls++ }}, func(c *Config) { c.Watched = other })
	r.read()
	for _, data := range []string{"..1", "..2"} {
		for _, err := range []error{
			os.Mkdir(filepath.Join(other, data), 0o755),
			os.Symlink(data, filepath.Join(other, "..data_tmp")),
			os.Rename(filepath.Join(other, "..data_tmp"), filepath.Join(other, "..data")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		events, _ := r.src.Watcher.Events()
		handled := 0
		for name := ""; name != "..data"; handled++ {
			ev := <-events
			r.src.Watcher.Handle(ev)
			name = filepath.Base(ev.Name)
		}
		if calls < handled {
			t.Errorf("%d of %d events were reported, want all", calls, handled)
		}
		calls = 0
	}
	if r.src.Scanner.Stale() {
		t.Error("a scan of the source is due, want none")
	}
}

// nextEvent returns the name of the next event. It first creates an entry in the other watched directory, so
// that there is at least one event.
func nextEvent(r *rig) string {
	r.t.Helper()
	fence, err := os.MkdirTemp(r.cfg.Watched, "fence")
	if err != nil {
		r.t.Fatal(err)
	}
	events, _ := r.src.Watcher.Events()
	name := (<-events).Name
	for ev := name; ev != fence; { // the events of earlier writes come before that of the fence
		ev = (<-events).Name
	}
	return name
}

func TestWritesMakeNoEventsWhileTheWatchIsSuspended(t *testing.T) {
	other := t.TempDir()
	r := newRig(t, func(c *Config) { c.Watched = other })
	busy, idle := r.writer("busy.log"), r.writer("idle.log")
	for _, step := range []struct {
		name   string
		change func()
		event  bool
	}{
		{"watched", func() {}, true},
		{"suspended", r.src.Watcher.Suspend, false},
		{"suspended twice", r.src.Watcher.Suspend, false},
		{"resumed", r.src.Watcher.Resume, true},
		{"resumed twice", r.src.Watcher.Resume, true},
	} {
		step.change()
		r.write(busy, "one\n")
		r.write(idle, "two\n")
		if got := filepath.Dir(nextEvent(r)) == r.dir; got != step.event {
			t.Errorf("%s: a write makes an event: %v, want %v", step.name, got, step.event)
		}
	}
}

func TestPollFindsEverythingWhileTheWatchIsSuspended(t *testing.T) {
	r := newRig(t)
	busy, idle := r.writer("busy.log"), r.writer("idle.log")
	r.write(busy, "1\n")
	r.read()
	r.write(idle, "lost with its event\n")
	r.src.Watcher.Suspend()
	polled := func() {
		t.Helper()
		r.src.Watcher.Poll()
		r.readTouched()
	}
	polled()
	r.want("idle.log", "lost with its event\n")
	polled() // nothing flows now
	r.write(busy, "2\n")
	busy = r.rotate(busy, "busy.log", "busy.log.0")
	r.write(busy, "3\n")
	r.put("new.log", "4\n")
	polled()
	r.want("busy.log", "1\n2\n3\n")
	r.want("new.log", "4\n")
}

// The pause after a measurement depends on the number of files, not on the time that the measurement took: on a busy
// machine, the measurement may have waited for a processor.
func TestMeasuringFilesLeavesTimeForOtherWork(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.read()
	r.src.Watcher.Suspend()
	r.src.Watcher.measurable = r.now.Add(time.Second)
	r.write(f, "one\n")
	for _, want := range []string{"", "one\n"} {
		r.src.Watcher.Poll()
		r.readTouched()
		r.want("gc.log", want)
		r.now = r.now.Add(time.Second)
	}
	for _, name := range []string{"a.log", "b.log"} {
		r.put(name, "x\n")
	}
	r.read()
	still := r.src.env.now
	r.src.env.now = func() time.Time { r.now = r.now.Add(time.Second); return r.now }
	r.src.Watcher.Poll()
	r.src.env.now = still
	if rest := r.src.Watcher.measurable.Sub(r.now); rest > 3*measureRest {
		t.Errorf("a measurement of 3 files, during which a second passed, is followed by a pause of %s, want at most %s", rest, 3*measureRest)
	}
}

// A write to a file that was set aside is noticed only by its event.
func TestTheWatchStaysWhileFilesAreSetAside(t *testing.T) {
	other := t.TempDir()
	r := newRig(t, func(c *Config) { c.Watched = other })
	r.read()
	r.src.Watcher.Suspend()
	of := position.Identity{Ino: 1}
	r.src.table.Absent.SetAside(of, source.Known{}, &unix.Statx_t{})
	r.src.Tick()
	if r.src.Watcher.Suspended() {
		t.Error("the watch is suspended after a tick, want it resumed")
	}
	if r.src.Watcher.Suspend(); r.src.Watcher.Suspended() {
		t.Error("the watch is suspended again, want it to stay")
	}
	r.src.table.Absent.Remove(of)
	if r.src.Watcher.Suspend(); !r.src.Watcher.Suspended() {
		t.Error("the watch is not suspended after the last file came back, want it suspended")
	}
}

func TestWhatIsWrittenBeforeTheWatchResumesIsRead(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.read()
	r.src.Watcher.Suspend()
	r.write(f, "one\n")
	r.put("new.log", "two\n")
	r.src.Watcher.Resume()
	r.readTouched()
	r.want("gc.log", "one\n")
	r.want("new.log", "two\n")
}

func TestAWatchOfADirectoryThatIsGoneStaysSuspended(t *testing.T) {
	r := newRig(t)
	r.read()
	r.src.Watcher.Suspend()
	moved := r.dir + ".moved"
	if err := os.Rename(r.dir, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(moved) })
	r.src.Watcher.Resume()
	if !r.src.Watcher.Suspended() {
		t.Error("the watch of a missing directory is on, want it suspended")
	}
	if next := r.src.Watcher.resumable.Sub(r.now); next != resumeRest {
		t.Errorf("the kernel is asked again after %s, want %s", next, resumeRest)
	}
	if !r.src.CloseGone() || r.src.Watcher.Suspended() {
		t.Error("the missing directory is still open, or its watch is still suspended; want neither")
	}
}
