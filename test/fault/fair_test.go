package fault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// Something writes four times the budget at once, beside a stream that writes
// little. The sidecar drops lines of the former, as it must, and none of the
// latter, of whatever level.
func TestNoisyStreamCostsAQuietOneNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		frozen bool
		noise  []byte
	}{
		{"one endless line, healthy", false, []byte("y")},
		{"one endless line, frozen", true, []byte("y")},
		{"warnings, frozen", true, []byte("[1.000s][warning][gc] noise\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVolumeOf(t, "512M")
			r := &rig{T: t, source: lab.Tmpfs(t, "512m"), dest: filepath.Join(v.dir, "dest")}
			r.side = lab.Run(t, r.source, r.dest, "--budget", "64Mi")
			r.write(1)
			r.persists(1000)
			thaw := func() {}
			if c.frozen {
				thaw = v.freeze()
			}
			r.noise(c.noise, 256*mib)
			r.writes(2 * perSecond)
			thaw()
			r.turnsGreen()
			r.persists(1000)
			quiet, noisy := droppedOf(r, stream), droppedOf(r, "noise.log")
			if c.frozen && noisy < 128*mib || quiet > 0 {
				t.Errorf("dropped: %v bytes of the quiet stream, %v of the noisy one", quiet, noisy)
			}
			t.Logf("%.0f MiB of the noise were dropped", noisy/mib)
			r.balances()
		})
	}
}

// noise writes copies of the text to another stream, as fast as possible.
func (r *rig) noise(text []byte, size int) {
	r.Helper()
	f, err := os.Create(filepath.Join(r.source, "noise.log"))
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	block := bytes.Repeat(text, mib/len(text))
	begun := time.Now()
	for written := 0; written < size; written += len(block) {
		if _, err := f.Write(block); err != nil {
			r.Fatal(err)
		}
	}
	r.Logf("%d MiB of noise in %s", size/mib, time.Since(begun).Round(time.Millisecond))
}

// droppedOf returns how many bytes of a stream the sidecar says it dropped.
func droppedOf(r *rig, stream string) (sum float64) {
	r.Helper()
	for _, reason := range []string{"discard", "drop"} {
		sum += r.metric(fmt.Sprintf(`ullage_dropped_bytes_total{reason="%s",stream="%s"}`, reason, stream))
	}
	return sum
}
