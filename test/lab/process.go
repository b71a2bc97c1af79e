package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Memory returns how many bytes of its own memory a process uses: its resident memory without pages of files, such as
// the program's, which are in the page cache anyway. It fails once the process has ended.
func Memory(pid int) (int64, error) {
	figures, err := residents(pid)
	return figures["RssAnon"] + figures["RssShmem"], err
}

// PeakMemory returns the peak of a process's own memory in bytes: the peak of its resident memory minus the pages of
// files that are resident now. The figure is never below Memory. It is too low by the pages of files that were loaded
// after the peak. PeakMemory fails once the process has ended.
func PeakMemory(pid int) (int64, error) {
	figures, err := residents(pid)
	return figures["VmHWM"] - figures["RssFile"], err
}

// CPUTime returns the user and system time of a running process, from its CPU-time clock: see
// clock_getcpuclockid(3).
func CPUTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// residents returns what the kernel reports about the resident memory of a process, in bytes: see proc_pid_status(5).
func residents(pid int) (map[string]int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, fmt.Errorf("read memory of a process: %w", err)
	}
	figures := map[string]int64{}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		if key != "VmHWM" && !strings.HasPrefix(key, "Rss") {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read memory of a process: %w", err)
		}
		figures[key] = kib << 10
	}
	if figures["VmHWM"] == 0 {
		return nil, fmt.Errorf("read memory of a process: %d has ended", pid)
	}
	return figures, nil
}
