package lab

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

// WriteDay writes a file with the log of one JVM for one day, with enough collections to reach the size in
// bytes. A collection has eight lines about its pause, and the given number of lines about its phases at level
// debug.
func WriteDay(file string, size int64, phases int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	begin := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	var written int64
	for gc := 0; written < size; gc++ {
		up := time.Duration(float64(24*time.Hour) * float64(written) / float64(size)).Seconds()
		stamp := fmt.Sprintf("[%s][%.3fs]", begin.Add(time.Duration(up*1e9)).Format("2006-01-02T15:04:05.000-0700"), up)
		line := func(level, tags, format string, args ...any) {
			n, _ := fmt.Fprintf(w, "%s[%-5s][%-14s] ", stamp, level, tags) // Flush returns the error
			m, _ := fmt.Fprintf(w, format+"\n", args...)
			written += int64(n + m)
		}
		ms := 2 + float64(gc*7919%1000)/200
		line("info", "gc,start", "GC(%d) Pause Young (Normal) (G1 Evacuation Pause)", gc)
		line("info", "gc,task", "GC(%d) Using 8 workers of 8 for evacuation", gc)
		for i := range phases {
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
	return w.Flush()
}
