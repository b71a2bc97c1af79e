package ship

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// fullVolume returns the path of a new directory on a volume without space. Free deletes the
// file that fills the volume.
func fullVolume(t *testing.T) (dest string, free func()) {
	t.Helper()
	volume := lab.Tmpfs(t, "1m")
	var st unix.Statfs_t
	if err := unix.Statfs(volume, &st); err != nil || int64(st.Blocks)*int64(st.Bsize) > 1<<20 {
		lab.Needs(t, "root: it fills a volume")
	}
	filler := filepath.Join(volume, "filler")
	if err := os.WriteFile(filler, make([]byte, int64(st.Bavail)*int64(st.Bsize)), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(volume, "dest"), func() {
		if err := os.Remove(filler); err != nil {
			t.Error(err)
		}
	}
}

func TestAFirstStartOnAFullVolumeWaitsForSpace(t *testing.T) {
	b := newBench(t)
	dest, free := fullVolume(t)
	b.cfg.Dest = dest
	b.appendTo("gc.log", lines(0, 100))
	b.start()
	b.eventually("the sidecar is not ready because the volume is full", func() bool { return errors.Is(b.ship.Ready(), unix.ENOSPC) })
	b.eventually("the sidecar reads nevertheless", func() bool { return b.ship.link.queue.Bytes() > 0 })
	time.Sleep(silentTime) // a silent destination would replace the reason
	if err := b.ship.Ready(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("the reason for not being ready is %v, want %v", err, unix.ENOSPC)
	}
	free()
	b.eventually("everything is persisted", b.persistedLines(100))
	b.drain()
}

func TestAFirstStartOnAFullVolumeEndsWithTheDrainTimeout(t *testing.T) {
	b := newBench(t)
	b.cfg.Dest, _ = fullVolume(t)
	b.cfg.DrainTimeout = 100 * time.Millisecond
	b.appendTo("gc.log", lines(0, 100))
	b.start()
	b.eventually("the sidecar is not ready", func() bool { return b.ship.Ready() != nil && b.ship.link.queue.Bytes() > 0 })
	if err := b.stop(); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the drain ended with %v, want the error of the full volume", err)
	}
}
