package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// interval is a median, and the range in which the median of very many rounds would be.
type interval struct{ median, low, high float64 }

// String renders the interval like "1.2 (1.1–1.4)", or without the bounds if they are equal.
func (i interval) String() string {
	if i.low == i.high {
		return figure(i.median)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(i.median), figure(i.low), figure(i.high))
}

const (
	// leastRounds is the least number of rounds from which an interval is estimated. With fewer
	// rounds, the interval is from the least value to the largest.
	leastRounds = 5

	// resamples is how often rounds are drawn.
	resamples = 10_000
)

// spreadOf returns a statistic of all rounds with its 95 % interval, from a percentile bootstrap
// (B. Efron, "Bootstrap Methods: Another Look at the Jackknife", 1979): n rounds are repeatedly
// drawn from the n rounds, with replacement. The statistic gets the numbers of the rounds that were
// drawn. The same rounds always give the same interval.
func spreadOf(rounds int, statistic func(drawn []int) float64) interval {
	all := sequence(rounds)
	got := interval{median: statistic(all)}
	var values []float64
	if rounds < leastRounds {
		for i := range rounds {
			values = append(values, statistic(all[i:i+1]))
		}
		got.low, got.high = slices.Min(values), slices.Max(values)
		return got
	}
	draw := rand.New(rand.NewPCG(1, uint64(rounds)))
	drawn := make([]int, rounds)
	for range resamples {
		for i := range drawn {
			drawn[i] = draw.IntN(rounds)
		}
		values = append(values, statistic(drawn))
	}
	slices.Sort(values)
	got.low, got.high = values[resamples*25/1000], values[resamples*975/1000-1]
	return got
}

// medianOf returns the median of the values that were drawn.
func medianOf(values []float64, drawn []int) float64 {
	some := make([]float64, len(drawn))
	for i, n := range drawn {
		some[i] = values[n]
	}
	slices.Sort(some)
	n := len(some)
	return (some[(n-1)/2] + some[n/2]) / 2
}

// over returns the interval of the ratio of values to a base. The same rounds are drawn from both, because anything
// that slows down a whole round affects both. Rounds that only one of them has are ignored.
func over(values, base []float64) (interval, bool) {
	n := min(len(values), len(base))
	if n == 0 || medianOf(base, sequence(n)) <= 0 {
		return interval{}, false
	}
	return spreadOf(n, func(drawn []int) float64 {
		below := medianOf(base, drawn)
		if below <= 0 {
			below = medianOf(base, sequence(n))
		}
		return medianOf(values, drawn) / below
	}), true
}

// sequence returns the numbers below n.
func sequence(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// percentiles has the percentiles that experiments can have, by the key of their column.
var percentiles = map[string]float64{"p50": .5, "p90": .9, "p99": .99, "p999": .999, "p9999": .9999, "p99999": .99999}

// leastBeyond is how many values must lie beyond a percentile to make it meaningful. With fewer, the percentile is
// one of the largest values by chance.
const leastBeyond = 10

// summarize enters the meaningful percentiles of the values.
func (f figures) summarize(values []float64) {
	sorted := slices.Sorted(slices.Values(values))
	for key, q := range percentiles {
		if tells(q, float64(len(sorted))) {
			f[key] = sorted[int(q*float64(len(sorted)))]
		}
	}
}

// dropUntold removes the percentiles beyond which there are too few values. number is the key of
// the column with the number of values.
func (f figures) dropUntold(number string) {
	for key, q := range percentiles {
		if !tells(q, f[number]) {
			delete(f, key)
		}
	}
}

func tells(q, number float64) bool { return math.Round(number*(1-q)) >= leastBeyond }
