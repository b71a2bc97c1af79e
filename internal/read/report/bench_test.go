package report

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// BenchmarkRead measures how fast plain text is read: a log of G1 in which most lines are
// about pauses, CPU times, safepoints and sizes, and one at level debug. MB/cpu-s is MB per
// second of CPU time, which other load on the machine affects least.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name  string
		debug int // lines about phases in each collection
	}{{"info", 0}, {"debug", 30}} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "gc.log")
			const size = 64 << 20
			if err := lab.WriteDay(path, size, c.debug); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				if _, err := Read(b.Context(), []string{path}, Config{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
