package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

const mib = 1 << 20

// Another program takes most of the tmpfs while the destination is frozen. The backlog must fit into the rest, or
// be dropped.
func TestTmpfsIsFilledBySomebodyElse(t *testing.T) {
	v := newVolume(t)
	p := newPressed(t, "64m", v.Dir+"/dest", "--retain-bytes", "16Mi", "--segment-bytes", "1Mi")
	p.pour(5e6)
	p.persists()
	thaw := v.freeze()
	p.lasts(time.Second)
	size := 64*mib*9/10 - lab.InUse(p.source)
	foreign := takes(t, p.source, size)
	p.lasts(long(20*time.Second, 2*time.Second))
	if n := p.flood.Lost(); n > 0 {
		t.Errorf("the writer found no room for %d records, want 0", n)
	}
	if headroom := p.metric("ullage_source_free_bytes"); headroom > float64(64*mib-size) {
		t.Errorf("ullage_source_free_bytes is %v, want at most the space that the other program's file leaves", headroom)
	}
	if p.metric(spooledBytes) < 5e6 {
		t.Error("less than 5 MB was moved to the spool, want more: the thresholds do not follow the free space")
	}
	dropped := p.counted()
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	thaw()
	p.persists()
	t.Logf("%d lines were dropped while the other program's file was there", dropped)
	if account := p.settles(); account.Dropped.Total().Total() < dropped {
		t.Errorf("the metrics counted %d dropped lines, the markers %d, want at least as many", dropped, account.Dropped.Total().Total())
	}
}

// A tmpfs in use can be made smaller, down to the size of its content.
func TestTmpfsIsMadeSmaller(t *testing.T) {
	v := newVolume(t)
	p := newPressed(t, "64m", v.Dir+"/dest", "--retain-bytes", "16Mi", "--segment-bytes", "1Mi")
	p.pour(5e6)
	p.persists()
	must(t, "mount", "-o", "remount,size=16m", p.source)
	thaw := v.freeze()
	p.lasts(long(20*time.Second, 4*time.Second))
	// The backlog cannot use the space of the checkpoint.
	if budget := p.metric("ullage_budget_bytes"); budget > 16*mib || budget < 15*mib {
		t.Errorf("the budget is %v, want 15 to 16 MiB, as the smaller tmpfs allows", budget)
	}
	if n := p.flood.Lost(); n > 0 {
		t.Errorf("the writer found no room for %d records, want 0", n)
	}
	if p.metric(spooledBytes) < 10e6 {
		t.Error("less than 10 MB was moved to the spool, want more: the thresholds are still those of the larger tmpfs")
	}
	thaw()
	p.persists()
	p.settles()
}

// Our machines cannot persist lines at this rate. The sidecar drops the excess and writes markers. If the writer is
// too fast even for that, the writer finds the tmpfs full, and its lines are cut.
func TestTwoHundredMegabytesASecond(t *testing.T) {
	p := newPressed(t, "64m", filepath.Join(t.TempDir(), "dest"))
	p.pour(200e6)
	begun := time.Now()
	p.lasts(long(10*time.Second, 2*time.Second))
	rate := float64(p.flood.Bytes()) / time.Since(begun).Seconds() / 1e6
	p.persists()
	if lost, cut := p.flood.Lost(), p.metric(cutLines); lost == 0 && cut > 0 {
		t.Errorf("%v lines are counted as cut although the tmpfs was never full, want 0", cut)
	}
	lost := p.flood.Lost()
	account := p.settles()
	t.Logf("%.0f MB/s were reached; the full tmpfs cost %d records, the sidecar dropped %d lines",
		rate, lost, account.Dropped.Total().Total())
}

// A healthy disk takes the whole flood.
func TestFiftyMegabytesASecondForAMinute(t *testing.T) {
	if !long(true, false) {
		t.Skip("takes a minute: set ULLAGE_FAULT_LONG=1 to run it")
	}
	p := newPressed(t, "64m", filepath.Join(t.TempDir(), "dest"), "--retain-bytes", "8Gi")
	p.pour(50e6)
	begun := time.Now()
	p.lasts(time.Minute)
	rate := float64(p.flood.Bytes()) / time.Since(begun).Seconds() / 1e6
	dropped, lost := p.counted(), p.flood.Lost()
	account := p.settles()
	healthy := lab.NewTable("A healthy disk, through a tmpfs of 64 MiB", "for", "MB/s", "lines", "dropped", "lost by the JVM", "slowest write")
	healthy.Add(time.Minute, fmt.Sprintf("%.1f", rate), account.Written.Total(), account.Dropped.Total().Total(), account.Cut, p.flood.Latency(0).Slowest)
	healthy.Print(t)
	if dropped > 0 || lost > 0 || account.Dropped.Total().Total() > 0 {
		t.Errorf("%d lines were dropped, and the full tmpfs cost %d records, want 0 and 0", account.Dropped.Total().Total(), lost)
	}
}

// While there was no sidecar, JVMs have filled the tmpfs, and now the destination is frozen. One JVM still runs, and
// cannot write, so nothing shows that it wants to. The new sidecar makes room for it by moving lines, and drops none.
func TestTmpfsIsFullAtAStartWithAFrozenDestination(t *testing.T) {
	v := newVolume(t)
	p := newPressed(t, "64m", v.Dir+"/dest", "--retain-bytes", "160Mi", "--segment-bytes", "1Mi")
	p.pour(1e6)
	p.persists()
	p.side.Kill()
	const ended = "ended.log"
	filler := lab.RunFlood(p.T, lab.Flood{Path: filepath.Join(p.source, ended), Seed: 1, Rate: 50e6})
	lab.Eventually(t, patience, "the writers find no room", func() bool { return filler.Lost() > 0 && p.flood.Lost() > 0 })
	if _, err := filler.Stop(); err != nil {
		t.Fatal(err)
	}
	thaw := v.freeze()
	defer thaw() // before the sidecar is killed, because a kill waits for a frozen volume
	p.side = lab.Run(t, p.source, p.dest, p.flags...)
	written := p.flood.Bytes()
	lab.Eventually(t, patience, "the writer has room again", func() bool { return p.flood.Bytes() > written+mib })
	thaw()
	p.persists()
	if n := p.counted() + p.countedOf(ended); n > 0 {
		t.Errorf("%d lines were dropped, want 0: moving them makes room for a JVM that writes 1 MB/s", n)
	}
	p.settles()
}

// If the tmpfs has no size limit, only the JVM's memory limit bounds a backlog. The sidecar warns of that, and
// keeps to --budget if it is set.
func TestTmpfsWithoutASize(t *testing.T) {
	v := newVolume(t)
	source := t.TempDir()
	must(t, "mount", "-t", "tmpfs", "-o", "size=0,mode=1777", "ullage", source)
	t.Cleanup(func() { _ = unix.Unmount(source, unix.MNT_DETACH) })
	side := lab.Run(t, source, v.Dir+"/dest")
	saysOf(t, side, "source has no size limit", "--budget", "memory")
	side.Kill()

	const budget = 8 * mib
	p := &pressed{T: t, source: source, dest: v.Dir + "/dest", side: lab.Run(t, source, v.Dir+"/dest", "--budget", "8Mi", "--sync-interval", "100ms")}
	p.pour(5e6)
	p.persists()
	thaw := v.freeze()
	most := int64(0)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var st unix.Stat_t // a tmpfs without a size does not report its use
		if err := unix.Stat(filepath.Join(source, stream), &st); err != nil {
			t.Fatal(err)
		}
		most = max(most, st.Blocks*512)
	}
	spooled := p.metric(spooledBytes)
	thaw()
	p.persists()
	t.Logf("a budget of 8 MiB, at most %.1f MiB in use", float64(most)/mib)
	if most > budget {
		t.Error("the backlog grew beyond the budget, want at most 8 MiB")
	}
	if p.settles(); spooled < 5e6 {
		t.Errorf("%.0f bytes were moved to the spool, want at least 5 MB of the 15 MB that were written", spooled)
	}
}

func TestBudgetIsLargerThanTheTmpfs(t *testing.T) {
	needRoot(t)
	side := lab.Run(t, lab.Tmpfs(t, "16m"), filepath.Join(t.TempDir(), "dest"), "--budget", "64Mi")
	code, err := side.Wait(patience)
	if err != nil || code == 0 {
		t.Fatalf("exit code %d, error %v; want a failure and no error of the wait", code, err)
	}
	saysOf(t, side, "--budget", "64Mi", "16Mi")
}

// Go runs the tests of a package in the order of its files' names, so nearly all of them run before this one. It
// prints the peak memory, and the table of the lines in these tests.
func TestPeakMemoryOfAllSidecars(t *testing.T) {
	peak, count := memory.most()
	scenarios.Print(t)
	memory := lab.NewTable("Memory of all sidecars", "sidecars", "highest peak", "limit")
	memory.Add(count, fmt.Sprintf("%.1f MiB", float64(peak)/mib), fmt.Sprintf("%d MiB", mostMemory/mib))
	memory.Print(t)
	if peak > mostMemory {
		t.Errorf("a sidecar took %d bytes, want at most %d", peak, mostMemory)
	}
}
