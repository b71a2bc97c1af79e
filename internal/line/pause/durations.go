package pause

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	finest   Buckets = 5 // a duration is at most 1.6 % off
	coarsest Buckets = 1

	// MaxDurationsText bounds the text of [Durations], in bytes.
	MaxDurationsText = 2000

	countBits = 40 // of a count, so that a sum of many does not overflow
)

// lastBucket is the bucket of the longest duration.
var lastBucket = finest.Of(1<<63 - 1)

// Durations counts durations in buckets. The zero value is empty.
type Durations struct {
	counts  map[int]uint64
	coarser int // by how much the buckets are coarser than the finest
}

// Coarse reports whether the text from which the durations were read has buckets in which a duration may be more
// than 3.2 % off.
func (d *Durations) Coarse() bool { return d.coarser > 1 }

func (d *Durations) buckets() Buckets { return finest - Buckets(d.coarser) }

// Add counts a duration.
func (d *Durations) Add(one time.Duration) {
	if d.counts == nil {
		d.counts = map[int]uint64{}
	}
	d.counts[d.buckets().Of(one)]++
}

// All returns the middle of each bucket that is not empty, and its count, in order.
func (d *Durations) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for _, i := range slices.Sorted(maps.Keys(d.counts)) {
			low, high := d.buckets().Bounds(i)
			if !yield(low+(high-low)/2, d.counts[i]) {
				return
			}
		}
	}
}

// String returns the counts as text of at most [MaxDurationsText] bytes, without spaces or quotes:
//
//	5:612,3*14,1
//
// The number before the colon is the [Buckets]. After it, each bucket that is not empty has an item: its
// distance from the bucket in the previous item and, after a star, its count, unless that is 1. The buckets are
// the finest for which the text is short enough. If even the coarsest are not, the shortest durations are
// counted as longer ones.
func (d *Durations) String() string {
	for b := finest; b > coarsest; b-- {
		if text := d.text(b, 0); len(text) <= MaxDurationsText {
			return text
		}
	}
	for first := 0; ; first++ {
		if text := d.text(coarsest, first); len(text) <= MaxDurationsText {
			return text
		}
	}
}

// text is [Durations.String] with the given Buckets. It adds the counts of the buckets before first to first.
func (d *Durations) text(b Buckets, first int) string {
	coarse := map[int]uint64{}
	for middle, n := range d.All() {
		coarse[max(b.Of(middle), first)] += n
	}
	text, before := strconv.AppendUint(nil, uint64(b), 10), 0
	for at, i := range slices.Sorted(maps.Keys(coarse)) {
		text = append(text, ":,"[min(at, 1)])
		text = strconv.AppendInt(text, int64(i-before), 10)
		if n := coarse[i]; n > 1 {
			text = strconv.AppendUint(append(text, '*'), n, 10)
		}
		before = i
	}
	return string(text)
}

// ParseDurations is the inverse of [Durations.String]. Each duration is then in the middle of its bucket.
func ParseDurations(text string) (d Durations, ok bool) {
	digits, list, some := strings.Cut(text, ":")
	b, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || Buckets(b) < coarsest || Buckets(b) > finest || len(text) > MaxDurationsText {
		return Durations{}, false
	}
	d.coarser = int(finest - Buckets(b))
	if !some {
		return d, true
	}
	d.counts = map[int]uint64{}
	bucket := 0
	for item := range strings.SplitSeq(list, ",") {
		distance, times, more := strings.Cut(item, "*")
		by, err := strconv.ParseUint(distance, 10, 16)
		n := uint64(1)
		if more && err == nil {
			n, err = strconv.ParseUint(times, 10, countBits)
		}
		if bucket += int(by); err != nil || n == 0 || by == 0 && len(d.counts) > 0 || bucket > lastBucket {
			return Durations{}, false
		}
		low, high := Buckets(b).Bounds(bucket)
		if low < 0 || high < low { // beyond the longest duration
			return Durations{}, false
		}
		d.counts[bucket] = n
	}
	return d, true
}
