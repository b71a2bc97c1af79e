package ship

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeCPU is a process that uses CPU time when it is told to, on as many CPUs
// as there are callers, and counts how often it is asked what it used.
type fakeCPU struct {
	used, asked atomic.Int64
}

func (f *fakeCPU) usage() time.Duration {
	f.asked.Add(1)
	return time.Duration(f.used.Load())
}

func (f *fakeCPU) work(d time.Duration) {
	time.Sleep(d)
	f.used.Add(int64(d))
}

// shareSpan is by a fake clock.
const shareSpan = 2 * time.Minute

// share has workers do pieces of work, and returns the CPU time that they used.
func share(t *testing.T, cores float64, workers int, piece time.Duration) time.Duration {
	cpu := &fakeCPU{}
	g := newGovernor(cores)
	g.usage = cpu.usage
	ctx, cancel := context.WithTimeout(t.Context(), shareSpan)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for g.wait(ctx) == nil && ctx.Err() == nil {
				cpu.work(piece)
			}
		})
	}
	wg.Wait()
	if most := int64(shareSpan / governorPace); cores > 0 && cpu.asked.Load() > most+1 {
		t.Errorf("the usage was looked at %d times, want at most %d", cpu.asked.Load(), most)
	}
	return time.Duration(cpu.used.Load())
}

func TestGovernorKeepsToTheAmount(t *testing.T) {
	for _, c := range []struct {
		cores   float64
		workers int
		piece   time.Duration
		want    float64
	}{
		{0.001, 1, 10 * time.Millisecond, 0.001},
		{0.01, 4, 10 * time.Millisecond, 0.01},
		{0.1, 1, time.Millisecond, 0.1},
		{0.5, 3, 5 * time.Millisecond, 0.5},
		{1.5, 4, 7 * time.Millisecond, 1.5},
		{1, 1, 10 * time.Millisecond, 1},
		{8, 2, 10 * time.Millisecond, 2}, // all there are
		{0, 3, 10 * time.Millisecond, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := share(t, c.cores, c.workers, c.piece)
			want := time.Duration(c.want * float64(shareSpan))
			if off := (got - want).Abs(); off > want/100+time.Duration(c.workers)*c.piece {
				t.Errorf("%v cores, %d workers, pieces of %s: used %s, want %s", c.cores, c.workers, c.piece, got, want)
			}
		})
	}
}

// waited returns how long a wait takes.
func waited(t *testing.T, g *governor) time.Duration {
	t.Helper()
	began := time.Now()
	if err := g.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestGovernorAllowsABurstAfterIdleTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cpu := &fakeCPU{}
		g := newGovernor(0.5)
		g.usage = cpu.usage
		for range 2 { // also at its start
			for range 4 {
				if d := waited(t, g); d != 0 {
					t.Errorf("waited %s within the burst", d)
				}
				cpu.used.Add(int64(10 * time.Millisecond))
				time.Sleep(governorPace)
			}
			cpu.used.Add(int64(60 * time.Millisecond)) // all of the burst, and 40 ms more
			if d := waited(t, g); d < 60*time.Millisecond || d > 110*time.Millisecond {
				t.Errorf("waited %s behind the burst", d)
			}
			time.Sleep(24 * time.Hour)
		}
	})
}

// Work that does not wait must not bring the work that does to a halt.
func TestGovernorForgivesWhatOthersUsed(t *testing.T) {
	for cores, most := range map[float64]time.Duration{0.5: time.Second, 0.01: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			cpu := &fakeCPU{}
			g := newGovernor(cores)
			g.usage = cpu.usage
			waited(t, g)
			for range 3 {
				time.Sleep(time.Second)
				cpu.used.Add(int64(time.Minute))
				if d := waited(t, g); d < most || d > most+2*governorPace {
					t.Errorf("%v cores: waited %s, want %s", cores, d, most)
				}
			}
		})
	}
}

func TestGovernorWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cpu := &fakeCPU{}
		g := newGovernor(0.01)
		g.usage = cpu.usage
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waited(t, g)
		time.Sleep(governorPace)
		cpu.used.Add(int64(time.Second))
		began := time.Now()
		if err := g.wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// burn works for a time under a governor, and returns the cores that the
// process used meanwhile.
func burn(t *testing.T, cores float64, span time.Duration) float64 {
	t.Helper()
	g := newGovernor(cores)
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	began, used := time.Now(), processCPU()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for g.wait(ctx) == nil && ctx.Err() == nil {
				for until := time.Now().Add(time.Millisecond); time.Now().Before(until); {
				}
			}
		})
	}
	wg.Wait()
	return (processCPU() - used).Seconds() / time.Since(began).Seconds()
}

// The bounds are wide, since other tests run on the same machine: it may give
// this process less than it asks for, and it never gives more.
func TestGovernorOfARealProcess(t *testing.T) {
	low, high, free := burn(t, 0.04, time.Second), burn(t, 0.16, time.Second), burn(t, 0, time.Second/4)
	t.Logf("cores used: %.3f of 0.04, %.3f of 0.16, %.3f without an amount", low, high, free)
	if low > 2*0.04 || high > 2*0.16 {
		t.Error("it used more than twice the amount")
	}
	if high < 2*low || free < 1.2*high {
		t.Error("a greater amount did not allow more")
	}
}

func BenchmarkGovernorThatNeedNotWait(b *testing.B) {
	g := newGovernor(1024)
	for b.Loop() {
		if err := g.wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
