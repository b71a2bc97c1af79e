package lab

import (
	"path/filepath"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	for _, ns := range []uint64{0, 1, 15, 16, 17, 31, 32, 33, 1000, 4095, 4096, 123456789, 60e9} {
		b := bucketOf(ns)
		top := ceiling(b)
		if uint64(top) < ns || float64(top) > float64(ns)*1.0666+1 {
			t.Errorf("%d ns: bucket %d, up to %d, want %d to %.0f", ns, b, top, ns, float64(ns)*1.0666+1)
		}
		if b > 0 && uint64(ceiling(b-1)) >= ns {
			t.Errorf("%d ns: bucket %d, but the bucket below goes up to %d", ns, b, ceiling(b-1))
		}
	}
}

// TestFloodRate prints how fast the machine is, which no test may require.
func TestFloodRate(t *testing.T) {
	for _, rate := range []int64{2e6, 50e6, 200e6, 0} {
		dir := Tmpfs(t, "1g")
		f := RunFlood(t, Flood{Path: filepath.Join(dir, "gc.log"), Rate: rate})
		begun := time.Now()
		time.Sleep(700 * time.Millisecond)
		r, err := f.Stop()
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun).Seconds()
		t.Logf("%d MB/s wanted, %.0f MB/s written, %.0f bytes a line, lost %d; %s", rate/1e6, float64(r.Bytes)/1e6/took, float64(r.Bytes)/float64(r.Lines), len(r.Losses), f.Latency(0))
		if r.Lines == 0 || f.Latency(0).Writes == 0 {
			t.Error("no line was written or no write was timed, want both")
		}
	}
}
