package insight

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	maxDiskFile  = 64 << 10 // bytes to read of /proc/diskstats
	maxMounts    = 1 << 20  // bytes to read of /proc/self/mountinfo
	maxProcesses = 4096     // entries of /proc to look at
	maxCgroups   = 16
)

// kernelCounters reads the kernel's files below root, which is "/" except in tests. If a file is
// missing or has an unexpected format, its counters are unknown.
type kernelCounters struct{ root string }

// read returns the beginning of a file, see [kernel.ReadSmall].
func (k kernelCounters) read(name string) []byte {
	return kernel.ReadSmall(unix.AT_FDCWD, filepath.Join(k.root, name))
}

// deviceOf returns the number of the device on which a directory is, as [kernel.DeviceOf] does,
// or "" if it is not known.
func (k kernelCounters) deviceOf(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	mounts := kernel.ReadUpTo(unix.AT_FDCWD, filepath.Join(k.root, "proc/self/mountinfo"), maxMounts)
	if len(mounts) == maxMounts { // the mount of the directory may be in the rest
		return ""
	}
	return kernel.DeviceOf(mounts, dir)
}

// pressure reads how long tasks waited. dir is the directory with the pressure files of the node or
// of a cgroup. Documentation/accounting/psi.rst describes their format: "some avg10=... total=12345"
// and "full avg10=... total=123", in microseconds. Some kernels leave out the full line.
func (k kernelCounters) pressure(dir, suffix string) counts {
	of := unknownCounts
	for c, name := range map[counter]string{memory: "memory", disk: "io", cpu: "cpu"} {
		some, rest, _ := bytes.Cut(k.read(filepath.Join(dir, name+suffix)), []byte("\n"))
		full, _, _ := bytes.Cut(rest, []byte("\n"))
		of.some[c], of.full[c] = total(some, "some "), total(full, "full ")
	}
	return of
}

// total returns the total in a line of a pressure file, or a negative duration.
func total(line []byte, kind string) time.Duration {
	rest, ok := bytes.CutPrefix(line, []byte(kind))
	if !ok {
		return -1
	}
	_, number, _ := bytes.Cut(rest, []byte("total="))
	return micros(number)
}

// throttled reads how long a cgroup was throttled, and in how many periods. In version 1 of
// cgroups, the time is in nanoseconds.
func (k kernelCounters) throttled(dir string) (lost time.Duration, periods int64) {
	lost, periods = -1, -1
	for line := range bytes.Lines(k.read(filepath.Join(dir, "cpu.stat"))) {
		name, text, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		n, err := strconv.ParseInt(string(text), 10, 64)
		switch {
		case err != nil || n < 0:
		case string(name) == "throttled_usec":
			lost = micros(text)
		case string(name) == "throttled_time":
			lost = time.Duration(n)
		case string(name) == "nr_throttled":
			periods = n
		}
	}
	return lost, periods
}

// micros parses a number of microseconds, or returns a negative duration.
func micros(text []byte) time.Duration {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > int64(1<<62)/int64(time.Microsecond) {
		return -1
	}
	return time.Duration(n) * time.Microsecond
}

// jvms returns the visible JVMs, and the directories of their cgroups, sorted.
func (k kernelCounters) jvms() (groups []string, processes []process) {
	dir, err := os.Open(filepath.Join(k.root, "proc"))
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxProcesses)
	var found []string
	var seen []os.FileInfo
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil || strings.TrimSpace(string(k.read(filepath.Join("proc", name, "comm")))) != "java" {
			continue
		}
		if len(processes) < maxCgroups {
			processes = append(processes, k.processOf(name))
		}
		for _, candidate := range kernel.GroupDirs(k.root, name, "cpu") {
			if lost, _ := k.throttled(candidate); lost < 0 {
				continue
			}
			info, err := os.Stat(filepath.Join(k.root, candidate))
			if err == nil && !slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
				found, seen = append(found, candidate), append(seen, info)
			}
			break
		}
	}
	slices.Sort(found)
	return found[:min(len(found), maxCgroups)], processes
}
