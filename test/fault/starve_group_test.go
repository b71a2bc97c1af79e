package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

const groups = "/sys/fs/cgroup"

// group is a control group with one limit.
type group struct {
	*testing.T
	dir, file string
	v2        bool   // version 2 of the interface
	device    string // major:minor; empty unless the limit is for a device
}

// cpuGroup limits its processes to a percentage of one processor.
func cpuGroup(t *testing.T) *group {
	t.Helper()
	return newGroup(t, "cpu", "cpu.cfs_quota_us", "cpu.max")
}

// deviceGroup limits how many writes a second its processes may send to the volume's device. Writes of the kernel's
// own threads, for instance for the journal, are not counted.
func deviceGroup(t *testing.T, v *volume) *group {
	t.Helper()
	g := newGroup(t, "blkio", "blkio.throttle.write_iops_device", "io.max")
	device, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(v.Loop), "dev"))
	if err != nil {
		t.Fatal(err)
	}
	g.device = strings.TrimSpace(string(device))
	return g
}

// newGroup makes a control group, of version 1 or version 2 of the interface, or skips the test. The group is removed
// after the test.
func newGroup(t *testing.T, controller, v1, v2 string) *group {
	t.Helper()
	needRoot(t)
	name := fmt.Sprintf("ullage-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	g := &group{T: t, dir: filepath.Join(groups, controller, name), file: v1}
	if _, err := os.Stat(filepath.Join(groups, "cgroup.controllers")); err == nil {
		g.dir, g.file, g.v2 = filepath.Join(groups, name), v2, true
		controller, _, _ = strings.Cut(v2, ".")
		_ = os.WriteFile(filepath.Join(groups, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		lab.Needs(t, "control groups: "+err.Error())
	}
	t.Cleanup(g.remove)
	if _, err := os.Stat(filepath.Join(g.dir, g.file)); err != nil {
		lab.Needs(t, "a kernel with this limit: "+err.Error())
	}
	return g
}

// writes sets the limit of writes a second; 0 means no limit.
func (g *group) writes(n int) {
	g.Helper()
	value := strconv.Itoa(n)
	if g.v2 && n == 0 {
		value = "max"
	}
	if g.v2 {
		value = "wiops=" + value
	}
	g.set(g.file, g.device+" "+value)
}

// percent sets the limit of processor time, in percent of one processor.
func (g *group) percent(n int) {
	g.Helper()
	value := strconv.Itoa(n * 1000)
	if g.v2 {
		value += " 100000"
	}
	g.set(g.file, value)
}

// throttled returns how long the limit of processor time has stopped processes.
func (g *group) throttled() time.Duration {
	g.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		g.Fatal(err)
	}
	name, unit := "throttled_time", time.Nanosecond
	if g.v2 {
		name, unit = "throttled_usec", time.Microsecond
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				g.Fatal(err)
			}
			return time.Duration(n) * unit
		}
	}
	g.Fatalf("cpu.stat has no %s:\n%s", name, text)
	return 0
}

// add puts a sidecar under the limit.
func (g *group) add(side *lab.Sidecar) {
	g.Helper()
	g.set("cgroup.procs", strconv.Itoa(side.PID()))
}

func (g *group) set(file, value string) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0); err != nil {
		g.Fatalf("set %q: %v", value, err)
	}
}

// free takes a process out of the group again.
func (g *group) free(pid string) {
	_ = os.WriteFile(filepath.Join(filepath.Dir(g.dir), "cgroup.procs"), []byte(pid), 0)
}

// remove moves the processes to the parent group and removes the group.
func (g *group) remove() {
	procs, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	for _, pid := range strings.Fields(string(procs)) {
		g.free(pid)
	}
	if err := os.Remove(g.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		g.Errorf("remove the control group: %v", err)
	}
}
