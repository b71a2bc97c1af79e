package prune

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// hold takes the lock of a destination, as a sidecar does.
func (v volume) hold(name string) {
	v.Helper()
	lock, err := os.OpenFile(filepath.Join(v.dir, name, ".ullage/lock"), os.O_RDWR, 0)
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(func() { lock.Close() })
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		v.Fatal(err)
	}
}

func (v volume) link(to, name string) {
	v.Helper()
	path := filepath.Join(v.dir, name)
	if err := os.RemoveAll(path); err != nil {
		v.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		v.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		v.Fatal(err)
	}
}

// The files in .ullage are as old as the pod, so a link to another pod's .ullage would look like
// an old destination.
func TestALinkToTheLockOfAnotherPodIsNotFollowed(t *testing.T) {
	for name, to := range map[string]string{"shop/evil/.ullage": "../young/.ullage", "shop/evil/.ullage/lock": "../../young/.ullage/lock"} {
		v := newVolume(t)
		v.pod("shop/young", day)
		v.write("shop/young/.ullage/lock", 10, 100*day)
		v.write("shop/young/.ullage/key", 32, 100*day)
		before := v.left()
		v.link(to, name)
		if diff := cmp.Diff(map[string]string{"shop/young": Young}, v.run(Config{OlderThan: 7 * day})); diff != "" {
			t.Errorf("%s: the states (-want +got):\n%s", name, diff)
		}
		if err := os.RemoveAll(filepath.Join(v.dir, "shop/evil")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, v.left()); diff != "" {
			t.Errorf("%s: the files that are left (-want +got):\n%s", name, diff)
		}
	}
}

// While the directory of a stream is pruned, a tenant replaces it with a link to the stream of a running pod.
func TestADirectoryExchangedForALinkIsNotFollowed(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/alive", 100*day)
	v.hold("shop/alive")
	v.pod("shop/evil", 100*day)
	v.write("shop/evil/gc-2.log/20261111T100000.000Z-000002.log.zst", 1, 100*day)
	root, err := os.OpenRoot(filepath.Join(v.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	dest, err := open(root, "shop/evil")
	if err != nil {
		t.Fatal(err)
	}
	defer dest.Close()
	exchanged := false
	err = eachSegment(dest, func(dir *os.Root, name string, info fs.FileInfo) error {
		if !exchanged {
			exchanged = true
			for _, other := range []string{"gc-1.log", "gc-2.log"} {
				if filepath.Base(dir.Name()) != other {
					v.link("../alive/gc-1.log", "shop/evil/"+other)
				}
			}
		}
		return dir.Remove(name)
	})
	if err == nil || !exchanged {
		t.Errorf("error %v, a directory was exchanged for a link: %v; want an error and true", err, exchanged)
	}
	for _, name := range []string{"20261110T100000.000Z-000001.log.zst", "20261111T100000.000Z-000002.log.zst"} {
		if _, err := os.Lstat(filepath.Join(v.dir, "shop/alive/gc-1.log", name)); err != nil {
			t.Error(err)
		}
	}
}

// After the directory of a pod was found, it is replaced with a link to another pod's directory.
func TestAPodExchangedForALinkIsNotFollowed(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/first", 50*day)
	v.pod("shop/second", 100*day)
	v.pod("other/gone", 100*day) // as old as shop/second
	states := map[string]string{}
	err := Run(t.Context(), v.dir, Config{OlderThan: 7 * day, KeepBytes: 1}, now, func(r Result) {
		states[r.Path] = r.State
		if r.Path == "shop/first" {
			v.link("../other/gone", "shop/second")
			v.hold("other/gone")
		}
	})
	if diff := cmp.Diff(map[string]string{"shop/first": Removed, "shop/second": Failed, "other/gone": InUse}, states); diff != "" || err != nil {
		t.Errorf("error %v, want none; the states (-want +got):\n%s", err, diff)
	}
}

// unprivileged makes the rest of a test that runs as root access files as another user, who becomes the owner of dir.
// It changes only the thread of the test.
func unprivileged(t *testing.T, dir string) {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() != 0 {
		return
	}
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // of the test's temporary directory
		t.Fatal(err)
	}
	runtime.LockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Setfsuid(0)
		runtime.UnlockOSThread()
	})
}

func TestADirectoryThatCannotBeReadStopsNoOther(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/a", 8*day)
	v.pod("shop/z", 8*day)
	for _, name := range []string{"lost+found", "private", "shop/closed/gc.log", "shop/m/gc-1.log", "shop/n/.ullage"} {
		dir := filepath.Join(v.dir, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "shop/m/gc-1.log" {
			v.pod("shop/m", 8*day)
		}
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir, 0o755)
	}
	unprivileged(t, v.dir)
	want := map[string]string{"private": Failed, "shop/closed/gc.log": Failed, "shop/m": Failed, "shop/n": Failed, "shop/a": Removed, "shop/z": Removed}
	if diff := cmp.Diff(want, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
}

// A running but silent pod whose copy exceeds the limit does not cause the copy of another pod to be deleted.
func TestACopyInUseTakesNothingOfWhatIsKept(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/idle", 8*day)
	v.write("shop/idle/gc-1.log/20261111T100000.000Z-000003.log.zst", 1<<20, 8*day)
	v.hold("shop/idle")
	v.pod("shop/gone", 9*day)
	if diff := cmp.Diff(map[string]string{"shop/idle": InUse, "shop/gone": Kept}, v.run(Config{OlderThan: 7 * day, KeepBytes: 512 << 10})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
}

// Seen from a directory on the volume, DIR/NAMESPACE/POD looks like NAMESPACE/POD/CONTAINER.
func TestADirectoryThatHoldsDestinationsStays(t *testing.T) {
	v := newVolume(t)
	v.pod("logs/shop/web-1", 8*day)
	if diff := cmp.Diff(map[string]string{"logs/shop/web-1": Removed}, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"logs/shop"}, v.left()); diff != "" {
		t.Errorf("the files that are left (-want +got):\n%s", diff)
	}
}

// To prune one pod, give its directory.
func TestOneDestinationIsPruned(t *testing.T) {
	v := newVolume(t)
	v.pod(".", 8*day)
	if diff := cmp.Diff(map[string]string{".": Removed}, v.run(Config{OlderThan: 7 * day})); diff != "" || len(v.left()) != 0 {
		t.Errorf("the files %q are left, want none; the states (-want +got):\n%s", v.left(), diff)
	}
}
