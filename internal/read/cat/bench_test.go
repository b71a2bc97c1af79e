package cat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment/store"
)

// cpu returns the CPU time that the process has used.
func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// noon is the time of the first line of each test.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// BenchmarkMerge merges streams of typical JVM lines, with and without dates. It reports how many MB of lines it
// prints per second of CPU time.
func BenchmarkMerge(b *testing.B) {
	const each = 4 << 20 // bytes of a stream
	for _, streams := range []int{1, 16, 64} {
		for name, head := range map[string]func(time.Duration) string{
			"dated": func(up time.Duration) string {
				return noon.Add(up).Format("[2006-01-02T15:04:05.000-0700]") + fmt.Sprintf("[%.3fs]", up.Seconds())
			},
			"undated": func(up time.Duration) string { return fmt.Sprintf("[%.3fs]", up.Seconds()) },
		} {
			b.Run(fmt.Sprintf("%d/%s", streams, name), func(b *testing.B) {
				dir, r := b.TempDir(), rand.New(rand.NewSource(1))
				total := 0
				for i := range streams {
					total += fill(b, dir, fmt.Sprintf("gc-%02d.log", i), each, r, head)
				}
				b.SetBytes(int64(total))
				begun := cpu(b)
				for b.Loop() {
					// A single stream has a time for each line only if the times are requested.
					p := New(Config{Since: noon.Add(-time.Hour)}, io.Discard, io.Discard)
					if err := errors.Join(append(p.Find([]string{dir}), p.Run(context.Background()))...); err != nil || p.Failed() {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(total)*float64(b.N)/1e6/(cpu(b)-begun).Seconds(), "MB/s-of-CPU")
			})
		}
	}
}

// fill writes a stream in frames of half a second of its lines.
func fill(b *testing.B, dir, name string, size int, r *rand.Rand, head func(time.Duration) string) (total int) {
	durable, err := store.Open(dir, store.DefaultConfig(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer durable.Close()
	s := durable.Stream(name)
	if _, _, err := s.Recover(); err != nil {
		b.Fatal(err)
	}
	var raw []byte
	for up, frame := time.Duration(0), time.Duration(0); total < size; up += time.Duration(r.Intn(2000)) * time.Microsecond {
		raw = fmt.Appendf(raw, "%s[info ][gc,phases   ] GC(%d)   Merge Heap Roots (ms): Min: 0.%d, Avg: 0.1, Max: 0.%d\n", head(up), up/time.Second, r.Intn(10), r.Intn(10))
		if up-frame > time.Second/2 {
			if err := s.Append(raw); err != nil {
				b.Fatal(err)
			}
			total, frame, raw = total+len(raw), up, raw[:0]
		}
	}
	return total
}
