package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRanksAreThoseOfTheTables compares the ranks with the published critical values of the rank test, which are one
// lower.
func TestRanksAreThoseOfTheTables(t *testing.T) {
	for _, c := range []struct {
		n, m int
		risk float64
		want int
	}{
		{3, 4, .05, 0}, {4, 4, .05, 1}, {5, 5, .05, 3}, {8, 10, .05, 18}, {20, 20, .05, 128}, {20, 20, .01, 106},
		{5, 5, .05 / 9, 0}, {5, 6, .05 / 9, 1}, {enoughLogs, enoughLogs, .05 / 9, 2}, {4, 8, .05 / 9, 1},
	} {
		if got := trustedRank(c.n, c.m, c.risk); got != c.want {
			t.Errorf("%d and %d, risk %.4f: rank %d, want %d", c.n, c.m, c.risk, got, c.want)
		}
		if trustedRank(c.m, c.n, c.risk) != c.want {
			t.Errorf("%d and %d differ from %d and %d, want rank %d for both", c.m, c.n, c.n, c.m, c.want)
		}
	}
	exact, near := trustedRank(exactGroup, 200, .05), trustedRank(exactGroup+1, 200, .05)
	if step := near - exact; step < 80 || step > 100 {
		t.Errorf("ranks %d and %d: want no jump where the normal distribution takes over", exact, near)
	}
}

func TestDifferencesByTheirRank(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		var d differences
		for range 1 + chance.IntN(12) {
			d.a = append(d.a, float64(chance.IntN(10))/7)
		}
		for range 1 + chance.IntN(12) {
			d.b = append(d.b, float64(chance.IntN(10))/7)
		}
		slices.Sort(d.a)
		slices.Sort(d.b)
		var all []float64
		for _, a := range d.a {
			for _, b := range d.b {
				all = append(all, b-a)
			}
		}
		slices.Sort(all)
		for i, want := range all {
			if got := d.nth(i + 1); got != want {
				t.Fatalf("difference %d of %v: %v, want %v", i+1, d, got, want)
			}
		}
	}
}

func TestDifferencesOfAnySizeHaveAnEnd(t *testing.T) {
	for _, values := range [][]float64{{0, 0}, {-math.MaxFloat64, math.MaxFloat64}, {0, math.SmallestNonzeroFloat64}, {math.Inf(-1), math.Inf(1)}} {
		d := differences{values, values}
		for n := range 4 {
			d.nth(n + 1)
		}
	}
}

// TestIntervalsHoldTheTruth compares many pairs of groups that differ by 1. The share of the intervals that contain 1
// must be at least the confidence, whatever the distribution.
func TestIntervalsHoldTheTruth(t *testing.T) {
	const comparisons, confidence = 1000, 0.95
	for name, draw := range map[string]func(*rand.Rand) float64{
		"normal": (*rand.Rand).NormFloat64,
		"few values are very large": func(r *rand.Rand) float64 {
			return math.Exp(3 * r.NormFloat64())
		},
	} {
		t.Run(name, func(t *testing.T) {
			chance, held := rand.New(rand.NewPCG(7, 7)), 0
			for range comparisons {
				var a, b []float64
				for range 9 {
					a, b = append(a, draw(chance)), append(b, draw(chance)+1)
				}
				slices.Sort(a)
				slices.Sort(b)
				if s, ok := shiftBetween(a, b, confidence); ok && s.low <= 1 && s.high >= 1 {
					held++
				}
			}
			if held < comparisons*93/100 || held == comparisons {
				t.Errorf("%d of %d intervals contain the difference, want at least %d, but not all", held, comparisons, comparisons*93/100)
			}
		})
	}
}

func TestADifferenceHasItsSignAndItsUnit(t *testing.T) {
	for _, c := range []struct {
		format func(float64) string
		v      float64
		want   string
	}{{percent, -0.012, "−1.2 points"}, {Duration, 0.012, "+12.0 ms"}, {Size, 0, Size(0)}} {
		if got := (Difference{format: c.format}).signed(&c.v); got != c.want {
			t.Errorf("the difference is shown as %q, want %q", got, c.want)
		}
	}
	if got := fmt.Sprint((Difference{format: percent}).signed(nil)); got != none {
		t.Errorf("no difference is shown as %q, want %q", got, none)
	}
}
