package kernel

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxFile   = 4 << 10 // the most bytes that are read from a file
	usualFile = 512     // the usual size of a file, in bytes
)

// ReadSmall returns the first 4 KiB of a file as [ReadUpTo] reads it.
func ReadSmall(at int, name string) []byte { return ReadUpTo(at, name, maxFile) }

// ReadUpTo returns the beginning of a regular file below the open directory at, or nil; see
// openat(2) for the names. The container of a JVM may have put anything in place of the file, so
// opening must not wait. os.File would cost twice as many system calls.
func ReadUpTo(at int, name string, most int) []byte {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	text := make([]byte, 0, usualFile)
	for len(text) < most {
		text = slices.Grow(text, 1)
		n, err := unix.Read(fd, text[len(text):min(cap(text), most)])
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

// GroupDirs returns the directories where the control group of a process may be: at its path in the
// hierarchy, which is valid if the process shares our view of the hierarchy, and in the file system
// of the process, where a container shows its own group. root is "/" except in tests. controller is
// for version 1 of the interface; version 2 has one directory for all controllers.
func GroupDirs(root, process, controller string) []string {
	base, path := "sys/fs/cgroup", ""
	for line := range strings.Lines(string(ReadSmall(unix.AT_FDCWD, filepath.Join(root, "proc", process, "cgroup")))) {
		// hierarchy, controllers, path
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(fields) < 3:
		case controller != "" && slices.Contains(strings.Split(fields[1], ","), controller):
			base, path = filepath.Join("sys/fs/cgroup", controller), fields[2]
		case fields[0] == "0" && path == "":
			path = fields[2]
		}
	}
	dirs := []string{filepath.Join("proc", process, "root", base)}
	if strings.HasPrefix(path, "/") && !strings.Contains(path, "..") {
		dirs = slices.Insert(dirs, 0, filepath.Join(base, path))
	}
	return dirs
}

// Group is the memory control group of a process. It is not safe for concurrent use. Close it.
type Group struct {
	dir int
	v1  bool
}

// Memory is what a control group shows of its memory, in bytes. A field of 0 is not known.
type Memory struct {
	Limit int64 // of this group itself; also 0 if there is no limit
	Peak  int64 // the most that was in use

	// Kills counts the processes of the group that the kernel has killed because the group or the
	// machine had no memory left. Hits counts how often the group itself was at its limit; in
	// version 2, only if no memory could be freed.
	Kills, Hits uint64
}

// GroupOf returns the control group of a process, or nil if this process cannot see its counters.
func GroupOf(process int) *Group { return groupOf("/", strconv.Itoa(process)) }

func groupOf(root, process string) *Group {
	for _, dir := range GroupDirs(root, process, "memory") {
		fd, err := unix.Open(filepath.Join(root, dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		for _, v1 := range []bool{false, true} {
			g := &Group{fd, v1}
			if _, ok := g.Memory(); ok {
				return g
			}
		}
		unix.Close(fd)
	}
	return nil
}

// Close frees the descriptor of the directory.
func (g *Group) Close() { unix.Close(g.dir) }

// Memory returns the counters. They disappear with the group, which is removed with its container
// soon after the last process has ended.
func (g *Group) Memory() (Memory, bool) {
	events, limit, peak := "memory.events", "memory.max", "memory.peak"
	if g.v1 {
		events, limit, peak = "memory.oom_control", "memory.limit_in_bytes", "memory.max_usage_in_bytes"
	}
	text := ReadSmall(g.dir, events)
	kills, ok := counted(text, "oom_kill")
	if !ok {
		return Memory{}, false
	}
	m := Memory{Kills: kills, Limit: g.amount(limit), Peak: g.amount(peak)}
	if m.Hits, _ = counted(text, "oom"); g.v1 {
		m.Hits = uint64(g.amount("memory.failcnt"))
	}
	return m, true
}

// counted returns the value of a key in a file of lines such as "oom_kill 1".
func counted(text []byte, key string) (uint64, bool) {
	for line := range bytes.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " "); name == key {
			n, err := strconv.ParseUint(value, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// unlimited is more than any memory: version 1 shows nearly 2^63 for a group without a limit.
const unlimited = 1 << 60

// amount returns the number in a file, or 0.
func (g *Group) amount(name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(string(ReadSmall(g.dir, name))), 10, 64)
	if err != nil || n < 0 || n >= unlimited {
		return 0
	}
	return n
}

// TmpfsUsed returns how many bytes of the tmpfs of a directory are in use, or 0 if the directory is
// not on a tmpfs.
func TmpfsUsed(dir string) int64 {
	var st unix.Statfs_t
	if err := Retry(func() error { return unix.Statfs(dir, &st) }); err != nil || st.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return int64(st.Blocks-st.Bfree) * int64(st.Bsize)
}
