package sinks

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// freezable returns a directory on a file system of its own, and what freezes and thaws it.
func freezable(t *testing.T) (dir string, freeze, thaw func()) {
	t.Helper()
	lab.NeedsRoot(t, "it mounts a file system")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	image := filepath.Join(lab.Tmpfs(t, "600m"), "image")
	run("truncate", "-s", "512M", image)
	run("mkfs.ext4", "-q", "-F", image)
	dir = t.TempDir()
	run("mount", "-o", "loop", image, dir)
	t.Cleanup(func() {
		_ = exec.Command("fsfreeze", "-u", dir).Run() // fails unless it is frozen
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	})
	return dir, func() { t.Helper(); run("fsfreeze", "-f", dir) }, func() { t.Helper(); run("fsfreeze", "-u", dir) }
}

// The destination stands still, lines are dropped, and meanwhile the server is killed: the
// Collector has what the segments have, markers too.
func TestLinesAreDroppedWhileTheServerIsAway(t *testing.T) {
	volume, freeze, thaw := freezable(t)
	c := newCollector(t)
	r := &lineRig{T: t, collector: c, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(volume, "dest"), flags: append(strings.Fields(lineFlags), c.sink(c.address()), "--budget", "2Mi")}
	r.start()
	flood := lab.RunFlood(t, lab.Flood{Path: filepath.Join(r.source, stream), Seed: 1, Rate: 2 << 20})
	r.arrives(1000)
	freeze()
	c.kill()
	time.Sleep(6 * time.Second)
	thaw()
	report, err := flood.Stop()
	r.must(err)
	c.start()
	r.must(r.side.Stop(5 * patience))
	account, err := lab.Settle(r.dest, stream, report)
	t.Logf("%v", account)
	if err != nil || !account.Exact() || account.Gaps == 0 {
		t.Errorf("error %v", err)
	}
	o := r.compare()
	t.Logf("%v", o)
	if !o.right() {
		t.Errorf("the sidecar logged:\n%s", r.side.Stderr())
	}
}

// A server says 200 and keeps nothing: nobody can know, but the counts differ by as much.
func TestOTLPServerThatKeepsNothing(t *testing.T) {
	c := newCollector(t)
	p := newProxyTo(t, c.address(), c.pair())
	r := newLineRig(t, c, c.sink(p.URL), 5000)
	const began, ended = 1, 1 // the marks of the sidecar's start and end are lines as well
	r.arrives(2000)
	p.fault.Store(swallows)
	r.arrives(2000)
	p.fault.Store(passes)
	r.arrives(2000)
	r.stop()
	lab.Eventually(t, patience, "all lines are acknowledged", func() bool { return int(r.sum("ullage_sink_lines_total")) == r.writer.Written()+began })
	acknowledged := int(r.sum("ullage_sink_lines_total")) + ended
	r.must(r.side.Stop(patience))
	kept := len(c.documents(t))
	o := r.compare()
	t.Logf("%d lines are acknowledged, the server has %d: %v", acknowledged, kept, o)
	if o.missing == 0 || acknowledged-kept != o.missing || o.changed+o.foreign+o.repeated > 0 {
		t.Error("the counts do not show what is missing")
	}
}

// What a sink adds to the memory of a sidecar, most at any moment.
func TestMemoryOfLineSinks(t *testing.T) {
	table := lab.NewTable("memory of a sidecar at 20,000 lines/s for 10 s, most at any moment", "sink", "memory", "more than without")
	t.Cleanup(func() { table.Print(t) })
	var without int64
	for _, c := range []struct {
		name  string
		start func(*testing.T) *collector
	}{
		{"none", nil},
		{"OTLP", newCollector},
	} {
		r := &lineRig{T: t, source: lab.Tmpfs(t, "64m"), dest: filepath.Join(t.TempDir(), "dest"), flags: strings.Fields(lineFlags)}
		if r.flags = r.flags[:len(r.flags)-1]; c.start != nil {
			e := c.start(t)
			r.flags = append(r.flags, "--sink", e.sink(e.address()))
		}
		r.start()
		_, stop := lab.Write(t, lab.Output{Path: filepath.Join(r.source, stream), Seed: 1, Rate: 20_000})
		time.Sleep(10 * time.Second)
		stop()
		peak, err := r.side.PeakMemory()
		r.must(err)
		r.must(r.side.Stop(5 * patience))
		if without == 0 {
			without = peak
		}
		table.Add(c.name, peak, peak-without)
		if more := peak - without; more > 8<<20 {
			t.Errorf("%s adds %d bytes, more than 8 MiB", c.name, more)
		}
	}
}
