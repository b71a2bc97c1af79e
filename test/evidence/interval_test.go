package main

import (
	"math"
	"slices"
	"testing"
)

func TestIntervalOfRounds(t *testing.T) {
	median := func(values []float64) interval {
		return spreadOf(len(values), func(drawn []int) float64 { return medianOf(values, drawn) })
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"one round has no interval", []float64{3}, "3"},
		{"a few rounds: the least and the largest", []float64{3, 1, 2}, "2 (1–3)"},
		{"equal rounds", []float64{4, 4, 4, 4, 4}, "4"},
		{"one disturbed round of seven has no effect", []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 90}, "1.3 (1.1–1.5)"},
	} {
		if got := median(c.values).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTheIntervalHoldsTheTruth simulates many experiments of nine rounds each. About 95 % of their intervals must
// contain the median of the distribution from which the rounds were drawn.
func TestTheIntervalHoldsTheTruth(t *testing.T) {
	state, held := uint64(1), 0
	next := func() float64 { // from 0 to 1, with the median 0.5
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>11) / (1 << 53)
	}
	const experiments = 200
	for range experiments {
		values := make([]float64, 9)
		for i := range values {
			values[i] = next()
		}
		if got := spreadOf(len(values), func(drawn []int) float64 { return medianOf(values, drawn) }); got.low <= .5 && got.high >= .5 {
			held++
		}
	}
	if held < experiments*90/100 || held == experiments {
		t.Errorf("%d of %d intervals hold the median, want about 95 %%", held, experiments)
	}
}

// TestAMultipleIsTakenRoundByRound checks that a ratio does not change if the machine is slower in some rounds.
func TestAMultipleIsTakenRoundByRound(t *testing.T) {
	base := []float64{1, 2, 4, 3, 1.5, 8}
	twice := make([]float64, len(base))
	for i, v := range base {
		twice[i] = 2 * v
	}
	if got, ok := over(twice, base); !ok || got.low != 2 || got.high != 2 {
		t.Errorf("got %v %v, want 2 without an interval", got, ok)
	}
	for name, base := range map[string][]float64{"none": nil, "zero": {0, 0, 0}} {
		if got, ok := over(twice, base); ok {
			t.Errorf("%s: got a multiple of %v, want none", name, got)
		}
	}
	if got, ok := over([]float64{1, 1, 1, 1, 1}, []float64{0, 0, 1, 1, 1}); !ok || math.IsInf(got.high, 0) || math.IsNaN(got.high) {
		t.Errorf("with two rounds that took nothing: got %v %v, want a finite upper end", got, ok)
	}
}

func TestVerdictOnAGoal(t *testing.T) {
	for _, c := range []struct {
		measured interval
		least    bool
		want     string
	}{
		{interval{9, 8, 10}, false, reached},
		{interval{9, 8, 10.1}, false, undecided},
		{interval{11, 10.1, 12}, false, missed},
		{interval{11, 10, 12}, true, reached},
		{interval{11, 9, 12}, true, undecided},
		{interval{9, 8, 9.9}, true, missed},
	} {
		if got := (goal{measured: c.measured, limit: 10, least: c.least}).verdict(); got != c.want {
			t.Errorf("%v, least %v: got %q, want %q", c.measured, c.least, got, c.want)
		}
	}
}

func TestAPercentileNeedsTenValuesBeyondIt(t *testing.T) {
	values := make([]float64, 999)
	for i := range values {
		values[i] = float64(i)
	}
	f := figures{}
	f.summarize(values)
	if _, has := f["p99"]; !has || f["p50"] != 499 {
		t.Errorf("of 999 values: got %v, want a p99 and the p50 499", f)
	}
	f = figures{}
	f.summarize(values[:900])
	if _, has := f["p99"]; has || f["p90"] != 810 {
		t.Errorf("of 900 values: got %v, want no p99 and the p90 810", f)
	}
	f = figures{"hiccups": 15_000, "p50": 1, "p999": 2, "p9999": 3, "longest": 4}
	f.dropUntold("hiccups")
	if len(f) != 4 || f["p999"] != 2 || f["longest"] != 4 {
		t.Errorf(`of 15,000 hiccups: got %v, want 4 figures, among them "p999" 2 and "longest" 4`, f)
	}
}

// TestEveryRoundHasItsOwnOrder checks that the order differs from round to round, and that the rows keep the order of
// the entries.
func TestEveryRoundHasItsOwnOrder(t *testing.T) {
	const n, rounds = 12, 4
	e, x := &evidence{rounds: rounds}, &experiment{}
	var ran []int
	var entries []entry
	for i := range n {
		entries = append(entries, entry{string(rune('a' + i)), func() (figures, error) {
			ran = append(ran, i)
			return figures{"n": float64(i)}, nil
		}})
	}
	if err := e.inTurn(x, entries); err != nil {
		t.Fatal(err)
	}
	for round := range slices.Chunk(ran, n) {
		if sorted := slices.Sorted(slices.Values(round)); !slices.Equal(sorted, sequence(n)) {
			t.Errorf("a round ran %v, want each of the %d entries once", round, n)
		}
	}
	if slices.Equal(ran[:n], ran[n:2*n]) && slices.Equal(ran[:n], ran[2*n:3*n]) {
		t.Errorf("the first 3 of %d rounds have the same order: %v", rounds, ran)
	}
	for i, r := range x.Rows {
		if r.Contestant != entries[i].name || len(r.Runs) != rounds {
			t.Errorf("row %d is %s with %d runs, want %s with %d", i, r.Contestant, len(r.Runs), entries[i].name, rounds)
		}
	}
}
