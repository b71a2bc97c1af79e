package sum

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesAreWithinAPercentOfTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h histogram
	var all []time.Duration
	for range 200_000 {
		d := time.Duration(math.Exp(rng.Float64() * 30))
		h.add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
		got, ok := h.quantile(q)
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		if !ok || got < want || float64(got) > 1.008*float64(want)+1 {
			t.Errorf("%v: %v, %v; want %v", q, got, ok, want)
		}
	}
}

func TestAQuantileNeedsEnoughDurations(t *testing.T) {
	var h histogram
	if _, ok := h.quantile(0.5); ok {
		t.Error("there is a median of no durations, want none")
	}
	for range 99 {
		h.add(time.Millisecond)
	}
	if _, ok := h.quantile(0.99); ok {
		t.Error("there is a p99 of 99 durations, want none of fewer than 100")
	}
	h.add(time.Second)
	if got, ok := h.quantile(0.99); !ok || got > time.Millisecond*101/100 {
		t.Errorf("p99 of 100 durations: %v, %v; want at most %v", got, ok, time.Millisecond*101/100)
	}
}

func TestBarsCountEveryDurationOnce(t *testing.T) {
	var h histogram
	for _, d := range []time.Duration{0, 1, 9e3, 15e3, 3e6, 3e6, 7e9, math.MaxInt64} {
		h.add(d)
	}
	bars := h.bars()
	n := uint64(0)
	for i, b := range bars {
		n += b.Count
		if b.To <= b.From || i > 0 && b.From != bars[i-1].To {
			t.Errorf("bar %d: %+v, want it to end after it begins, and to begin where the bar before ends", i, b)
		}
	}
	if n != h.n {
		t.Errorf("%d of %d durations are in bars, want all: %+v", n, h.n, bars)
	}
}

func TestThinKeepsTheLargestOfEverySpan(t *testing.T) {
	thin := newThin()
	n := 0
	for i := range int64(100_000) {
		at := (i*7919%100_000 - 50_000) * 1e7 // not in order, and half of them below zero
		value := 1.0
		if at == 333*1e9 {
			value = 5
		}
		thin.add(at, value)
		n++
	}
	points := thin.points()
	sum, high := 0, cell{}
	for i, p := range points {
		sum += p.n
		if p.value > high.value {
			high = p
		}
		if i > 0 && p.at <= points[i-1].at {
			t.Fatalf("point %d is not later than the one before, want it later", i)
		}
	}
	if len(points) > maxCells || sum != n || high.at != 333*1e9 {
		t.Errorf("%d points for %d of %d, the largest at %d; want at most %d points for all, the largest at %d", len(points), sum, n, high.at, maxCells, int64(333*1e9))
	}
}
