package store

import (
	"fmt"
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// cpuNanos is the processor time of this process, user and system.
func cpuNanos(tb testing.TB) int64 {
	tb.Helper()
	var u unix.Rusage
	must(tb, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

func benchConfig(how segment.Compression) Config {
	cfg := configOf(how)
	cfg.RetainBytes = 256 * settings.Mi
	return cfg
}

// BenchmarkAppend appends frames and syncs after every 8 MiB of raw bytes.
func BenchmarkAppend(b *testing.B) {
	data := lines(1, 8<<20)
	for _, how := range allCompressions {
		for _, frame := range []int{64 << 10, 256 << 10, segment.FrameBytes} {
			b.Run(fmt.Sprintf("%s/%dKi", how, frame>>10), func(b *testing.B) {
				s := openStore(b, b.TempDir(), benchConfig(how))
				str := freshStream(b, s, "gc")
				appendAll(b, str, data[:frame])
				b.SetBytes(int64(frame))
				b.ReportAllocs()
				before := cpuNanos(b)
				raw := 0
				for b.Loop() {
					at := raw % (8 << 20)
					must(b, str.Append(data[at:at+frame]))
					raw += frame
					if raw%(8<<20) == 0 {
						sync(b, str)
						must(b, s.Maintain(str.seg.ModTime))
					}
				}
				b.ReportMetric(float64(cpuNanos(b)-before)/float64(raw), "cpu-ns/B")
			})
		}
	}
}

// BenchmarkWriteback syncs after every 8 MiB, with and without writeBack.
func BenchmarkWriteback(b *testing.B) {
	data := lines(1, 8<<20)
	for _, early := range []bool{false, true} {
		b.Run(fmt.Sprintf("early=%v", early), func(b *testing.B) {
			s := openStore(b, b.TempDir(), benchConfig(segment.None))
			str := freshStream(b, s, "gc")
			b.SetBytes(8 << 20)
			for b.Loop() {
				for at := 0; at < 8<<20; at += 256 << 10 {
					must(b, str.Append(data[at:at+256<<10]))
					if !early {
						str.cached.begun = math.MaxInt64 / 2 // nothing is left to begin
					}
				}
				sync(b, str)
				must(b, s.Maintain(str.seg.ModTime))
			}
		})
	}
}
