package lab

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	subBits = 4 // each power of two has 16 buckets
	buckets = 40 << subBits
)

// latencies is a histogram in memory that two processes share: one adds, the other reads.
type latencies struct {
	slowest atomic.Int64
	slept   atomic.Int64 // slowest of the writes that waited for something
	buckets [buckets]atomic.Int64
}

// add records one write. slept says that the thread slept during the write, for instance while it waited for a
// disk or a lock. If the thread did not sleep, a slow write was preempted.
func (l *latencies) add(d time.Duration, slept bool) {
	l.buckets[bucketOf(uint64(d))].Add(1)
	if int64(d) > l.slowest.Load() {
		l.slowest.Store(int64(d))
	}
	if slept && int64(d) > l.slept.Load() {
		l.slept.Store(int64(d))
	}
}

// bucketOf returns the index of the bucket for a duration in ns: below 16 the duration itself, then 16 buckets for
// each power of two.
func bucketOf(ns uint64) int {
	power := max(0, bits.Len64(ns)-subBits-1)
	return min(buckets-1, power<<subBits+int(ns>>power))
}

// ceiling returns the greatest duration of a bucket.
func ceiling(bucket int) time.Duration {
	power := max(0, bucket>>subBits-1)
	return time.Duration((uint64(bucket-power<<subBits)+1)<<power - 1)
}

// Latency describes how long the writes of a period took.
type Latency struct {
	Writes  int64
	Slowest time.Duration
	// Slept is the slowest write of over 1 ms during which the thread slept, to wait for a lock, for memory or for a
	// disk. In other slow writes, the thread was preempted: other threads had the CPU.
	Slept            time.Duration
	P50, P999, P9999 time.Duration // upper bounds, too high by at most a sixteenth
}

func (l *latencies) read() Latency {
	var counts [buckets]int64
	total := int64(0)
	for i := range counts {
		counts[i] = l.buckets[i].Load()
		total += counts[i]
	}
	quantile := func(q float64) time.Duration {
		sum := int64(0)
		for i, n := range counts {
			if sum += n; n > 0 && float64(sum) >= q*float64(total) {
				return min(ceiling(i), time.Duration(l.slowest.Load()))
			}
		}
		return 0
	}
	return Latency{Writes: total, Slowest: time.Duration(l.slowest.Load()), Slept: time.Duration(l.slept.Load()), P50: quantile(.5), P999: quantile(.999), P9999: quantile(.9999)}
}

func (l Latency) String() string {
	return fmt.Sprintf("%d writes, p50 %s, p99.9 %s, p99.99 %s, slowest %s, slowest asleep %s", l.Writes, l.P50, l.P999, l.P9999, round(l.Slowest), round(l.Slept))
}

func round(d time.Duration) time.Duration {
	if d > time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d
}
