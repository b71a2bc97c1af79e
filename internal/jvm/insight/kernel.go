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
)

const (
	maxFile      = 4 << 10 // bytes that are read of a file
	usualFile    = 512     // bytes that a file has
	maxProcesses = 4096    // that are looked at
	maxCgroups   = 16
)

// kernelCounters reads the kernel's files below a directory, which is "/" but in tests. A file
// that is missing, or has another form, means an unknown counter.
type kernelCounters struct{ root string }

// read returns the beginning of a regular file, or nil. The container of a JVM may have
// put anything in its place, so that opening must not wait. os.File would cost twice as
// many system calls, several times a second.
func (k kernelCounters) read(name string) []byte {
	fd, err := unix.Open(filepath.Join(k.root, name), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	text := make([]byte, 0, usualFile)
	for len(text) < maxFile {
		text = slices.Grow(text, 1)
		n, err := unix.Read(fd, text[len(text):min(cap(text), maxFile)])
		switch text = text[:len(text)+max(0, n)]; {
		case err == unix.EINTR:
		case err != nil:
			return nil
		case n == 0:
			return text
		}
	}
	return text
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

// cgroups returns the directories of the cgroups that the visible JVMs are in, sorted. A
// JVM in a container of its own shows its cgroup in its own file system; for another
// JVM, the path of the cgroup is valid as it is.
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
		for _, candidate := range []string{filepath.Join("proc", name, "root/sys/fs/cgroup"), k.path(name)} {
			if candidate == "" || k.throttled(candidate) < 0 {
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

// path returns the directory of the cgroup of a process, by its path in the hierarchy.
func (k kernelCounters) path(process string) string {
	line, _, _ := strings.Cut(string(k.read(filepath.Join("proc", process, "cgroup"))), "\n")
	path, ok := strings.CutPrefix(line, "0::/")
	if !ok || strings.Contains(path, "..") {
		return ""
	}
	return filepath.Join("sys/fs/cgroup", path)
}
