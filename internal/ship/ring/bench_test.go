package ring

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/line/ul"
)

// BenchmarkDrain measures what an event costs the sidecar, in a ring of 2 MiB on a tmpfs: rendering,
// and the calls of each step. The writer's side is not included.
func BenchmarkDrain(b *testing.B) {
	for _, n := range []int{0, 18, 100, 1000} {
		b.Run(fmt.Sprint(n, " characters"), func(b *testing.B) {
			source := tmpfs(b)
			w := newWriter(b, source, testName, 2<<20)
			s := newSidecar(b, source).start()
			s.now = time.Now()
			text := []byte(strings.Repeat("after connect, and so on ", 1+n/25)[:n])
			b.SetBytes(int64(recordSize(n)))
			b.ReportAllocs()
			b.ResetTimer()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var used time.Duration
			for done := 0; done < b.N; {
				b.StopTimer()
				for ; done < b.N && w.tail()-w.head() < w.cap/2; done++ {
					w.write(ul.Error, kindText, 17, text)
				}
				b.StartTimer()
				began := threadTime(b)
				for w.head() < w.tail() {
					if s.round(s.now, false); s.log.Len() > 0 {
						b.Fatal(s.log)
					}
				}
				used += threadTime(b) - began
			}
			b.ReportMetric(float64(b.N)/used.Seconds(), "events/s/core") // independent of other load on the machine
		})
	}
}

// threadTime returns the CPU time of the calling thread.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// BenchmarkIdle measures the cost of a look at a ring without events. The sidecar looks 8 times a second; see
// paceBehind for the further costs of a look.
func BenchmarkIdle(b *testing.B) {
	source := tmpfs(b)
	newWriter(b, source, testName, 2<<20)
	s := newSidecar(b, source).start()
	s.now = time.Now()
	s.round(s.now, false)
	for b.Loop() {
		s.round(s.now, false)
	}
}
