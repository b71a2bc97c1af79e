package fault

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// comesBack waits until the sidecar is ready after the thaw and its lag has fallen. Depending on the fault, it first
// kills the sidecar again, or waits for its end, and starts another. It returns how long after the thaw the sidecar
// was ready.
func (r *stall) comesBack(fault string) time.Duration {
	r.Helper()
	thawed := time.Now()
	switch fault {
	case killed:
		time.Sleep(300 * time.Millisecond) // in the middle of catching up
		if err := r.side.Signal(unix.SIGKILL); err != nil {
			r.Fatal(err)
		}
		if _, err := r.side.Wait(patience); err != nil {
			r.Fatal(err)
		}
		r.again(time.Now().Add(patience))
	case terminated:
		if code, err := r.side.Wait(patience); err != nil || code != 1 {
			r.Errorf("exit code %d, want 1; error: %v", code, err)
		}
		r.again(time.Now().Add(patience))
	}
	lab.Eventually(r, patience, "/readyz is green", func() bool {
		status, _, err := r.side.Get("/readyz")
		return err == nil && status == 200
	})
	green := time.Since(thawed)
	if !r.lagFalls(patience) {
		// The machine is too slow for a flood and a sidecar at once.
		r.Logf("the lag does not fall during the flood")
		if _, err := r.flood.Stop(); err != nil {
			r.Error(err)
		}
		if !r.lagFalls(patience) {
			r.Errorf("the lag has not fallen after the flood, want less than 2 s and a backlog of less than 16 MiB")
		}
	}
	return green
}

func (r *stall) lagFalls(within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		r.remember()
		lag, err := r.side.Metric("ullage_lag_seconds")
		if err != nil {
			r.Error(err)
			return false
		}
		if backlog, err := r.side.Metric("ullage_backlog_bytes"); err == nil && lag < 2 && backlog < 16<<20 {
			return true
		}
	}
	return false
}

// account stops the flood and then the sidecar, and draws up the account.
func (r *stall) account(f freezing, green time.Duration) (row []any) {
	r.Helper()
	report, err := r.flood.Stop()
	if err != nil {
		r.Fatal(err)
	}
	took := time.Since(r.begun)
	lab.Eventually(r, 3*patience, "everything is durable", func() bool {
		backlog, err := r.side.Metric("ullage_backlog_bytes")
		return err == nil && backlog == 0
	})
	counted := droppedBy(r)
	r.remember()
	if err := r.side.Stop(2 * patience); err != nil {
		r.Error(err)
	}
	a, err := lab.Settle(r.dest, stream, report)
	r.Logf("%.0f MB/s: %s", float64(report.Bytes)/1e6/took.Seconds(), a)
	r.Logf("%s", &r.saves)
	for phase, name := range []string{"before", "in the freeze", "after"} {
		r.Logf("%s: %s", name, r.flood.Latency(phase))
	}
	if err != nil || !a.Exact() {
		r.Errorf("the account is not exact, or has the error %v; want an exact account and no error", err)
	}
	severe := a.Dropped.Total().From(lab.Warning)
	if severe > 0 {
		r.Errorf("%d lines at warning or above were dropped, want 0", severe)
	}
	if len(report.Losses) > 0 || a.Cut > 0 {
		r.Errorf("the tmpfs was full %d times, and the JVM lost %d lines; want 0 and 0", len(report.Losses), a.Cut)
	}
	// A counter starts at zero in each process.
	if f.fault == nothing && fmt.Sprint(counted) != fmt.Sprint(a.Dropped) {
		r.Errorf("ullage_dropped_lines_total is %v, want %v as in the markers", counted, a.Dropped)
	}
	if r.peak > mostMemory {
		r.Errorf("the sidecar took %d bytes of memory, want at most mostMemory", r.peak)
	}
	l := func(phase int) lab.Latency { return r.flood.Latency(phase) }
	return []any{f.rate / 1e6, f.frozen, f.fault, l(before).Slowest, l(within).Slowest, l(after).Slowest, l(before).P999, l(within).P999, l(before).P9999, l(within).P9999,
		a.Written.Total(), a.Cut, a.Dropped.Total().Total(), severe, a.Gaps, green.Round(time.Millisecond), fmt.Sprintf("%.1f", float64(r.peak)/(1<<20))}
}

var droppedSeries = regexp.MustCompile(`(?m)^ullage_dropped_lines_total\{level="(\w+)",reason="(\w+)",stream="` + regexp.QuoteMeta(stream) + `"\} (\S+)$`)

// droppedBy returns the dropped lines according to the metrics.
func droppedBy(r *stall) lab.Drops {
	r.Helper()
	_, text, err := r.side.Get("/metrics")
	if err != nil {
		r.Fatal(err)
	}
	drops := lab.Drops{}
	for _, found := range droppedSeries.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			r.Fatal(err)
		}
		counts := drops[found[2]]
		for level := range counts {
			if lab.Level(level).String() == found[1] {
				counts[level] += int(n)
			}
		}
		if n > 0 {
			drops[found[2]] = counts
		}
	}
	return drops
}
