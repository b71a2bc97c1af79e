package fault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

const (
	fullErrors = `ullage_destination_errors_total{kind="full"}`
	atOnce     = 500 // the tenant waits while the source has at least this many files
)

// room returns the free bytes and inodes of a volume.
func (v *volume) room() (bytes, inodes uint64) {
	v.t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(v.Dir, &st); err != nil {
		v.t.Fatal(err)
	}
	return st.Bavail * uint64(st.Frsize), st.Ffree
}

// churns creates small and larger files in the source, as fast as the sidecar removes them. Each has a new name and
// becomes a stream of its own. The last hundred stay open for writing.
func (r *rig) churns(files int, v *volume) (leastBytes, leastInodes uint64) {
	r.Helper()
	leastBytes, leastInodes = v.room()
	var open []*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(r.source, fmt.Sprintf("tenant-%d.log", i)))
		if err != nil {
			r.Fatal(err)
		}
		size := 2
		if i%50 == 0 {
			size = 64 << 10
		}
		line := make([]byte, size)
		for at := range line {
			line[at] = 'x'
		}
		line[size-1] = '\n'
		if _, err := f.Write(line); err != nil {
			r.Fatal(err)
		}
		if open = append(open, f); len(open) > 100 {
			open[0].Close()
			open = open[1:]
		}
		if i%100 == 0 {
			lab.Eventually(r, 3*patience, "the tenant's files are taken", func() bool {
				bytes, inodes := v.room()
				leastBytes, leastInodes = min(leastBytes, bytes), min(leastInodes, inodes)
				left, err := os.ReadDir(r.source)
				return err == nil && len(left) < atOnce
			})
		}
	}
	for _, f := range open {
		f.Close()
	}
	return leastBytes, leastInodes
}

// A tenant creates ten new files a second for an hour. The test creates as many files as fast as it can. The volume
// never runs out of bytes or inodes, whether --retain-bytes is below or above the size of the volume, and the JVM's
// lines continue.
func TestVolumeNeverRunsOutUnderChurn(t *testing.T) {
	for name, flags := range map[string][]string{
		"bound below the volume": {"--retain-bytes", "8Mi"},
		"bound above the volume": {"--retain-bytes", "1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolumeOf(t, "32M", "-N", "1024")
			r := newRig(t, v.Dir+"/dest", flags...)
			begun, files := time.Now(), long(36000, 1500)
			bytes, inodes := r.churns(files, v)
			t.Logf("%d files in %s; at the fullest, %d KiB and %d inodes were free", files, time.Since(begun).Round(time.Second), bytes>>10, inodes)
			if n := r.metric(fullErrors); n > 0 || bytes < 1<<20 || inodes < 16 {
				t.Errorf("%v errors of a full volume, and at the fullest %d bytes and %d inodes were free; want 0 errors and at least 1 MiB and 16 inodes; the sidecar said:\n%s", n, bytes, inodes, r.side.Stderr())
			}
			r.turnsGreen()
			r.persists(1000)
			r.stop()
			if err := r.side.Stop(2 * patience); err != nil {
				t.Error(err)
			}
		})
	}
}

// A sidecar with a large backlog does not fill a small volume: it commits no more at once than retention keeps
// free.
func TestCatchingUpDoesNotFillTheVolume(t *testing.T) {
	v := newVolumeOf(t, "32M")
	r := newRig(t, v.Dir+"/dest", "--retain-bytes", "1Gi")
	line := append(bytes.Repeat([]byte{'x'}, 199), '\n')
	for range 3 {
		r.side.Kill()
		if err := os.WriteFile(filepath.Join(r.source, "bulk.log"), bytes.Repeat(line, 40<<20/len(line)), 0o666); err != nil {
			t.Fatal(err)
		}
		r.side = lab.Run(t, r.source, r.dest, r.flags...)
		lab.Eventually(t, 3*patience, "the sidecar catches up", func() bool { return r.metric("ullage_backlog_bytes") < 1<<20 })
		if n := r.metric(fullErrors); n > 0 {
			t.Errorf("%v writes found no space, want 0; the sidecar said:\n%s", n, r.side.Stderr())
		}
	}
	r.stop()
	if err := r.side.Stop(2 * patience); err != nil {
		t.Error(err)
	}
}

// Another program fills the volume, and its file stays. New lines are worth more than old ones, so the
// sidecar deletes the oldest segments.
func TestOldestSegmentsGiveWayToNewOnesOnAVolumeFullOfOthers(t *testing.T) {
	v := newVolume(t)
	r := newRig(t, v.Dir+"/dest")
	lab.Eventually(t, patience, "some segments are sealed", func() bool { return r.metric("ullage_segments_sealed_total") >= 4 })
	v.fill()
	lab.Eventually(t, patience, "the oldest give way", func() bool { return r.metric(`ullage_segments_deleted_total{reason="full"}`) > 0 })
	r.turnsGreen()
	r.persists(perSecond)
}
