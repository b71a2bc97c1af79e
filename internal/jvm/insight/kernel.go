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
	maxProcesses = 4096 // that are looked at
	maxCgroups   = 16
)

// kernelCounters reads the kernel's files below a directory, which is "/" but in tests. A file
// that is missing, or has another form, means an unknown counter.
type kernelCounters struct{ root string }

// read returns the beginning of a file, see [kernel.ReadSmall].
func (k kernelCounters) read(name string) []byte {
	return kernel.ReadSmall(unix.AT_FDCWD, filepath.Join(k.root, name))
}

// pressure reads for how long tasks waited, of the directory of the node or of a cgroup.
// The form is that of Documentation/accounting/psi.rst: "some avg10=... total=12345",
// in microseconds.
func (k kernelCounters) pressure(dir, suffix string) (of [numCounters]time.Duration) {
	of[throttled] = -1
	for c, name := range map[counter]string{memory: "memory", disk: "io", cpu: "cpu"} {
		of[c] = -1
		line, _, _ := bytes.Cut(k.read(filepath.Join(dir, name+suffix)), []byte("\n"))
		if total, ok := bytes.CutPrefix(line, []byte("some ")); ok {
			_, number, _ := bytes.Cut(total, []byte("total="))
			of[c] = micros(number)
		}
	}
	return of
}

// throttled reads for how long a cgroup was throttled.
func (k kernelCounters) throttled(dir string) time.Duration {
	for line := range bytes.Lines(k.read(filepath.Join(dir, "cpu.stat"))) {
		if number, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("throttled_usec ")); ok {
			return micros(number)
		}
	}
	return -1
}

// micros reads a number of microseconds, or returns a negative duration.
func micros(text []byte) time.Duration {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > int64(1<<62)/int64(time.Microsecond) {
		return -1
	}
	return time.Duration(n) * time.Microsecond
}

// cgroups returns the directories of the cgroups that the visible JVMs are in, sorted.
func (k kernelCounters) cgroups() []string {
	dir, err := os.Open(filepath.Join(k.root, "proc"))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxProcesses)
	var found []string
	var seen []os.FileInfo
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil || strings.TrimSpace(string(k.read(filepath.Join("proc", name, "comm")))) != "java" {
			continue
		}
		for _, candidate := range kernel.GroupDirs(k.root, name, "") {
			if k.throttled(candidate) < 0 {
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
	return found[:min(len(found), maxCgroups)]
}
