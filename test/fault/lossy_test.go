package fault

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// newLossyVolume makes a volume whose device is a sparse file on a tmpfs. Once other files fill that tmpfs, the
// device fails each write to a new block: an fsync fails once, the next fsync reports success, and the blocks read as
// zeros once they have left the page cache.
func newLossyVolume(t *testing.T) (v *volume, fail, mend func()) {
	t.Helper()
	memory := lab.Tmpfs(t, "96m")
	// Without a journal, the file system itself survives that.
	v = &volume{lab.MountVolumeIn(t, memory, "80M", "errors=continue", "-b", "4096", "-O", "^has_journal"), t}
	filler := filepath.Join(memory, "filler")
	fail = func() {
		t.Helper()
		syscall.Sync() // pending writes get their blocks
		lab.Fill(t, filler)
	}
	return v, fail, func() { _ = os.Remove(filler) }
}

// losesWrites checks that the device really loses writes.
func (v *volume) losesWrites() {
	v.t.Helper()
	f, err := os.Create(filepath.Join(v.Dir, "control"))
	if err != nil {
		v.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		v.t.Fatal(err)
	}
	if err := f.Sync(); err == nil {
		lab.Needs(v.t, "a kernel whose sync fails when the device does")
	}
	if err := f.Sync(); err != nil {
		v.t.Fatalf("the sync after the one that failed: %v, want no error", err)
	}
}

// Megabytes are appended and wait for a slow device. Then the application fills the tmpfs, so that commits become
// small. The sync fails, and the next sync would succeed: only the content of the device after a new mount proves
// anything.
func TestDeviceLosesWhatItFailedToSync(t *testing.T) {
	v, fail, mend := newLossyVolume(t)
	source, dest := lab.Tmpfs(t, "64m"), filepath.Join(v.Dir, "dest")
	r := &rig{T: t, source: source, dest: dest, flags: []string{"--compress", "none", "--sync-interval", "2s"}}
	r.side = lab.Run(t, source, dest, r.flags...)
	r.writer = lab.NewWriter(lab.Output{Path: filepath.Join(source, stream), Seed: 1})
	r.appends(1000)
	r.persists(1000)
	fail()
	v.losesWrites()
	limit := deviceGroup(t, v)
	limit.writes(2)
	limit.add(r.side)
	before := r.metric("ullage_segments_written_bytes_total")
	r.burst(40_000)         // 7 MB, in one commit
	const pending = 4 << 20 // more than the remaining budget allows to be uncommitted
	lab.Eventually(t, patience, "several MiB are appended", func() bool {
		return r.metric("ullage_segments_written_bytes_total")-before > pending
	})
	lab.Fill(t, filepath.Join(source, "ballast"))
	lab.Eventually(t, patience, "the budget has shrunk", func() bool { return r.metric("ullage_budget_bytes") < 10<<20 })
	limit.writes(0)
	lab.Eventually(t, patience, "the sync has failed", func() bool { return r.failures() > 0 })
	mend()
	r.turnsGreen()
	lab.Eventually(t, patience, "nothing waits", func() bool { return r.metric("ullage_backlog_bytes") == 0 })
	if err := r.writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.side.Stop(patience); err != nil {
		t.Error(err)
	}
	v.remount()
	r.compare()
}

// appends writes at least that many lines at once.
func (r *rig) appends(lines int) {
	r.Helper()
	if err := r.writer.Write(lines); err != nil {
		r.Fatal(err)
	}
}

// burst writes at least that many lines while the sidecar is stopped, so that it finds them all at once.
func (r *rig) burst(lines int) {
	r.Helper()
	for _, sig := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := r.side.Signal(sig); err != nil {
			r.Fatal(err)
		}
		if sig == syscall.SIGSTOP {
			r.appends(lines)
		}
	}
}

// failures counts the errors of the destination.
func (r *rig) failures() (sum float64) {
	for _, kind := range []string{"full", "io"} {
		sum += r.metric(`ullage_destination_errors_total{kind="` + kind + `"}`)
	}
	return sum
}
