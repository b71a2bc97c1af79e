package view

import "math"

// shift is by how much the values of one group are larger than the values of another, with an
// interval.
type shift struct{ estimate, low, high float64 }

// shiftBetween returns the Hodges-Lehmann estimate, which is the median of all differences between a value of b and a
// value of a, and the interval of the Mann-Whitney rank test. Neither assumes a distribution, and one disturbed log
// does not widen the interval. It returns false if the groups are too small for the confidence: even without any
// overlap, their difference could be due to chance. Both a and b must be sorted.
func shiftBetween(a, b []float64, confidence float64) (s shift, ok bool) {
	pairs := len(a) * len(b)
	if pairs == 0 {
		return s, false
	}
	rank := trustedRank(len(a), len(b), 1-confidence)
	if rank == 0 {
		return s, false
	}
	d := differences{a, b}
	s.estimate = (d.nth((pairs+1)/2) + d.nth(pairs/2+1)) / 2
	s.low, s.high = d.nth(rank), d.nth(pairs+1-rank)
	return s, true
}

// exactGroup is the largest size of the smaller group for which ranks are counted. For larger groups,
// the normal distribution is close enough.
const exactGroup = 50

// trustedRank returns the rank among all n×m differences, counted from either end, at which the interval ends. It
// returns 0 if the chance of error of every interval exceeds risk.
func trustedRank(n, m int, risk float64) int {
	n, m = min(n, m), max(n, m)
	if n > exactGroup {
		mean, sd := float64(n)*float64(m)/2, math.Sqrt(float64(n)*float64(m)*float64(n+m+1)/12)
		return max(0, int(mean-0.5-math.Sqrt2*math.Erfinv(1-risk)*sd))
	}
	counts := rankCounts(n, m)
	total, below := 0.0, 0.0
	for _, c := range counts {
		total += c
	}
	for rank, c := range counts {
		if below += c; 2*below/total > risk {
			return rank
		}
	}
	return 0
}

// rankCounts returns, for each number of pairs, how many orders of n and m values have that many pairs in the wrong
// order: the coefficients of the Gaussian binomial. If the groups are alike, all orders are equally likely.
func rankCounts(n, m int) []float64 {
	counts := make([]float64, n*m+1)
	counts[0] = 1
	for i := 1; i <= n; i++ {
		for j := len(counts) - 1; j >= m+i; j-- {
			counts[j] -= counts[j-m-i]
		}
		for j := i; j < len(counts); j++ {
			counts[j] += counts[j-i]
		}
	}
	return counts
}

// differences represents the differences between each value of b and each value of a. They are not kept in memory
// because there may be millions. Both slices are sorted.
type differences struct{ a, b []float64 }

// nth returns the nth smallest difference, counted from 1.
func (d differences) nth(n int) float64 {
	low := math.Nextafter(d.b[0]-d.a[len(d.a)-1], math.Inf(-1)) // fewer than n differences are at or below it
	high := d.b[len(d.b)-1] - d.a[0]                            // n or more differences are at or below it
	for {
		middle := low/2 + high/2
		if !(low < middle && middle < high) { // there is no number between low and high, or they are not numbers
			return high
		}
		if count, largest := d.upTo(middle); count >= n {
			high = largest
		} else {
			low = middle
		}
	}
}

// upTo returns the number of differences up to a limit, and the largest of these.
func (d differences) upTo(limit float64) (count int, largest float64) {
	largest = math.Inf(-1)
	end := 0 // number of values of b whose difference from v is at most limit
	for _, v := range d.a {
		for end < len(d.b) && d.b[end]-v <= limit {
			end++
		}
		if count += end; end > 0 {
			largest = max(largest, d.b[end-1]-v)
		}
	}
	return count, largest
}

// medianOf returns the median of at least one sorted value.
func medianOf(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
