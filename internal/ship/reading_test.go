package ship

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// A change of the annotations is several events, after others that wait. It must not take a turn for each.
func TestTheEventsThatWaitAreHandledInFewTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as a sidecar while its source is calm
	const changes = 30
	b, handled, turns := newBench(t), 0, 0
	b.cfg.Tail.Watched = t.TempDir()
	b.to.Source.Watched = func() { handled++ }
	s, _ := b.begun(true)
	for i := range changes {
		if err := os.Mkdir(filepath.Join(b.cfg.Tail.Watched, strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for before := 0; handled < changes; before = handled {
		if s.reader.takeWaiting(); handled > before {
			turns++
		}
		runtime.Gosched()
	}
	if turns > changes/3 {
		t.Errorf("%d events took %d turns, want at most %d", changes, turns, changes/3)
	}
}
