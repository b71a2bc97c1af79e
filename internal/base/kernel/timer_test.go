package kernel

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kinds are the two kinds of timers.
var kinds = map[string]func(t *testing.T){
	"on a descriptor":      func(*testing.T) {},
	"without a descriptor": useUpDescriptors,
}

// useUpDescriptors makes opening a descriptor fail until the test ends.
func useUpDescriptors(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := open(time.Hour, false); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("opening a descriptor gave the error %v, want EMFILE", err)
	}
}

func TestATimerEndsOnceForEachReset(t *testing.T) {
	for name, prepare := range kinds {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			began := time.Now()
			timer := NewTimer(5 * time.Millisecond)
			defer timer.Stop()
			for range 3 {
				if lasted := (<-timer.C).Sub(began); lasted < 5*time.Millisecond {
					t.Fatalf("a timer of 5 ms ended after %v, want at least 5 ms", lasted)
				}
				select {
				case <-timer.C:
					t.Fatal("the timer ended twice, want once")
				case <-time.After(20 * time.Millisecond):
				}
				began = time.Now()
				timer.Reset(5 * time.Millisecond)
			}
		})
	}
}

func TestResetTakesTheTimeBeforeItsPlace(t *testing.T) {
	for name, prepare := range kinds {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			timer := NewTimer(time.Hour)
			defer timer.Stop()
			for _, soon := range []time.Duration{time.Millisecond, 0, -1 << 62} {
				timer.Reset(time.Hour)
				timer.Reset(soon)
				<-timer.C
			}
		})
	}
}

func TestATickerTicksUntilItIsStopped(t *testing.T) {
	for name, prepare := range kinds {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			ticker := NewTicker(2 * time.Millisecond)
			last := time.Now()
			for range 5 {
				now := <-ticker.C
				if !now.After(last) {
					t.Fatalf("the ticker ticked at %v, want a tick after %v", now, last)
				}
				last = now
			}
			ticker.Stop()
			for len(ticker.C) > 0 {
				<-ticker.C
			}
			select {
			case <-ticker.C:
				t.Fatal("a stopped ticker ticked, want no tick")
			case <-time.After(20 * time.Millisecond):
			}
			ticker.Reset(time.Millisecond) // must not set a timer that now has the ticker's former descriptor
			ticker.Stop()
		})
	}
}

// One wake-up of the process should serve all tickers that are due.
func TestTickersTickAtTheSameMoments(t *testing.T) {
	for _, interval := range []time.Duration{time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, time.Hour} {
		for _, now := range []int64{0, 1, 499_999_999, 500_000_000, 1e9, 1e9 + 1, 90e9 + 7, 1e18 + 3} {
			d := interval.Nanoseconds()
			next := nextTick(now, d)
			if next <= now || next > now+d {
				t.Errorf("at %d, a ticker of %v ticks at %d, want a later tick, at %d at the latest", now, interval, next, now+d)
			}
			if off := (next - phase) % d; off != 0 {
				t.Errorf("at %d, a ticker of %v ticks %d ns off the others, want 0", now, interval, off)
			}
		}
	}
}
