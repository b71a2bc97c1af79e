package fault

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// Without --retain-bytes, the sidecar deletes no segment, so that every line is there in the end.
func TestDestinationIsFullUntilSpaceReturns(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--retain-bytes", "0")
	ballast := v.fill()
	r.turnsRed("full", "no space left on device")
	r.writes(perSecond)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	r.turnsGreen()
	r.persists(1000)
	r.balances()
}

func TestDestinationIsFullAtTheStart(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--retain-bytes", "0")
	r.side.Kill()
	ballast := v.fill()
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	r.turnsRed("full", "no space left on device")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	r.turnsGreen()
	r.balances()
}

// A failed fsync loses its pages, and the next fsync succeeds: only the content of the device after a new mount
// proves anything. The file system has no journal, because with a journal it would not survive the errors.
func TestSyncFailsWithIOErrors(t *testing.T) {
	v := newVolume(t, "-b", "4096", "-N", "1024", "-O", "^has_journal,^resize_inode")
	// The blocks of the file system itself and of the directories lie before the ballast and stay intact: only
	// writes of data fail. (A directory that cannot be read gives "cannot allocate memory": the kernel has no
	// buffer for a block past the end of a device, and it forgets its buffers when the device's size is set.)
	const sound = 4 << 20
	if err := os.MkdirAll(filepath.Join(v.Dir, "dest", stream), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(v.Dir, "ballast"), make([]byte, sound), 0o600); err != nil {
		t.Fatal(err)
	}
	syscall.Sync()
	r := newRig(t, v.Dir+"/dest", "--segment-bytes", "1Mi")
	for range 2 {
		v.shorten(sound / 2)
		t.Cleanup(func() { v.shorten(0) })
		r.turnsRed("io", "input/output error")
		r.writes(perSecond / 2)
		v.shorten(0)
		if r.brokenForGood() {
			// Without a journal, ext4 itself may not recover from failed writes. Then a repair and a restart
			// must help.
			r.side.Kill()
			v.remount()
			r.side = lab.Run(t, r.source, r.dest, r.flags...)
		}
		r.turnsGreen()
		r.persists(1000)
	}
	r.stop()
	if err := r.side.Stop(patience); err != nil {
		t.Error(err)
	}
	v.remount()
	r.compare()
}

// brokenForGood waits until the sidecar is ready. It returns true if the sidecar is still not ready a minute after
// the device came back, and a sync of its files fails for the test too.
func (r *rig) brokenForGood() bool {
	r.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if status, _, err := r.side.Get("/readyz"); err == nil && status == 200 {
			return false
		}
	}
	paths, _ := filepath.Glob(filepath.Join(r.dest, "gc.log", "*"))
	for _, path := range append(paths, filepath.Join(r.dest, "gc.log")) {
		f, err := os.Open(path)
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		if err != nil {
			r.Logf("the file system is damaged: %v", err)
			return true
		}
	}
	return false
}

func TestFileSystemTurnsReadOnly(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--drain-timeout", "1s")
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(v.Loop), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("a test"), 0); err != nil {
		lab.Needs(t, "a kernel that can trigger errors of ext4: "+err.Error())
	}
	r.turnsRed("read_only", "read-only file system")
	r.writes(perSecond)
	exitsUndrained(t, r.side)
	v.remount()
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	r.turnsGreen()
	r.balances()
}

// asNobody restarts the sidecar as an unprivileged user.
func asNobody(r *rig) {
	r.Helper()
	r.side.Kill()
	for _, dir := range []string{r.dest, r.source} {
		must(r.T, "chown", "-R", "65534:65534", dir)
	}
	r.side = runAs(r.T, 65534, append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)...)
	r.persists(1000)
}

func TestPermissionIsTakenAway(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--segment-bytes", "64Ki")
	asNobody(r)
	dir := filepath.Join(r.dest, stream)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	r.turnsRed("permission", "permission denied")
	r.writes(perSecond)
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	r.turnsGreen()
	r.balances()
}

// If the directory is moved away, it keeps its content, and later lines are in a new one. Together, the two
// directories have every line once.
func TestStreamDirectoryIsMovedAway(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--segment-bytes", "64Ki")
	dir, moved := filepath.Join(r.dest, stream), filepath.Join(v.Dir, "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	lab.Eventually(t, patience, "segments are in a new directory", func() bool {
		paths, err := lab.Segments(r.dest, stream)
		return err == nil && len(paths) >= 2
	})
	r.persists(perSecond)
	r.stop()
	if err := r.side.Stop(patience); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(moved)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(moved, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	r.compare()
}

// Deleted lines are gone, but everything later is persisted, and the deletion is counted.
func TestStreamDirectoryIsDeleted(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest", "--segment-bytes", "64Mi")
	if err := os.RemoveAll(filepath.Join(r.dest, stream)); err != nil {
		t.Fatal(err)
	}
	before := r.writer.Written()
	r.persists(perSecond)
	if r.metric(`ullage_destination_errors_total{kind="other"}`)+r.metric(`ullage_destination_errors_total{kind="missing"}`) == 0 {
		t.Error("got 0 counted errors of the kinds other and missing, want at least 1")
	}
	r.turnsGreen()
	r.stop()
	if err := r.side.Stop(patience); err != nil {
		t.Error(err)
	}
	balance, err := lab.Check(r.dest, stream, r.writer)
	if err != nil || balance.Twice > 0 || balance.Lost > before || balance.Lost+balance.Persisted != balance.Written {
		t.Errorf("%d lines had been written when the directory was deleted: %v, error %v; want at most those lost, none twice and no error", before, balance, err)
	}
}
