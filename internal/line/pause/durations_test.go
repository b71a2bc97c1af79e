package pause

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestBucketsHoldTheirDurations(t *testing.T) {
	for _, b := range []Buckets{coarsest, finest, 7} {
		for shift := range 63 {
			for _, v := range []time.Duration{1 << shift, 1<<shift + 1, 1<<(shift+1) - 1} {
				i := b.Of(v)
				low, high := b.Bounds(i)
				if v < low || v > high || float64(high-low) > float64(v)/float64(int(1)<<b) {
					t.Errorf("%d is in bucket %d of Buckets(%d), from %d to %d; want bounds that enclose it and differ by at most 1/%d of it", v, i, b, low, high, 1<<b)
				}
				if _, before := b.Bounds(i - 1); i > 0 && before != low-1 {
					t.Errorf("bucket %d of Buckets(%d) begins at %d, and the bucket before it ends at %d; want no gap", i, b, low, before)
				}
			}
		}
	}
}

// countsOf returns the number of durations, and their sum in seconds.
func countsOf(d *Durations) (n uint64, seconds float64) {
	for middle, count := range d.All() {
		n, seconds = n+count, seconds+middle.Seconds()*float64(count)
	}
	return n, seconds
}

func TestDurationsAreReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		n    int
		next func(i int) time.Duration
		off  float64 // the largest relative error of the sum that is read back
	}{
		"none":           {0, nil, 0},
		"nanoseconds":    {60, func(i int) time.Duration { return time.Duration(i) }, 0},
		"one many times": {1_000_000, func(int) time.Duration { return 3 * time.Millisecond }, 0.016},
		"a day of pauses": {5000, func(int) time.Duration {
			return time.Duration(float64(5*time.Millisecond) * math.Exp(rng.NormFloat64()/4))
		}, 0.016},
		"of every length": {20_000, func(int) time.Duration { return time.Duration(math.Exp(rng.Float64() * 30)) }, 0.07},
		"two kinds of pauses": {50_000, func(i int) time.Duration {
			return time.Duration(float64([]time.Duration{200 * time.Microsecond, 20 * time.Millisecond}[i%20/19]) * math.Exp(rng.NormFloat64()*0.8))
		}, 0.032},
		"the longest":      {2, func(i int) time.Duration { return math.MaxInt64 - time.Duration(i) }, 0.016},
		"none is negative": {1, func(int) time.Duration { return -1 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var d Durations
			sum := 0.0
			for i := range c.n {
				one := c.next(i)
				d.Add(one)
				sum += max(one, 0).Seconds()
			}
			text := d.String()
			back, ok := ParseDurations(text)
			n, seconds := countsOf(&back)
			if !ok || len(text) > MaxDurationsText || n != uint64(c.n) || math.Abs(seconds-sum) > c.off*sum+1e-12 {
				t.Errorf("%q (%d bytes) is read as %d durations with a sum of %v s, %v; want %d with a sum of %v s, with a relative error of at most %v, in at most %d bytes",
					text, len(text), n, seconds, ok, c.n, sum, c.off, MaxDurationsText)
			}
		})
	}
}

func TestTextThatIsNotOfDurations(t *testing.T) {
	for _, text := range []string{"", ":", "x:1", "0:1", "6:1", "5:", "5:x", "5:1,", "5:1,0", "5:-1", "5:1*0", "5:1*", "5:1*-1", "5:1*1099511627776", "5:99999", "1:126", "5:1 ", "5: 1"} {
		if d, ok := ParseDurations(text); ok {
			t.Errorf("%q is %v, want it refused", text, d)
		}
	}
}

func FuzzDurations(f *testing.F) {
	f.Add("5:612,3*14,1")
	f.Add("1:124")
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := ParseDurations(text)
		if !ok {
			return
		}
		for middle, n := range d.All() {
			if middle < 0 || n == 0 {
				t.Fatalf("%q has %d times %d ns, want no negative duration and no empty bucket", text, n, middle)
			}
		}
		n, _ := countsOf(&d)
		back, ok := ParseDurations(d.String())
		if again, _ := countsOf(&back); !ok || again != n {
			t.Fatalf("%q is %d durations, and %q %d, %v; want the same number", text, n, d.String(), again, ok)
		}
	})
}
