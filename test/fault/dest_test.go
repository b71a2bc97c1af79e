package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// useInodes makes empty files until no inode is left. free removes them.
func (v *volume) useInodes() (free func()) {
	v.t.Helper()
	dir := filepath.Join(v.Dir, "inodes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		v.t.Fatal(err)
	}
	n := 0
	for ; n < 10_000; n++ {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			break
		}
		f.Close()
	}
	if n == 10_000 {
		v.t.Fatal("the file system never ran out of inodes")
	}
	return func() {
		if err := os.RemoveAll(dir); err != nil {
			v.t.Fatal(err)
		}
	}
}

// There is free space, but no inode for the next segment.
func TestNoInodeIsLeft(t *testing.T) {
	v := newVolume(t, "-N", "64")
	r := newRig(t, v.Dir+"/dest", "--retain-bytes", "0")
	free := v.useInodes()
	r.turnsRed("full", "no space left on device")
	r.writes(perSecond)
	free()
	r.turnsGreen()
	r.persists(1000)
	r.balances()
}

func TestNoInodeIsLeftAtTheStart(t *testing.T) {
	v := newVolume(t, "-N", "64")
	r := newRig(t, v.Dir+"/dest", "--retain-bytes", "0")
	r.side.Kill()
	free := v.useInodes()
	// A destination that was never used needs inodes before the first line, so its sidecar waits.
	another := lab.Run(t, lab.Tmpfs(t, "8m"), v.Dir+"/another")
	ready := func(want int, text string) func() bool {
		return func() bool {
			status, body, err := another.Get("/readyz")
			return err == nil && status == want && strings.Contains(body, text)
		}
	}
	lab.Eventually(t, lab.Patience, "the sidecar of a new destination reports why it waits", ready(503, "make space on the volume"))
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	r.turnsRed("full", "no space left on device")
	free()
	r.turnsGreen()
	r.balances()
	lab.Eventually(t, lab.Patience, "the new destination is used", ready(200, ""))
}

// Each write to the device takes 200 ms, and a commit needs many writes. The writer does not
// notice.
func TestDeviceTakes200MillisecondsAWrite(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	limit := deviceGroup(t, v)
	limit.writes(5)
	limit.add(r.side)
	begun, before := time.Now(), r.metric("ullage_commit_duration_seconds_count")
	for range long(15, 2) {
		r.writes(perSecond)
	}
	r.persists(perSecond)
	commits := r.metric("ullage_commit_duration_seconds_count") - before
	if spent := time.Since(begun); commits > 10*spent.Seconds() {
		t.Errorf("%v commits in %s, as if the device were not slow; want at most 10 a second", commits, spent)
	} else {
		t.Logf("%v commits in %s", commits, spent.Round(time.Millisecond))
	}
	if status, _, err := r.side.Get("/readyz"); err != nil || status != 200 {
		t.Errorf("/readyz on a slow device: %d, error %v; want 200 and no error", status, err)
	}
	limit.writes(0)
	r.balances()
}

// The same device gets more lines than it can take. The sidecar drops the excess by level, and the writer always
// finds room.
func TestSlowDeviceUnderAFlood(t *testing.T) {
	v := newVolumeOf(t, "2G")
	p := newPressed(t, "32m", v.Dir+"/dest", "--compress", "none")
	limit := deviceGroup(t, v)
	limit.writes(5)
	limit.add(p.side)
	p.pour(20e6)
	p.lasts(long(30*time.Second, 4*time.Second))
	dropped, lost := p.counted(), p.flood.Lost()
	limit.writes(0)
	p.persists()
	account := p.settles()
	if lost > 0 {
		t.Errorf("the writer found no room for %d records, want 0", lost)
	}
	if dropped == 0 {
		t.Log("nothing had to be dropped")
	}
	if severe := account.Dropped.Total().From(lab.Warning); severe > 0 {
		t.Errorf("%d lines at warning or above were dropped, want 0", severe)
	}
}

// replaced moves the destination of a running sidecar away and calls replace to put something else in its place.
func replaced(t *testing.T, replace func(dest string)) *rig {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	moved := filepath.Join(v.Dir, "moved")
	if err := os.Rename(r.dest, moved); err != nil {
		t.Fatal(err)
	}
	replace(r.dest)
	r.writes(perSecond)
	return r
}

// The sidecar writes to the moved directory until it needs a new segment. Once the directory is back, the sidecar
// continues in it.
func TestDestinationIsMovedAwayAndBack(t *testing.T) {
	for name, replace := range map[string]func(string){
		"nothing is there": func(string) {},
		"a file is there": func(dest string) {
			if err := os.WriteFile(dest, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := replaced(t, replace)
			r.turnsRed("missing", "destination")
			lab.Eventually(t, patience, "the sidecar retries the destination", func() bool {
				return r.metric(`ullage_destination_errors_total{kind="missing"}`) >= 4
			})
			if err := os.Remove(r.dest); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(filepath.Dir(r.dest), "moved"), r.dest); err != nil {
				t.Fatal(err)
			}
			r.turnsGreen()
			r.persists(1000)
			r.balances()
		})
	}
}

// Another directory replaces the destination. Later lines go to the new directory, and the two
// directories together have every line once.
func TestDestinationIsReplaced(t *testing.T) {
	r := replaced(t, func(dest string) {
		if err := os.Mkdir(dest, 0o755); err != nil {
			t.Fatal(err)
		}
	})
	lab.Eventually(t, patience, "segments are in the new directory", func() bool {
		paths, err := lab.Segments(r.dest, stream)
		return err == nil && len(paths) >= 2
	})
	r.persists(1000)
	r.stop()
	if err := r.side.Stop(patience); err != nil {
		t.Error(err)
	}
	moved := filepath.Join(filepath.Dir(r.dest), "moved", stream)
	entries, err := os.ReadDir(moved)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(moved, e.Name()), filepath.Join(r.dest, stream, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	r.compare()
}

// If the whole destination is deleted, its content is lost. Later lines are persisted as soon as the directory
// exists again, and a restarted sidecar continues in it.
func TestDestinationIsDeleted(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	if err := os.RemoveAll(r.dest); err != nil {
		t.Fatal(err)
	}
	r.turnsRed("missing", "no such file or directory")
	if err := os.Mkdir(r.dest, 0o755); err != nil {
		t.Fatal(err)
	}
	r.turnsGreen()
	before := r.writer.Written() // no more than this was deleted
	r.persists(1000)
	r.side.Kill()
	r.side = lab.Run(t, r.source, r.dest, r.flags...)
	r.persists(1000)
	r.stop()
	if err := r.side.Stop(patience); err != nil {
		t.Error(err)
	}
	balance, err := lab.Check(r.dest, stream, r.writer)
	if err != nil || balance.Twice > 0 || balance.Lost > before || balance.Lost+balance.Persisted != balance.Written {
		t.Errorf("%d lines had been written when the directory was back: %v, error %v; want at most those lost, none twice and no error", before, balance, err)
	}
	t.Log(balance)
}
