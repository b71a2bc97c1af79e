package ship

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// governorPace is the shortest time between two looks at the process's
	// CPU time, and the shortest wait: a piece of work may be far shorter.
	governorPace = 5 * time.Millisecond

	// governorBurst is for how long an allowance gathers while it is not used.
	governorBurst = 100 * time.Millisecond

	// What was used beyond the allowance is made up for by waits, up to a
	// second of it, and up to some pieces of work where a second allows less
	// than that. More can only have been used by work that does not wait, and
	// it must not stop for long the work that does.
	governorDebt    = time.Second
	governorMinDebt = 50 * time.Millisecond
)

// governor keeps the process below an amount of CPU time, by waits between
// pieces of work. Several goroutines may use it. What the process uses outside
// of them counts as well, since it shares the amount.
type governor struct {
	cores float64              // 0: no amount, no waits
	usage func() time.Duration // CPU time of the process so far

	mu      sync.Mutex
	looked  time.Time     // at usage; zero: not yet
	used    time.Duration // usage at that time
	balance time.Duration // CPU time allowed and not used; negative: to be made up for
}

// newGovernor returns a governor for so many cores. With 0 it never waits: the
// kernel's quota is what the container has, and GOMAXPROCS follows it.
func newGovernor(cores float64) *governor {
	return &governor{cores: cores, usage: processCPU}
}

// wait is called before each piece of work, of about 100 µs to 10 ms. It
// returns when the process has CPU time left for it, and an error only if ctx
// ends while it waits.
func (g *governor) wait(ctx context.Context) error {
	if g.cores <= 0 {
		return nil
	}
	var timer *time.Timer
	for {
		d := g.delay()
		if d <= 0 {
			return nil
		}
		if timer == nil {
			timer = time.NewTimer(d)
			defer timer.Stop()
		} else {
			timer.Reset(d) // it has fired, and was received from
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// delay returns for how long to wait before looking again, and 0 if there is
// CPU time left.
func (g *governor) delay() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.looked.IsZero() {
		g.looked, g.used, g.balance = now, g.usage(), time.Duration(g.allowed(governorBurst))
	}
	if now.Sub(g.looked) >= governorPace {
		g.look(now)
	}
	if g.balance > 0 {
		return 0
	}
	until := time.Duration(float64(-g.balance)/g.cores) - now.Sub(g.looked)
	return max(until, governorPace)
}

// look brings the balance up to date, within its bounds.
func (g *governor) look(now time.Time) {
	used := g.usage()
	balance := float64(g.balance) + g.allowed(now.Sub(g.looked)) - float64(used-g.used)
	balance = min(balance, g.allowed(governorBurst))
	balance = max(balance, -max(g.allowed(governorDebt), float64(governorMinDebt)))
	g.balance = time.Duration(balance)
	g.looked, g.used = now, used
}

// allowed returns the CPU time, in nanoseconds, that a time allows.
func (g *governor) allowed(d time.Duration) float64 { return float64(d) * g.cores }

// processCPU returns the CPU time, user and system, of all threads so far.
func processCPU() time.Duration {
	var u unix.Rusage
	// It fails only for bad arguments.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
