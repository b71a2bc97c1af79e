package sum

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// buckets makes 128 buckets of equal width for each power of two, so that a duration read
// from a bucket is at most 0.8 % too large.
const buckets pause.Buckets = 7

// histogram counts durations in buckets whose width grows with the duration, as
// HdrHistogram does. It takes at most 60 KiB. The zero value is empty.
type histogram struct {
	counts   []uint64
	n        uint64
	sum, max time.Duration
}

func (h *histogram) add(d time.Duration) { h.addTimes(d, 1) }

// addTimes adds a duration n times.
func (h *histogram) addTimes(d time.Duration, n uint64) {
	d = max(d, 0)
	i := buckets.Of(d)
	if i >= len(h.counts) {
		h.counts = append(h.counts, make([]uint64, i+1-len(h.counts))...)
	}
	h.counts[i] += n
	h.n += n
	if high, low := bits.Mul64(uint64(d), n); high > 0 || low > uint64(math.MaxInt64-h.sum) {
		h.sum = math.MaxInt64
	} else {
		h.sum += time.Duration(low)
	}
	h.max = max(h.max, d)
}

// upper returns the longest duration of a bucket.
func upper(i int) time.Duration {
	_, high := buckets.Bounds(i)
	return high
}

// quantile returns a duration that at least the share q of all durations do not exceed. It
// returns false if there are so few durations that none would be above it: the quantile would
// just be the maximum.
func (h *histogram) quantile(q float64) (time.Duration, bool) {
	if h.n == 0 || float64(h.n)*(1-q) < 1-1e-9 {
		return h.max, false
	}
	rank := uint64(math.Ceil(q*float64(h.n) - 1e-9))
	seen := uint64(0)
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(upper(i), h.max), true
		}
	}
	return h.max, true
}

// bars adds up the counts in bars whose borders are 1, 2 and 5 times powers of ten.
func (h *histogram) bars() []view.Bar {
	var all []view.Bar
	from := time.Duration(0)
	next := 0
	for i, n := range h.counts {
		for upper(i) > barEnd(next) {
			from = barEnd(next)
			next++
		}
		if n == 0 {
			continue
		}
		if len(all) == 0 || all[len(all)-1].To != seconds(barEnd(next)) {
			all = append(all, view.Bar{From: seconds(from), To: seconds(barEnd(next))})
		}
		all[len(all)-1].Count += n
	}
	return filled(all)
}

// filled inserts the empty bars between the others.
func filled(bars []view.Bar) []view.Bar {
	var all []view.Bar
	for _, b := range bars {
		for len(all) > 0 && all[len(all)-1].To < b.From {
			last := all[len(all)-1].To
			i := 0
			for seconds(barEnd(i)) <= last {
				i++
			}
			all = append(all, view.Bar{From: last, To: seconds(barEnd(i))})
		}
		all = append(all, b)
	}
	return all
}

// barEnd returns the upper border of a bar: 10µs, 20µs, 50µs, 100µs and so on.
func barEnd(i int) time.Duration {
	end := 10 * time.Microsecond
	for range i / 3 {
		if end > math.MaxInt64/50 {
			return math.MaxInt64
		}
		end *= 10
	}
	return end * [...]time.Duration{1, 2, 5}[i%3]
}

// bySum sorts distributions by their sums, largest first.
func bySum(all []view.Spread) {
	slices.SortFunc(all, func(a, b view.Spread) int {
		return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
}

// spreadOf returns a distribution in the form of a report.
func spreadOf(name, kind string, h *histogram) view.Spread {
	s := view.Spread{Name: name, Kind: kind, Count: h.n, Sum: seconds(h.sum), Max: seconds(h.max)}
	p := &s.Percentiles
	for _, q := range []struct {
		share float64
		to    **float64
	}{{0.5, &p.P50}, {0.9, &p.P90}, {0.99, &p.P99}, {0.999, &p.P999}, {0.9999, &p.P9999}, {0.99999, &p.P99999}} {
		if d, ok := h.quantile(q.share); ok {
			*q.to = pointer(d)
		}
	}
	return s
}

func pointer(d time.Duration) *float64 {
	v := seconds(d)
	return &v
}

func seconds(d time.Duration) float64 { return d.Seconds() }
