package tail

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

// openAgain opens the source again, as the reader does if the directory was replaced.
func (r *rig) openAgain() {
	r.t.Helper()
	r.src.closeDir()
	if err := r.src.Open(); err != nil {
		r.t.Fatal(err)
	}
}

// replaceState replaces the state directory with a new one.
func (r *rig) replaceState() {
	r.t.Helper()
	if err := os.RemoveAll(r.path(statedir.Name)); err != nil {
		r.t.Fatal(err)
	}
	r.openAgain()
}

// killed starts again from a checkpoint, as after a kill.
func (r *rig) killed(saved map[position.Content]position.Saved, lost bool) {
	r.t.Helper()
	r.src.Close()
	r.open()
	r.src.Start.Restore(saved, lost)
	r.look()
}

// committed returns the positions in the checkpoint: the positions up to which everything
// is durable.
func (r *rig) committed() map[position.Content]position.Saved {
	saved := map[position.Content]position.Saved{}
	for of, f := range r.src.table.Files {
		saved[of] = position.Saved{Stream: f.Stream.Name, Position: f.Committed}
	}
	return saved
}

// The directory is moved away while the destination stalls: the files in it are
// still held.
func TestNothingIsMovedWithoutASpool(t *testing.T) {
	r := newRig(t)
	text := uls("old", "info", 2000)
	r.put("gc.log", text)
	r.look()
	r.src.closeDir()
	r.src.Relief.Weigh()
	r.src.Relief.Move(everything)
	r.src.Relief.Drop(ul.DropAll, everything)
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	r.read()
	r.want("gc.log", text)
}

// A directory that was moved away comes back with the spool in it. Updating older
// records must not change newer ones.
func TestSpoolThatComesBackIsGoneOnWith(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", uls("old", "warning", 60000))
	r.move()
	r.openAgain()
	other := uls("other", "warning", 20000)
	r.put("other.log", other)
	r.move()
	relief := everything
	relief.Want = 200 << 10
	r.src.Relief.Weigh()
	r.src.Relief.Drop(ul.DropAll, relief) // drops the lines of the oldest records and merges these records
	r.read()
	r.want("other.log", other)
	total, n := markers(r.text())
	if lines := strings.Count(r.text(), "\n") - n; total == 0 || lines+int(total) != 60000 {
		t.Errorf("%d lines were read, and the markers count %d; want 60000 in all, and some counted", lines, total)
	}
	r.accounted()
}

// The application replaces the state directory again and again.
func TestReplacedStateDirectoriesHoldNoDescriptors(t *testing.T) {
	for _, moving := range []bool{false, true} {
		r := newRig(t)
		w := r.writer("gc.log")
		fds := func() int {
			list, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		before, want := fds(), 0
		for range 40 {
			if moving {
				want += 2000
				r.write(w, uls("x", "info", 2000))
				r.move()
			}
			r.replaceState()
			r.src.Reclaimer.Reclaim()
		}
		if n := fds() - before; n > 20 {
			t.Errorf("moving %v: %d more descriptors are open, want at most 20", moving, n)
		}
		r.read()
		if got := strings.Count(r.text(), "\n"); got != want {
			t.Errorf("%d lines were read, want %d", got, want)
		}
	}
}

// A file with records waits for a descriptor while the state directory is
// replaced. The committed part of the file is not read again.
func TestPositionThatWaitsOutlivesItsDirectory(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, uls("head", "info", 10))
	r.read()
	r.commit()
	r.write(w, uls("tail", "info", 2000))
	r.move()
	saved := r.committed()
	r.src.Close()
	r.open()
	r.src.Capacity.maxHeld = 0
	r.src.Start.Restore(saved, false)
	r.look()
	r.replaceState()
	r.look()
	r.src.Capacity.maxHeld = source.MaxFiles
	r.read()
	if got, want := r.text(), uls("head", "info", 10)+uls("tail", "info", 2000); got != want {
		t.Errorf("read %d lines, want %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
}

// noDescriptors keeps the process from opening any file until end is called.
func noDescriptors(t *testing.T) (end func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Skip("needs to lower its limit of open files: ", err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}
}

// Moved blocks cannot be punched for a while, and the process is killed meanwhile. The next
// process must not mistake the file for a truncated one.
func TestBlocksThatCouldNotBePunchedAreReadOnce(t *testing.T) {
	r := newRig(t)
	text := uls("x", "info", 40000)
	r.put("gc.log", text)
	r.look()
	r.src.Relief.Weigh()
	end := noDescriptors(t)
	r.src.Relief.Move(everything)
	end()
	if n := len(r.src.table.Held[r.fileOf("gc.log")].Records.List); n > 1 {
		t.Errorf("%d blocks were moved, although no memory could be freed", n)
	}
	r.killed(r.committed(), false)
	r.read()
	r.want("gc.log", text)
}

func (r *rig) fileOf(name string) position.Identity {
	r.t.Helper()
	var st unix.Statx_t
	if err := statx(unix.AT_FDCWD, r.path(name), 0, &st); err != nil {
		r.t.Fatal(err)
	}
	return position.Identify(&st)
}

// Without a checkpoint, moved lines may already be persisted.
func TestNothingMovedIsDroppedBeforeTheSourceIsAligned(t *testing.T) {
	for _, gone := range []bool{false, true} {
		r := newRig(t)
		r.put("gc.log", uls("x", "info", 2000))
		r.move()
		if gone {
			os.Remove(r.path("gc.log"))
		}
		r.killed(nil, true)
		r.src.Relief.Weigh()
		r.src.Relief.Drop(ul.DropAll, everything)
		if n := countedDrops(r.src); n > 0 {
			t.Errorf("the file is gone: %v; %d lines were dropped, want 0", gone, n)
		}
		r.src.Start.Aligned()
		r.src.Relief.Weigh()
		r.src.Relief.Drop(ul.DropAll, everything)
		if n := countedDrops(r.src); n == 0 {
			t.Errorf("the file is gone: %v; nothing is dropped later, want some lines dropped", gone)
		}
	}
}

// Lines that were handed on from a truncated content cannot be handed on again. Nothing is
// left of that content.
func TestNothingIsLeftOfATruncatedFileAfterARewind(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	for range 10 {
		r.write(w, uls("x", "info", 10))
		r.read()
		r.truncate()
		r.read()
		r.src.Start.Rewind()
		clear(r.last)
		r.read()
	}
	if n := len(r.src.table.Files); n != 1 {
		t.Errorf("%d contents of the file are known, want 1", n)
	}
}

// The persisted copy ends in a file, and an earlier content of that file has left records.
// These records must be treated as persisted too.
func TestAlignTakesEarlierContentsForPersisted(t *testing.T) {
	r, w := moving(t, uls("old", "info", 2000))
	r.truncate()
	r.look()
	r.write(w, uls("new", "info", 2000))
	r.move()
	r.read()
	persisted := r.text()
	r.killed(nil, true)
	delete(r.got, "gc.log")
	r.src.Start.Rewind()
	if ok, err := r.src.Start.Align("gc.log", []byte(persisted[len(persisted)-500:])); !ok || err != nil {
		t.Fatalf("Align returned %v, %v; want true and no error", ok, err)
	}
	r.src.Start.Aligned()
	r.read()
	if got := r.text(); got != "" {
		t.Errorf("persisted again: %s, want nothing", abbreviate(got))
	}
}

// A part of a line is handed on, its rest is moved, and the file no longer exists at the
// next start.
func TestOpenLineGoesOnInTheRecordsOfAFileThatIsGone(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("y", 4*r.cfg.LineLimit) + "\n" + uls("x", "info", 1)
	r.put("gc.log", text)
	r.look()
	r.take()
	r.commit()
	r.move()
	saved := r.committed()
	os.Remove(r.path("gc.log"))
	moved := r.src.table.Held
	end := int64(0)
	for _, f := range moved {
		end = f.Records.Last().End.Offset
	}
	before := r.got
	r.killed(saved, false)
	r.got = before
	r.read()
	r.want("gc.log", text[:end])
}

// A hole ends a line in a moved block, just as it does in a file.
func TestMovedLineBehindAHoleIsALine(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	r.write(w, strings.Repeat("a", 8192))
	if err := os.Truncate(r.path("gc.log"), 64<<10); err != nil {
		t.Fatal(err)
	}
	r.write(w, uls("x", "info", 1000))
	r.move()
	r.read()
	lines := 0.
	for level := range ul.Level(ul.NumLevels) {
		lines += testutil.ToFloat64(r.src.env.metrics.readLines.WithLabelValues("gc.log", level.String()))
	}
	if got := strings.Count(r.text(), "\n"); got != 1001 || lines != 1001 {
		t.Errorf("%d lines were read and %v were counted, want 1001", got, lines)
	}
}

// A process that reads a file through a memory map turns its holes into pages of zeros.
func TestFileThatIsReadThroughAMapIsNoOther(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	text := uls("x", "info", 2000)
	r.write(w, text)
	r.read()
	r.commit()
	f, err := os.Open(r.path("gc.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, len(text), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(data)
	if data[0] != 0 {
		t.Skip("needs a file system that punches holes")
	}
	more := uls("more", "info", 10)
	r.write(w, more)
	r.read()
	r.want("gc.log", text+more)
}

// A file is moved to another directory while the sidecar is down. It comes back while its
// records are being handed on.
func TestFileThatComesBackIsThatOfItsRecords(t *testing.T) {
	text := uls("x", "info", 2000)
	r, w := moving(t, text)
	saved := maps.Clone(r.committed())
	away := filepath.Join(r.dir, statedir.Name, "away")
	if err := os.Rename(r.path("gc.log"), away); err != nil {
		t.Fatal(err)
	}
	r.killed(saved, false)
	if err := os.Rename(away, r.path("gc.log")); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Second)
	r.look()
	more := uls("more", "info", 10)
	r.write(w, more)
	r.read()
	r.src.Start.Rewind()
	delete(r.got, "gc.log")
	r.read()
	r.want("gc.log", text+more)
}

// The newer of two files is deleted while the sidecar is down. Its records must still come
// after the older file.
func TestRecordsOfAFileThatIsGoneKeepTheirPlace(t *testing.T) {
	r := newRig(t)
	w := r.writer("gc.log")
	older := uls("older", "info", 2000)
	r.write(w, older)
	r.rotate(w, "gc.log", "gc.log.0")
	r.put("gc.log", uls("newer", "info", 2000))
	r.move()
	saved := r.committed()
	os.Remove(r.path("gc.log"))
	r.killed(saved, false)
	r.read()
	if got := r.text(); !strings.HasPrefix(got, older) || !strings.Contains(got[len(older):], "newer line 1998 ") {
		t.Errorf(`the lines %s were read; want the older ones first, and "newer line 1998 " after them`, abbreviate(got))
	}
}

// The beginning of an endless line was moved and handed on. The rest is dropped. The line is
// then not whole, and a marker counts it.
func TestRestOfALineIsDroppedBehindItsMovedBeginning(t *testing.T) {
	r, w := moving(t, strings.Repeat("y", 3<<20))
	if !r.take() {
		t.Fatal("nothing was handed on")
	}
	r.src.Relief.Weigh()
	r.src.Relief.Drop(ul.DropAll, everything)
	r.write(w, "\nlast\n")
	r.read()
	if total, n := markers(r.text()); total != 1 || n != 1 {
		t.Errorf("%d markers count %d lines, want 1 marker that counts 1 line", n, total)
	}
	r.accounted()
	if !strings.HasSuffix(r.text(), "\nlast\n") {
		t.Errorf("handed on: %s, want \"\\nlast\\n\" at its end", abbreviate(r.text()))
	}
}
