package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// machine describes the machine and the versions on which the figures depend.
type machine struct {
	CPU       string
	Cores     int
	MemoryMiB int
	Kernel    string
	Disk      string // the type of its file system
	Versions  []string
}

// describe describes this machine. A field that the system does not report stays empty.
func describe(ullage, dest string, jdks []lab.JDK) machine {
	m := machine{Cores: runtime.NumCPU(), CPU: field("/proc/cpuinfo", "model name")}
	if kib, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m.MemoryMiB = kib / 1024
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if out, err := exec.Command("stat", "-f", "-c", "%T", dest).Output(); err == nil {
		m.Disk = strings.TrimSpace(string(out))
	}
	if out, err := exec.Command(ullage, "version").Output(); err == nil {
		first, _, _ := bytes.Cut(out, []byte("\n"))
		m.Versions = append(m.Versions, "ullage "+strings.TrimSpace(strings.TrimPrefix(string(first), "version:")))
	}
	m.Versions = append(m.Versions, runtime.Version())
	for _, jdk := range jdks {
		m.Versions = append(m.Versions, jdk.String())
	}
	return m
}

// field returns the first value of a key in a file of "key : value" lines.
func field(path, key string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// ticks are the CPU times of the machine since it started, in hundredths of a second.
type ticks struct{ total, stolen, busy float64 }

// now reads the first line of /proc/stat, which has the form "cpu user nice system idle iowait irq
// softirq steal": see proc(5).
func now() (t ticks) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	first, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(first)
	for i := 1; i < len(fields) && i <= 8; i++ {
		v, _ := strconv.ParseFloat(fields[i], 64)
		t.total += v
		switch {
		case i == 8:
			t.stolen = v
		case i <= 3:
			t.busy += v
		}
	}
	return t
}

// noise describes the load before the run, and the CPU time that other machines have taken since then. before has
// the ticks of that time.
func noise(load float64, before ticks) string {
	after := now()
	share := 0.0
	if after.total > before.total {
		share = (after.stolen - before.stolen) / (after.total - before.total) * 100
	}
	return fmt.Sprintf("load average %.2f before the run (0 is quiet); %.2f %% of the CPU time was stolen by other machines", load, share)
}

// loadAverage returns the kernel's load average over the last minute.
func loadAverage() float64 {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info) // fails only for a bad pointer
	return float64(info.Loads[0]) / 65536
}

// Limits on the other work of the machine. The page states them.
const (
	calmOthers      = 0.10 // of a core, in each of the seconds that must be quiet before a round
	disturbedOthers = 0.25 // of a core, on average over a measurement
	mostStolen      = 0.02 // of the CPU time, in both cases
)

// noted is the work of the machine, apart from the run, during some time.
type noted struct {
	over   time.Duration
	others float64 // cores that other processes used
	stolen float64 // share of the CPU time that other machines took
	load   float64 // the load average at the end

	mostOthers, mostStolen float64 // in the worst second
}

func (n noted) calm() bool { return n.others <= calmOthers && n.stolen <= mostStolen }

func (n noted) disturbed() bool { return n.others > disturbedOthers || n.stolen > mostStolen }

func (n noted) String() string {
	return fmt.Sprintf("other processes take %.0f %% of a core, other machines %.1f %% of the CPU time, load average %.1f", 100*n.others, 100*n.stolen, n.load)
}

// enter adds the other work of the machine to the figures of a measurement, under keys that no table
// uses.
func (n noted) enter(f figures) {
	if f == nil {
		return
	}
	f["noise.others"], f["noise.othersMost"] = n.others, n.mostOthers
	f["noise.stolen"], f["noise.stolenMost"] = n.stolen, n.mostStolen
	f["noise.load"] = n.load
}

// A moment has the CPU times of the machine at one point in time, in hundredths of a second.
type moment struct {
	at     time.Time
	all    ticks
	own    float64         // of this program and all processes that it has started
	kernel map[int]float64 // of each kernel thread, which also works for the run, for instance when it writes to the disk
}

// since returns the work of the machine, apart from this program, between two moments.
func (m moment) since(before moment) noted {
	n := noted{over: m.at.Sub(before.at), load: loadAverage()}
	if hundredths := n.over.Seconds() * 100; hundredths > 0 {
		used := m.all.busy - before.all.busy - (m.own - before.own)
		for pid, now := range m.kernel {
			used -= max(0, now-before.kernel[pid])
		}
		n.others = max(0, used/hundredths)
	}
	if total := m.all.total - before.all.total; total > 0 {
		n.stolen = (m.all.stolen - before.all.stolen) / total
	}
	n.mostOthers, n.mostStolen = n.others, n.stolen
	return n
}

// kthreadd is the process ID of the parent of all kernel threads.
const kthreadd = 2

// takeMoment reads the counters of the kernel. In a container with a process namespace, kernel
// threads are not visible, so their CPU time is attributed to other processes.
func takeMoment() moment {
	m := moment{at: time.Now(), all: now(), kernel: map[int]float64{}}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	parents, times := map[int]int{}, map[int]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))) // the pattern admits only digits
		parents[pid], times[pid] = parseStat(string(text))
	}
	for pid, parent := range parents {
		if parent == kthreadd || pid == kthreadd {
			m.kernel[pid] = times[pid]
		}
		if descends(pid, os.Getpid(), parents) {
			m.own += times[pid]
		}
	}
	return m
}

// descends reports whether the process pid is the process from or a descendant of it.
func descends(pid, from int, parents map[int]int) bool {
	for range parents { // bounded, since a process ID may have been reused while the files were read
		if pid == from {
			return true
		}
		if pid = parents[pid]; pid == 0 {
			return false
		}
	}
	return false
}

// parseStat parses /proc/PID/stat: see proc(5). It returns the parent of the process, and the CPU
// time of the process and of the children that it has waited for.
func parseStat(text string) (parent int, hundredths float64) {
	_, rest, _ := cutLast(text, ")") // a name may contain spaces and parentheses
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	for _, field := range fields[11:15] {
		v, _ := strconv.ParseFloat(field, 64)
		hundredths += v
	}
	return parent, hundredths
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// thisMachine returns the other work of the machine during the next second.
func thisMachine() noted {
	before := takeMoment()
	time.Sleep(time.Second)
	return takeMoment().since(before)
}

// watchMachine observes the machine every second until end is called, which returns the result.
func watchMachine() (end func() noted) {
	done, result := make(chan struct{}), make(chan noted)
	go func() {
		first := takeMoment()
		last, most := first, noted{}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-tick.C:
				next := takeMoment()
				n := next.since(last)
				most.others, most.stolen = max(most.others, n.others), max(most.stolen, n.stolen)
				last = next
			}
		}
		n := takeMoment().since(first)
		n.mostOthers, n.mostStolen = max(n.others, most.others), max(n.stolen, most.stolen)
		result <- n
	}()
	return func() noted {
		close(done)
		return <-result
	}
}
