package tail

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/source"
)

// finished reads and commits a log whose name will be removed next.
func (r *rig) finished(text string) *source.File {
	r.t.Helper()
	r.put("gc.log", text)
	r.read()
	for _, c := range r.last {
		r.src.Reclaimer.Committed(c)
	}
	clear(r.last)
	for _, f := range r.src.table.Files {
		if f.Entry.Name == "gc.log" {
			return f
		}
	}
	r.t.Fatal("got no held file gc.log, want one")
	return nil
}

func (r *rig) taken(name string) string { return filepath.Join(r.dir, statedir.Name, takenPrefix+name) }

// TestLogOfAStartingJVMKeepsItsName starts a JVM with filecount=1 at many different moments
// of the removal of a finished log. The JVM renames that log and opens its own.
func TestLogOfAStartingJVMKeepsItsName(t *testing.T) {
	r := newRig(t)
	for i := range 600 {
		f := r.finished("of the JVM before\n")
		var jvm *os.File
		var starting sync.WaitGroup
		begun := make(chan struct{})
		starting.Go(func() {
			close(begun)
			for since := time.Now(); time.Since(since) < time.Duration(i%40)*time.Microsecond/2; {
			}
			os.Rename(r.path("gc.log"), r.path("gc.log.0"))
			jvm = r.writer("gc.log")
		})
		<-begun
		r.src.unlink.unlink(f)
		starting.Wait()
		var st unix.Stat_t
		if err := unix.Fstat(int(jvm.Fd()), &st); err != nil || st.Nlink == 0 {
			t.Fatalf("start %d: the JVM writes to a file without a name, want one with a name; error: %v", i, err)
		}
		r.write(jvm, "line\n")
		jvm.Close()
		r.read()
		for range 3 {
			r.commit()
			r.read()
		}
		if names := r.names(); len(names) > 0 {
			t.Fatalf("start %d: the source still has files, want none: %v", i, names)
		}
	}
}

// TestFileThatTakesTheNameOfAFinishedOneKeepsIt starts the JVM just after the sidecar has
// checked the name.
func TestFileThatTakesTheNameOfAFinishedOneKeepsIt(t *testing.T) {
	r := newRig(t)
	f := r.finished("of the JVM before\n")
	if err := os.Rename(r.path("gc.log"), r.path("gc.log.0")); err != nil {
		t.Fatal(err)
	}
	jvm := r.writer("gc.log")
	r.src.unlink.remove(f)
	r.write(jvm, "line\n")
	r.restart()
	r.read()
	r.want("gc.log", "of the JVM before\nline\n")
}

func TestAnotherFileInThePlaceOfAFinishedOneGetsItsNameBack(t *testing.T) {
	for _, c := range []struct {
		name string
		next string // the text of the file that has taken the name in the source; empty: there is no such file
		back string
	}{
		{"under its name", "", "gc.log"},
		{"as an archive where its name is taken", "of a third JVM\n", "gc.log.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if err := os.WriteFile(r.taken("gc.log"), []byte("of a JVM\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if c.next != "" {
				r.put("gc.log", c.next)
			}
			r.src.unlink.putBack("gc.log")
			if got, err := os.ReadFile(r.path(c.back)); err != nil || string(got) != "of a JVM\n" {
				t.Errorf(`%s is %q, error %v; want "of a JVM\n" and no error`, c.back, got, err)
			}
			r.read()
			r.want("gc.log", "of a JVM\n"+c.next)
		})
	}
}

// TestKillWhileANameIsRemoved leaves the file in the state directory, as a kill between the
// two steps of a removal does.
func TestKillWhileANameIsRemoved(t *testing.T) {
	r := newRig(t)
	jvm := r.writer("gc.log")
	r.write(jvm, "one\n")
	r.read()
	r.commit()
	for _, name := range []string{"gc.log", "not matching", ".hidden.log"} {
		if name != "gc.log" {
			r.put(name, "")
		}
		if err := os.Rename(r.path(name), r.taken(name)); err != nil {
			t.Fatal(err)
		}
	}
	r.write(jvm, "two\n") // the JVM does not know of the rename
	r.restart()
	r.write(jvm, "three\n")
	r.read()
	r.want("gc.log", "one\ntwo\nthree\n")
	if names := r.names(); len(names) != 1 || names[0] != "gc.log" {
		t.Errorf(`the source has %v, want only "gc.log"`, names)
	}
}

// In TestWriterThatOpensAFinishedFileKeepsTheName, the log is opened for writing after the
// sidecar has checked that no process writes to it. A JVM with filecount=0 may do that. If
// the sidecar is then killed, the next one has no descriptor of the file and finds it by
// its name.
func TestWriterThatOpensAFinishedFileKeepsTheName(t *testing.T) {
	r := newRig(t)
	f := r.finished("one\n")
	jvm := r.writer("gc.log")
	r.src.unlink.unlink(f)
	r.write(jvm, "two\n")
	r.restart()
	r.read()
	r.want("gc.log", "one\ntwo\n")
}

// TestLeaseHoldsUpNoRotation checks what has to wait if a process is stopped while it has a
// lease on a finished log. Another process must wait to open that log for writing, but a
// rotation does not wait.
func TestLeaseHoldsUpNoRotation(t *testing.T) {
	r := newRig(t)
	f := r.finished("one\n")
	if _, err := unix.FcntlInt(uintptr(f.Inode.FD), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		t.Skip("no lease is granted: ", err)
	}
	defer unix.FcntlInt(uintptr(f.Inode.FD), unix.F_SETLEASE, unix.F_UNLCK)
	begun := time.Now()
	if err := os.Rename(r.path("gc.log"), r.path("gc.log.0")); err != nil {
		t.Fatal(err)
	}
	r.write(r.writer("gc.log"), "two\n")
	if took := time.Since(begun); took > 30*time.Second { // the kernel takes the lease away after 45 s
		t.Errorf("a rotation took %s, want at most 30 s", took)
	}
	if fd, err := unix.Open(r.path("gc.log.0"), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != unix.EWOULDBLOCK {
		unix.Close(fd)
		t.Errorf("opening the leased log for writing returned %v, want %v", err, unix.EWOULDBLOCK)
	}
}

// A file is truncated and deleted while one of its chunks is not committed yet. The commit
// of that chunk puts the file into the checkpoint again. The checkpoint must then forget
// it.
func TestFileThatGoesBeforeItsCommitIsLetGoOf(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "1\n")
	r.read()
	os.Truncate(r.path("gc.log"), 0)
	os.Remove(r.path("gc.log"))
	r.readTouched()
	r.src.Tick()
	for range 3 {
		r.read()
		r.src.Reclaimer.Reclaim()
	}
	if n := len(r.src.table.Held); n > 0 {
		t.Fatalf("%d files are held, want 0", n)
	}
	for f, c := range r.last {
		r.src.Reclaimer.Committed(c)
		if gone, _ := r.src.Reclaimer.Reclaim(); !slices.Contains(gone, f.Content()) {
			t.Errorf("forgotten: %v, want %v", gone, f.Content())
		}
	}
}
