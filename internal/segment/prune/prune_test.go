package prune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

// now is the real time, because a test cannot set the change time of an inode.
var now = time.Now()

const day = 24 * time.Hour

// volume is a directory as the sidecars of many pods leave it.
type volume struct {
	*testing.T
	dir string
}

func newVolume(t *testing.T) volume { return volume{t, t.TempDir()} }

func (v volume) write(name string, bytes int, age time.Duration) {
	v.Helper()
	path := filepath.Join(v.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		v.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
		v.Fatal(err)
	}
	if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
		v.Fatal(err)
	}
}

// pod makes a destination of the given age, with two segments.
func (v volume) pod(name string, age time.Duration) {
	v.Helper()
	v.write(name+"/.ullage/lock", 10, age+day)
	v.write(name+"/.ullage/key", 32, age+day)
	v.write(name+"/gc-1.log/20261110T100000.000Z-000001.log.zst", 4096, age+time.Hour)
	v.write(name+"/gc-1.log/20261111T100000.000Z-000002.log.zst", 4096, age)
	v.write(name+"/gc-1.log/.seek", 40, age)
	v.write(name+"/gc-1.log/.sums", 384, age)
}

func (v volume) run(cfg Config) map[string]string {
	v.Helper()
	states := map[string]string{}
	err := Run(v.Context(), v.dir, cfg, now, func(r Result) {
		states[r.Path] = r.State
		if (r.Err != nil) != (r.State == Failed) || r.State != Failed && r.Bytes < 2*4096 {
			v.Errorf("the result is %+v; want an Err exactly if it is Failed, and at least the bytes of two segments otherwise", r)
		}
	})
	if err != nil {
		v.Fatal(err)
	}
	return states
}

// left returns the files and empty directories that are left.
func (v volume) left() []string {
	v.Helper()
	var names []string
	err := filepath.WalkDir(v.dir, func(path string, d os.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, v.dir), "/")
		if entries, _ := os.ReadDir(path); name != "" && (!d.IsDir() || len(entries) == 0) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		v.Fatal(err)
	}
	return names
}

func TestTheCopiesOfPodsThatAreGoneAreRemoved(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/web-1", 8*day)
	v.pod("shop/web-2", 6*day)
	v.pod("prod/two/app", 9*day)
	v.pod("prod/two/worker", 30*day)
	v.pod("prod/half/app", 30*day)
	v.pod("prod/half/worker", day)
	v.write("shop/notes.txt", 1, 100*day) // not a destination
	v.write("shop/web-9/gc.log/x.log", 1, 100*day)
	states := v.run(Config{OlderThan: 7 * day})
	want := map[string]string{"shop/web-1": Removed, "shop/web-2": Young, "prod/two/app": Removed, "prod/two/worker": Removed, "prod/half/app": Removed, "prod/half/worker": Young}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	for _, gone := range []string{"shop/web-1", "prod/two/app", "prod/two/worker", "prod/half/app"} {
		if _, err := os.Lstat(filepath.Join(v.dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	for _, there := range []string{"shop/web-2/gc-1.log/20261111T100000.000Z-000002.log.zst", "prod/half/worker/.ullage/lock", "shop/notes.txt", "shop/web-9/gc.log/x.log", "prod/two"} {
		if _, err := os.Lstat(filepath.Join(v.dir, there)); err != nil {
			t.Error(err)
		}
	}
}

// If the search is interrupted, the directories that it was reading are not reported as failed.
func TestAnInterruptedSearchReportsNoFailure(t *testing.T) {
	v := newVolume(t)
	for i := range 3 {
		v.pod(fmt.Sprintf("shop/web/c%d", i), day)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	err := Run(ctx, v.dir, Config{OlderThan: 7 * day}, now, func(r Result) {
		if interrupt(); r.State != Young {
			t.Errorf("%s is %s: %v; want %s", r.Path, r.State, r.Err, Young)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want the context's", err)
	}
}

// If a pod of a StatefulSet changes from one JVM to two, or back, its earlier copy stays next to the copies in use.
func TestACopyInACopyIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		ages map[string]time.Duration
		want map[string]string
		left []string // directories
	}{
		"from one to two, both alive": {
			map[string]time.Duration{"shop/db-0": 8 * day, "shop/db-0/app": day, "shop/db-0/worker": day},
			map[string]string{"shop/db-0": Removed, "shop/db-0/app": Young, "shop/db-0/worker": Young},
			[]string{"shop/db-0/app/.ullage", "shop/db-0/worker/gc-1.log"},
		},
		"from one to two, and gone": {
			map[string]time.Duration{"shop/db-0": 9 * day, "shop/db-0/app": 8 * day},
			map[string]string{"shop/db-0": Removed, "shop/db-0/app": Removed},
			nil,
		},
		"from two to one, which is alive": {
			map[string]time.Duration{"shop/db-0": day, "shop/db-0/app": 8 * day, "shop/db-0/worker": 9 * day},
			map[string]string{"shop/db-0": Young, "shop/db-0/app": Removed, "shop/db-0/worker": Removed},
			[]string{"shop/db-0/.ullage", "shop/db-0/gc-1.log"},
		},
		"a copy at the top": {
			map[string]time.Duration{".": 8 * day, "shop/web-1": day},
			map[string]string{".": Removed, "shop/web-1": Young},
			[]string{"shop/web-1/.ullage"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t)
			for pod, age := range c.ages {
				v.pod(pod, age)
			}
			if diff := cmp.Diff(c.want, v.run(Config{OlderThan: 7 * day})); diff != "" {
				t.Errorf("the states (-want +got):\n%s", diff)
			}
			for pod, state := range c.want {
				_, err := os.Lstat(filepath.Join(v.dir, pod, ".ullage/lock"))
				if (err == nil) != (state == Young) {
					t.Errorf("%s is %s, and Lstat of its lock returned %v; want the lock to exist exactly if it is %s", pod, state, err, Young)
				}
			}
			for _, dir := range c.left {
				if _, err := os.Lstat(filepath.Join(v.dir, dir)); err != nil {
					t.Error(err)
				}
			}
			for pod, state := range v.run(Config{OlderThan: 7 * day}) {
				if state != Young {
					t.Errorf("the second time, %s: %s, want %s", pod, state, Young)
				}
			}
		})
	}
}

func TestADryRunRemovesNothing(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/web-1", 8*day)
	before := v.left()
	if diff := cmp.Diff(map[string]string{"shop/web-1": Would}, v.run(Config{OlderThan: 7 * day, DryRun: true})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, v.left()); diff != "" {
		t.Errorf("the files that are left (-want +got):\n%s", diff)
	}
}

func TestTheYoungestOfTheOldOnesAreKept(t *testing.T) {
	v := newVolume(t)
	for i := range 5 {
		v.pod(fmt.Sprintf("shop/web-%d", i), time.Duration(8+i)*day)
	}
	v.pod("shop/alive", time.Hour) // not old, so not part of KeepBytes
	states := v.run(Config{OlderThan: 7 * day, KeepBytes: 70 << 10})
	kept := 0
	for i := range 5 {
		if states[fmt.Sprintf("shop/web-%d", i)] == Kept {
			kept++
			if kept != i+1 {
				t.Errorf("web-%d is kept, but a younger one is not: %v", i, states)
			}
		}
	}
	if kept < 1 || kept > 4 {
		t.Errorf("%d directories are kept, want at least 1 and at most 4: %v", kept, states)
	}
}

// A running sidecar holds its lock, however long its JVM has been silent.
func TestALivingSidecarKeepsItsCopy(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/idle-0", 100*day)
	v.pod("shop/gone-0", 100*day)
	lock, err := os.OpenFile(filepath.Join(v.dir, "shop/idle-0/.ullage/lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"shop/idle-0": InUse, "shop/gone-0": Removed}, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if len(v.left()) != 6 {
		t.Errorf("the files %q are left, want 6", v.left())
	}
	// The sidecar ends, and the next run removes its copy.
	lock.Close()
	if diff := cmp.Diff(map[string]string{"shop/idle-0": Removed}, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
}

// The cursors of sinks and the files of rejected lines were created by ullage, so they are not foreign.
func TestTheCursorsOfSinksGoWithTheCopy(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/web-0", 30*day)
	v.pod("shop/web-1", 30*day)
	for _, name := range []string{"s3.json", "s3.json.next", "audit.eu-1.json", "s3.rejected.jsonl"} {
		v.write("shop/web-0/.ullage/sinks/"+name, 100, 31*day)
	}
	v.write("shop/web-1/.ullage/sinks/s3.json", 100, day) // still being written
	if diff := cmp.Diff(map[string]string{"shop/web-0": Removed, "shop/web-1": Young}, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if _, err := os.Lstat(filepath.Join(v.dir, "shop/web-0")); !os.IsNotExist(err) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// Foreign files stay, and links are not followed.
func TestForeignFilesStay(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "20261110T100000.000Z-000001.log.zst"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, foreign := range map[string]func(v volume){
		"shop/a/notes.txt":         func(v volume) { v.write("shop/a/notes.txt", 1, 100*day) },
		"shop/a/gc-1.log/core":     func(v volume) { v.write("shop/a/gc-1.log/core", 1, 100*day) },
		"shop/a/.hidden/x":         func(v volume) { v.write("shop/a/.hidden/x", 1, 100*day) },
		"shop/a/gc-1.log/deep/x":   func(v volume) { v.write("shop/a/gc-1.log/deep/x", 1, 100*day) },
		"shop/a/.ullage/deep/x":    func(v volume) { v.write("shop/a/.ullage/deep/x", 1, 100*day) },
		"shop/a/.ullage/sinks/x":   func(v volume) { v.write("shop/a/.ullage/sinks/x", 1, 100*day) },
		"shop/a/.ullage/sinks/d/x": func(v volume) { v.write("shop/a/.ullage/sinks/d/x", 1, 100*day) },
		"shop/a/link":              func(v volume) { os.Symlink(outside, filepath.Join(v.dir, "shop/a/link")) },
		"shop/a/gc-1.log/link.log": func(v volume) { os.Symlink(outside, filepath.Join(v.dir, "shop/a/gc-1.log/link.log")) },
	} {
		v := newVolume(t)
		v.pod("shop/a", 100*day)
		foreign(v)
		if diff := cmp.Diff(map[string]string{"shop/a": Foreign}, v.run(Config{OlderThan: 7 * day})); diff != "" {
			t.Errorf("%s: the states (-want +got):\n%s", name, diff)
		}
		if _, err := os.Lstat(filepath.Join(v.dir, name)); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Errorf("%s: the file outside is gone, want it untouched", name)
		}
		if _, err := os.Lstat(filepath.Join(v.dir, "shop/a/.ullage/lock")); err != nil {
			t.Errorf("%s: the lock is gone: %v", name, err)
		}
	}
	v := newVolume(t) // the directory of a pod, which holds its lock, is a link
	if err := os.MkdirAll(filepath.Join(v.dir, "shop"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := newVolume(t)
	other.pod("a", 100*day)
	if err := os.Symlink(filepath.Join(other.dir, "a"), filepath.Join(v.dir, "shop/a")); err != nil {
		t.Fatal(err)
	}
	if states := v.run(Config{}); len(states) != 0 || len(other.left()) != 6 {
		t.Errorf("the states are %v, and the files %q are left outside, want no states and 6 files", states, other.left())
	}
}

// If a run is killed halfway, the next run finishes its work.
func TestARemovalIsTakenUpAgain(t *testing.T) {
	v := newVolume(t)
	v.write("shop/a/.ullage/lock", 10, 8*day)
	v.write("shop/a/gc-1.log/20261111T100000.000Z-000002.log.zst", 9000, 8*day)
	v.write("shop/b/.ullage/lock", 9000, 8*day) // its segments are gone
	if diff := cmp.Diff(map[string]string{"shop/a": Removed, "shop/b": Removed}, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop"}, v.left()); diff != "" {
		t.Errorf("the files that are left (-want +got):\n%s", diff)
	}
}

func TestAThousandDirectories(t *testing.T) {
	v := newVolume(t)
	for i := range 1000 {
		v.pod(fmt.Sprintf("shop/web-%d", i), 8*day)
	}
	began := time.Now()
	states := v.run(Config{OlderThan: 7 * day})
	took := time.Since(began)
	t.Logf("%d directories in %s", len(states), took)
	if left := v.left(); len(states) != 1000 || len(left) != 1 {
		t.Errorf("%d directories in %s, %d entries are left; want 1000 directories and 1 entry", len(states), took, len(left))
	}
}

// A tenant can create any number of files. Only one batch of their names is in memory at a time.
func TestDirectoriesOfMoreThanABatch(t *testing.T) {
	const batch = 1024 // the test creates more
	v := newVolume(t)
	for _, pod := range []string{"shop/a", "shop/foreign"} {
		v.pod(pod, 8*day)
		for i := range 2*batch + 10 {
			v.write(fmt.Sprintf("%s/gc-1.log/20261111T100000.000Z-%06d.log.zst", pod, 3+i), 0, 8*day)
			v.write(fmt.Sprintf("%s/.ullage/sinks/%d.json", pod, i), 0, 8*day)
		}
	}
	v.write("shop/foreign/.ullage/sinks/notes.txt", 1, 8*day)
	want := map[string]string{"shop/a": Removed, "shop/foreign": Foreign}
	if diff := cmp.Diff(want, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	for _, name := range v.left() {
		if !strings.HasPrefix(name, "shop/foreign/.ullage/") {
			t.Errorf(`%s is left, want "shop/foreign/.ullage/" at its start`, name)
		}
	}
}

// A tenant can create any number of directories that look like those of containers.
func TestTheDirectoriesInThatOfAPodAreBounded(t *testing.T) {
	v := newVolume(t)
	const more = 5
	for i := range maxInPod + more {
		v.pod(fmt.Sprintf("shop/web/c%d", i), 8*day)
	}
	v.pod("shop/zoo", 8*day)
	for _, removed := range []int{maxInPod, more} {
		counts := map[string]int{}
		for path, state := range v.run(Config{OlderThan: 7 * day}) {
			if path != "shop/zoo" {
				counts[state]++
			}
		}
		want := map[string]int{Removed: removed}
		if removed == maxInPod {
			want[Failed] = 1
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("the number of each state (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"shop/web"}, v.left()); diff != "" {
		t.Errorf("the files that are left (-want +got):\n%s", diff)
	}
}

// If names are removed from a directory while it is read, some file systems skip other names.
func TestWhatAPassLeavesOutGoesWithTheNextOne(t *testing.T) {
	v := newVolume(t)
	for i := range 6 {
		v.write(fmt.Sprint(i), 1, day)
	}
	root, err := os.OpenRoot(v.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = dropAll(root, func(dir *os.Root, do visit) error {
		n := 0
		return eachIn(dir, func(os.DirEntry) bool { n++; return n%2 == 1 }, do)
	})
	if left := v.left(); err != nil || len(left) > 0 {
		t.Errorf("error %v, the files %q are left, want none", err, left)
	}
}

// A kubelet creates the directories of a subPath as root. The sidecars' user can remove only their contents, which is
// enough.
func TestADirectoryOfAKubeletStaysEmpty(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/a", 8*day)
	unprivileged(t, v.dir)
	shop := filepath.Join(v.dir, "shop")
	if err := os.Chmod(shop, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(shop, 0o755)
	if diff := cmp.Diff(map[string]string{"shop/a": Removed}, v.run(Config{OlderThan: 7 * day})); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop/a"}, v.left()); diff != "" {
		t.Errorf("the files that are left (-want +got):\n%s", diff)
	}
	if states := v.run(Config{OlderThan: 7 * day}); len(states) != 0 {
		t.Errorf("the second time: %v, want none", states)
	}
}

// A tenant that writes in its own directory must not affect which copies of others are deleted: one file with two
// hundred names takes the space of one file.
func TestATenantsHardLinksMakeNoCopyLarger(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/victim-1", 12*day)
	v.pod("shop/victim-2", 11*day)
	v.pod("shop/attacker", 8*day)
	first := filepath.Join(v.dir, "shop/attacker/gc-1.log/20261111T100000.000Z-000002.log.zst")
	for i := range 200 {
		if err := os.Link(first, filepath.Join(filepath.Dir(first), fmt.Sprintf("20261111T100000.000Z-%06d.log.zst", 3+i))); err != nil {
			t.Fatal(err)
		}
	}
	states := v.run(Config{OlderThan: 7 * day, KeepBytes: 400 << 10, DryRun: true})
	want := map[string]string{"shop/attacker": Kept, "shop/victim-1": Kept, "shop/victim-2": Kept}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
}

// A copy larger than KeepBytes is deleted, but it does not cause an older copy to be deleted.
func TestACopyThatIsTooLargeGoesAlone(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/victim-1", 12*day)
	v.pod("shop/victim-2", 11*day)
	v.pod("shop/attacker", 8*day)
	v.write("shop/attacker/gc-1.log/20261111T100000.000Z-000003.log.zst", 1<<20, 8*day)
	states := v.run(Config{OlderThan: 7 * day, KeepBytes: 400 << 10})
	want := map[string]string{"shop/attacker": Removed, "shop/victim-1": Kept, "shop/victim-2": Kept}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
}

// Any owner of a file can set a modification time in the future. Such a time does not count as the last write.
func TestATimeInTheFutureKeepsNoCopyForever(t *testing.T) {
	v := newVolume(t)
	v.pod("shop/attacker", -1000*day)
	later := now.Add(8 * day)
	err := Run(t.Context(), v.dir, Config{OlderThan: 7 * day}, later, func(r Result) {
		if r.State != Removed || r.Newest.After(time.Now()) {
			t.Errorf("the result is %+v, want State %s and a Newest that is not in the future", r, Removed)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
