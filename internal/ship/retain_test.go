package ship

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/test/lab"
)

// retains makes a bench with small segments.
func retains(t *testing.T, bytes settings.Size, age time.Duration) *bench {
	t.Helper()
	b := newBench(t)
	b.cfg.Segment = store.Config{Compress: segment.None, SegmentBytes: 64 * settings.Ki, RetainBytes: bytes, RetainAge: age}
	return b
}

// The disk is full of ullage's own segments. Shipping continues as soon as the segments reach
// their age limit.
func TestRetentionByAgeMendsAFullDisk(t *testing.T) {
	b := retains(t, 0, 2*time.Second)
	lab.MountTmpfs(t, b.cfg.Dest, "1m")
	b.cfg.Queue, b.cfg.SyncBytes = 256*settings.Ki, 128*settings.Ki // much less than the disk
	b.start()
	b.appendTo("gc.log", debugLines(0, 20000))
	b.eventually("the disk is full", func() bool { return statusOf(b.ship).DestinationErrors.Count > 0 })
	b.eventually("the last line is persisted", func() bool { return strings.Contains(b.persisted("gc.log"), "line 19999 ") })
	b.drain()
}

// JVMs have started and ended, and the sidecar was restarted in between.
func TestStreamsThatAreOverAreRetainedLikeOthers(t *testing.T) {
	b := retains(t, 256*settings.Ki, 0)
	b.start()
	over := func(from, to int) {
		for i := from; i < to; i++ {
			b.appendTo(fmt.Sprintf("over-%02d.log", i), lines(0, 1000))
		}
		b.eventually("the files of the streams are gone", func() bool {
			left, err := filepath.Glob(b.path("over-*"))
			return err == nil && len(left) == 0
		})
	}
	over(0, 16)
	b.drain()
	b.start()
	over(16, 30)
	for i := range 3 {
		b.appendTo("living.log", lines(i*100, i*100+100))
		b.eventually("the living stream continues", b.has("living.log", i*100+99))
	}
	b.drain()
	if got := b.persisted("living.log"); got != lines(0, 300) {
		t.Errorf("%d bytes of the living stream are left, want %d", len(got), len(lines(0, 300)))
	}
	if size := diskUse(t, b.cfg.Dest); size > 256<<10 {
		t.Errorf("%d bytes are in use, want at most 256 KiB", size)
	}
	b.staysZero("ullage_checkpoint_invalid_total")
}

// A stream continues, even after a restart, although retention has deleted its newest
// segment.
func TestStreamGoesOnAfterItsNewestSegmentIsDeleted(t *testing.T) {
	b := retains(t, 0, time.Second)
	b.appendTo("gc.log", lines(0, 100))
	w := b.log("gc.log")
	b.start()
	b.eventually("the stream is persisted", b.has("gc.log", 99))
	n := 0
	b.eventually("the segment is deleted by age while another stream is written", func() bool {
		b.appendTo("other.log", lines(n, n+1))
		n++
		_, err := os.Stat(filepath.Join(b.cfg.Dest, "gc.log"))
		return os.IsNotExist(err)
	})
	b.drain()
	b.write(w, lines(100, 200))
	b.start()
	b.eventually("the stream continues", b.has("gc.log", 199))
	b.drain()
	if got := b.persisted("gc.log"); got != lines(100, 200) {
		t.Errorf("%d bytes were persisted since, want %d:\n%s", len(got), len(lines(100, 200)), got)
	}
	b.staysZero("ullage_checkpoint_invalid_total")
}

func (b *bench) has(stream string, line int) func() bool {
	return func() bool { return strings.Contains(b.persisted(stream), fmt.Sprintf("line %d\n", line)) }
}

// diskUse returns how many bytes the blocks of a destination's streams take.
func diskUse(t *testing.T, dest string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dest, func(path string, _ os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && path != dest && !strings.Contains(path, "/.ullage") {
			err = unix.Lstat(path, &st)
			sum += st.Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
