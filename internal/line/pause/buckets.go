package pause

import (
	"math/bits"
	"time"
)

// Buckets divides durations into buckets whose width grows with the duration, as HdrHistogram does.
// With a Buckets of b, the durations between a power of two and the next share 1<<b buckets of equal
// width. Each duration below 2<<b nanoseconds has a bucket of its own.
type Buckets uint8

// Of returns the number of the bucket of a duration. A negative duration is in bucket 0.
func (b Buckets) Of(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(0, bits.Len64(v)-int(b)-1)
	return shift<<b + int(v>>shift)
}

// Bounds returns the shortest and the longest duration of a bucket.
func (b Buckets) Bounds(i int) (low, high time.Duration) {
	if i < 2<<b {
		return time.Duration(i), time.Duration(i)
	}
	shift := i>>b - 1
	at := uint64(i - shift<<b)
	return time.Duration(at << shift), time.Duration((at+1)<<shift - 1)
}
