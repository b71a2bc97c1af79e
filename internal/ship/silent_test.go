package ship

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/ship/tail"
)

// startInSilence starts a Shipper of the bench whose destination does not answer until the test ends.
func startInSilence(b *bench) {
	b.t.Helper()
	answers := make(chan struct{})
	b.to.Destination = func(string) { <-answers }
	b.t.Cleanup(func() {
		close(answers)
		_ = b.ship.end(<-b.ship.ended) // as at the end of the process
	})
	b.start()
}

// The destination is changed, and the new one does not answer before the drain timeout is
// over. The checkpoint, which is for the previous destination, claims that all lines are
// persisted.
func TestDrainAtASilentDestinationTrustsNoCheckpoint(t *testing.T) {
	for _, reclaim := range []tail.Mode{tail.ReclaimNone, tail.ReclaimAuto} {
		t.Run(string(reclaim), func(t *testing.T) {
			b := newBench(t)
			b.cfg.Tail.Reclaim = tail.ReclaimNone
			b.appendTo("gc.log", lines(0, 100))
			b.ships("line 99\n")
			b.cfg.Tail.Reclaim = reclaim
			b.cfg.Dest = t.TempDir()
			b.cfg.DrainTimeout = pollInterval + 500*time.Millisecond // the reader reclaims at each poll
			startInSilence(b)
			if err := b.stop(); err == nil || !strings.Contains(err.Error(), "has not confirmed what the checkpoint claims") {
				t.Errorf("the drain ended with %v, want an error about the checkpoint", err)
			}
			if left, err := os.ReadFile(b.path("gc.log")); string(left) != lines(0, 100) {
				t.Errorf("%d bytes of the only copy are left in the source (%v), want %d", len(left), err, len(lines(0, 100)))
			}
		})
	}
}

// The destination does not answer, and a sidecar with nothing to ship ends. It must
// neither wait for the drain timeout nor fail.
func TestDrainOfAnEmptySourceNeedsNoDestination(t *testing.T) {
	b := newBench(t)
	b.appendTo("gc.log", lines(0, 10))
	b.ships("line 9\n") // this also unlinks the log; its position stays in the checkpoint
	if left, err := filepath.Glob(b.path("*.log*")); err != nil || len(left) > 0 {
		t.Fatalf("%v are left in the source (%v), want nothing", left, err)
	}
	b.cfg.DrainTimeout = time.Hour
	startInSilence(b)
	b.drain()
}
