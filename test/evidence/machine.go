package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// machine is what the figures depend on.
type machine struct {
	CPU       string
	Cores     int
	MemoryMiB int
	Kernel    string
	Disk      string // the type of its file system
	Versions  []string
}

// describe asks the system. What it does not know stays empty.
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
type ticks struct{ total, stolen float64 }

// now reads the first line of /proc/stat, as proc(5) describes it: "cpu user
// nice system idle iowait irq softirq steal".
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
		if i == 8 {
			t.stolen = v
		}
	}
	return t
}

// noise says what the machine lost to other machines since before, and the
// load with which the run began.
func noise(load float64, before ticks) string {
	after := now()
	share := 0.0
	if after.total > before.total {
		share = (after.stolen - before.stolen) / (after.total - before.total) * 100
	}
	return fmt.Sprintf("load average %.2f before the run (0 is quiet); %.2f %% of the CPU time was stolen by other machines", load, share)
}

// loadAverage is the kernel's, over the last minute.
func loadAverage() float64 {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info) // it fails for no pointer of ours
	return float64(info.Loads[0]) / 65536
}
