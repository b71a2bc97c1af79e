package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// Faults of the sidecar during a freeze.
const (
	nothing    = "nothing"
	killed     = "kill -9 in the freeze, and after it"
	held       = "kill -9 in a blocked call"
	terminated = "SIGTERM in the freeze"
)

// freezing is one freeze of the destination under a flood.
type freezing struct {
	rate   int64 // bytes a second
	frozen time.Duration
	fault  string
}

func (f freezing) String() string {
	return fmt.Sprintf("%dMBs/%s/%s", f.rate/1e6, f.frozen, f.fault)
}

// freezings returns all combinations, or in a quick run the most significant ones.
func freezings() (all []freezing) {
	const short, most = 1500 * time.Millisecond, 60 * time.Second
	for _, frozen := range []time.Duration{short, most} {
		for _, rate := range []int64{2e6, 50e6} {
			for _, fault := range []string{nothing, killed, held, terminated} {
				all = append(all, freezing{rate, frozen, fault})
			}
		}
	}
	return long(all, []freezing{
		{2e6, short, nothing},
		{50e6, short, held},
		{50e6, 4500 * time.Millisecond, nothing},
		{50e6, 4500 * time.Millisecond, killed},
		{50e6, 4500 * time.Millisecond, terminated},
	})
}

// The disk is frozen while a writer logs through a tmpfs of 64 MiB. The writer does not notice, whatever happens
// to the sidecar. Every line is accounted for, and no line at warning or above is dropped.
func TestFrozenUnderAFlood(t *testing.T) {
	rows := newStallTable("Freezes of the destination")
	defer rows.Print(t)
	for _, f := range freezings() {
		t.Run(f.String(), func(t *testing.T) { rows.Add(freezeUnder(t, f)...) })
	}
}

// newStallTable returns a table for the rows of account.
func newStallTable(title string) *lab.Table {
	return lab.NewTable(title+" under a flood through a tmpfs of 64 MiB",
		"MB/s", "for", "sidecar", "slowest write before", "in it", "after", "p99.9 before", "in it", "p99.99 before", "in it",
		"lines", "lost by the JVM", "dropped", "at warning or above", "gaps", "green after", "peak MiB")
}

// Phases of a flood.
const (
	before = iota
	within
	after
)

// drainIn returns the sidecar's --drain-timeout for a SIGTERM during a freeze.
func drainIn(f freezing) time.Duration { return max(time.Second, f.frozen/3) }

func freezeUnder(t *testing.T, f freezing) (row []any) {
	r := newStall(t, f.rate, "--drain-timeout", drainIn(f).String())
	time.Sleep(long(min(f.frozen, 10*time.Second), f.frozen/2))
	if f.fault == killed {
		r.halt()
	}
	thaw := r.v.freeze()
	r.flood.Phase(within)
	thawAt := time.Now().Add(f.frozen)
	switch f.fault {
	case killed:
		r.kill(true)
		r.again(thawAt)
	case held:
		r.answersUntil(thawAt.Add(-f.frozen * 2 / 3))
		r.kill(false)
		r.again(thawAt)
	case terminated:
		r.answersUntil(thawAt.Add(-f.frozen * 2 / 3))
		r.terminate(drainIn(f))
	}
	if f.fault != terminated {
		r.answersUntil(thawAt)
	}
	time.Sleep(time.Until(thawAt))
	thaw()
	r.flood.Phase(after)
	green := r.comesBack(f.fault)
	return r.account(f, green)
}

// stall is a flood, a sidecar and a destination that will be frozen.
type stall struct {
	*testing.T
	v            *volume
	source, dest string
	flags        []string
	side         *lab.Sidecar
	flood        *lab.Flooding
	begun        time.Time
	peak         int64 // largest memory of any sidecar
	saves        saves // of the checkpoint
}

func newStall(t *testing.T, rate int64, flags ...string) *stall {
	t.Helper()
	r := &stall{T: t, v: newVolumeOf(t, "2G"), source: lab.Tmpfs(t, "64m"), flags: flags}
	r.dest = filepath.Join(r.v.Dir, "dest")
	r.start()
	if _, err := r.side.Addr(patience); err != nil {
		t.Fatal(err)
	}
	r.begun = time.Now()
	r.flood = lab.RunFlood(t, lab.Flood{Path: filepath.Join(r.source, stream), Seed: uint64(rate), Rate: rate})
	lab.Eventually(t, patience, "lines are persisted", func() bool {
		n, err := r.side.Metric(`ullage_persisted_bytes_total{stream="` + stream + `"}`)
		return err == nil && n > 0
	})
	return r
}

// start starts a sidecar. The test's cleanup kills the sidecar but does not wait for its end: the kernel may hold
// it until the thaw, which may come later.
func (r *stall) start() {
	r.Helper()
	args := append([]string{"run", "--source", r.source, "--dest", r.dest, "--listen", "127.0.0.1:0"}, r.flags...)
	side, err := lab.Start(lab.Binary(), args...)
	if err != nil {
		r.Fatal(err)
	}
	r.side = side
	r.Cleanup(func() {
		if !side.Exited() {
			_ = side.Signal(unix.SIGKILL)
		}
		if r.Failed() {
			r.Logf("a sidecar said:\n%s", side.Stderr())
		}
	})
}

// answersUntil queries the sidecar until end. The sidecar must answer each request while the disk
// is frozen.
func (r *stall) answersUntil(end time.Time) {
	r.Helper()
	slowest, asked := time.Duration(0), 0
	for time.Now().Before(end) {
		for _, path := range []string{"/metrics", "/healthz", "/status"} {
			begun := time.Now()
			status, _, err := r.side.Get(path)
			took := time.Since(begun)
			if asked++; err != nil || status != 200 {
				r.Errorf("%s in a freeze: status %d after %s, error %v; want 200 and no error", path, status, took, err)
			}
			slowest = max(slowest, took)
		}
		r.remember()
		time.Sleep(min(100*time.Millisecond, max(0, time.Until(end))))
	}
	r.Logf("%d answers in the freeze, the slowest after %s", asked, slowest)
}

func (r *stall) remember() {
	if peak, err := r.side.PeakMemory(); err == nil {
		r.peak = max(r.peak, peak)
	}
	r.saves.look(r.source)
}

// halt stops the sidecar and waits until all its threads are stopped. Then no thread is in a call into the
// destination.
func (r *stall) halt() {
	r.Helper()
	r.remember()
	if err := r.side.Signal(syscall.SIGSTOP); err != nil {
		r.Fatal(err)
	}
	lab.Eventually(r, patience, "all threads are stopped", func() bool {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", r.side.PID()))
		for _, stat := range stats {
			text, _ := os.ReadFile(stat)
			if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return err == nil && len(stats) > 0
	})
}

// kill kills the sidecar. It must end at once if atOnce is set. Otherwise a thread is held in the frozen file system,
// and the sidecar keeps its locks until the thaw.
func (r *stall) kill(atOnce bool) {
	r.Helper()
	r.remember()
	if err := r.side.Signal(unix.SIGKILL); err != nil {
		r.Fatal(err)
	}
	wait := patience
	if !atOnce {
		wait = 50 * time.Millisecond // short, since no process makes room on the tmpfs meanwhile
	}
	if _, err := r.side.Wait(wait); (err == nil) != atOnce {
		r.Fatalf("a killed sidecar ended at once: %t, want %t", err == nil, atOnce)
	}
}

// again starts a sidecar and, like the kubelet, restarts it if it ends. The sidecar must be up before end.
func (r *stall) again(end time.Time) {
	r.Helper()
	begun := time.Now()
	for starts := 1; ; starts++ {
		r.start()
		_, err := r.side.Addr(time.Until(end))
		if err == nil {
			r.Logf("a new sidecar is up after %s and %d starts", time.Since(begun).Round(time.Millisecond), starts)
			return
		}
		if !time.Now().Before(end) {
			r.Fatalf("no new sidecar is up at the end of the freeze after %d starts, want one: %v", starts, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// terminate sends SIGTERM and expects the sidecar to give up in time. The flood continues almost until then, like a
// JVM that is slow to stop.
func (r *stall) terminate(within time.Duration) {
	r.Helper()
	r.remember()
	begun := time.Now()
	if err := r.side.Signal(syscall.SIGTERM); err != nil {
		r.Fatal(err)
	}
	time.Sleep(within * 3 / 4)
	if _, err := r.flood.Stop(); err != nil {
		r.Error(err)
	}
	lab.Eventually(r, patience, "the sidecar reports what is left", func() bool {
		return strings.Contains(r.side.Stderr(), "not drained within") || r.side.Exited()
	})
	r.Logf("gave up after %s: %s", time.Since(begun).Round(10*time.Millisecond), lastLine(r.side.Stderr()))
}
