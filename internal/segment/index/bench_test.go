package index

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkFrame measures the cost of summing up a storm of lines and a quiet log in which each line has a different time.
func BenchmarkFrame(b *testing.B) {
	for name, perMilli := range map[string]int{"storm": 450, "quiet": 1} {
		var raw strings.Builder
		begin := at(0)
		for i := 0; raw.Len() < 500<<10; i++ {
			ms := i / perMilli
			fmt.Fprintf(&raw, "%s[%d.%03ds][trace][gc,heap,region] GC(%d) HR(%x) regions: %d->0(%d)\n",
				begin.Add(time.Duration(ms)*time.Millisecond).Format("[2006-01-02T15:04:05.000-0700]"), ms/1000, ms%1000, i, i*7919, i%977, i%11)
		}
		text := []byte(raw.String())
		lines := float64(strings.Count(raw.String(), "\n"))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var sum Builder
			for b.Loop() {
				sum = Builder{}
				sum.Frame(text)
			}
			if sum.Segment(1, 1).Regular == nil {
				b.Fatal("the log is not regular")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
		})
	}
}
