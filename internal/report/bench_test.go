package report

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRead prints how fast plain text is read: a log of G1 in which most lines are
// about pauses, CPU times, safepoints and sizes, and one at level debug. MB/cpu-s is per
// second of CPU time, which others on the machine change least.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name  string
		debug int // lines of phases in each collection
	}{{"info", 0}, {"debug", 30}} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "gc.log")
			size := writeLong(b, path, c.debug)
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

// writeLong writes 64 MiB of a log with the decorations that HotSpot pads, and returns
// its size.
func writeLong(b *testing.B, path string, debug int) (size int64) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	begin, up := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), 0.0
	for gc := 0; size < 64<<20; gc++ {
		up += 0.05
		line := func(level, tags, format string, args ...any) {
			at := begin.Add(time.Duration(up * 1e9)).Format("2006-01-02T15:04:05.000-0700")
			n, _ := fmt.Fprintf(w, "[%s][%.3fs][%-5s][%-14s] %s\n", at, up, level, tags, fmt.Sprintf(format, args...))
			size += int64(n)
		}
		ms := 2 + float64(gc*7919%1000)/200
		line("info", "gc,start", "GC(%d) Pause Young (Normal) (G1 Evacuation Pause)", gc)
		line("info", "gc,task", "GC(%d) Using 8 workers of 8 for evacuation", gc)
		for i := range debug {
			line("debug", "gc,phases", "GC(%d)     Ext Root Scanning (ms):   Min:  0.1, Avg:  0.2, Max:  0.%d, Diff:  0.1, Sum:  1.2, Workers: 8", gc, i%10)
		}
		line("info", "gc,heap", "GC(%d) Eden regions: %d->0(24)", gc, 20+gc%5)
		line("info", "gc,heap", "GC(%d) Old regions: 10->10", gc)
		line("info", "gc,metaspace", "GC(%d) Metaspace: 3178K(3392K)->3178K(3392K) NonClass: 2841K(2944K)->2841K(2944K) Class: 336K(448K)->336K(448K)", gc)
		line("info", "gc", "GC(%d) Pause Young (Normal) (G1 Evacuation Pause) %dM->%dM(1024M) %.3fms", gc, 200+gc%100, 100+gc%50, ms)
		line("info", "gc,cpu", "GC(%d) User=0.01s Sys=0.00s Real=0.00s", gc)
		line("info", "safepoint", `Safepoint "G1CollectForAllocation", Time since last: 50000000 ns, Reaching safepoint: 20000 ns, At safepoint: %d ns, Total: %d ns`,
			int(ms*1e6)+9000, int(ms*1e6)+29000)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return size
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
