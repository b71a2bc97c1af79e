package fault

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// One stream gets four times the budget at once, and another gets little. If the disk is frozen, the sidecar must
// drop lines of the noisy stream. It never drops a line of the quiet stream, at any level.
func TestNoisyStreamCostsAQuietOneNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		frozen bool
		line   string // followed by incompressible text; empty: one endless line
	}{
		{"one endless line, healthy", false, ""},
		{"one endless line, frozen", true, ""},
		{"warnings, frozen", true, "[1.000s][warning][gc] "},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVolumeOf(t, "512M")
			r := &rig{T: t, source: lab.Tmpfs(t, "512m"), dest: filepath.Join(v.Dir, "dest")}
			r.side = lab.Run(t, r.source, r.dest, "--budget", "64Mi")
			r.write(1)
			r.persists(1000)
			thaw := func() {}
			if c.frozen {
				thaw = v.freeze()
			}
			r.noise(c.line, 256*mib)
			r.writes(2 * perSecond)
			for end := time.Now().Add(patience); c.frozen && droppedOf(r, "noise.log") < 128*mib && time.Now().Before(end); {
				r.writes(perSecond)
			}
			thaw()
			r.turnsGreen()
			r.persists(1000)
			quiet, noisy := droppedOf(r, stream), droppedOf(r, "noise.log")
			if c.frozen && noisy < 128*mib || quiet > 0 {
				t.Errorf("dropped: %v bytes of the quiet stream, want 0; %v of the noisy one, want at least 128 MiB if frozen", quiet, noisy)
			}
			t.Logf("%.0f MiB of the noise were dropped", noisy/mib)
			r.balances()
		})
	}
}

// noise writes to another stream as fast as possible: lines that begin with line, or one endless line if line is
// empty. The text hardly compresses in the spool.
func (r *rig) noise(line string, size int) {
	r.Helper()
	f, err := os.Create(filepath.Join(r.source, "noise.log"))
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	var block []byte
	for random := make([]byte, 57); len(block) < mib; {
		_, _ = rand.Read(random)
		block = base64.StdEncoding.AppendEncode(append(block, line...), random)
		if line != "" {
			block = append(block, '\n')
		}
	}
	begun := time.Now()
	for written := 0; written < size; written += len(block) {
		if _, err := f.Write(block); err != nil {
			r.Fatal(err)
		}
	}
	r.Logf("%d MiB of noise in %s", size/mib, time.Since(begun).Round(time.Millisecond))
}

// droppedOf returns how many bytes of a stream the sidecar has dropped by its own count.
func droppedOf(r *rig, stream string) (sum float64) {
	r.Helper()
	for _, reason := range []string{"discard", "drop"} {
		sum += r.metric(fmt.Sprintf(`ullage_dropped_bytes_total{reason="%s",stream="%s"}`, reason, stream))
	}
	return sum
}
