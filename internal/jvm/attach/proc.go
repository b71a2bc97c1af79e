package attach

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxPID      = 1 << 22  // PID_MAX_LIMIT of the kernel
	maxProcText = 1 << 20  // bytes of a small file of /proc; a status file may list 65,536 groups
	maxMaps     = 16 << 20 // bytes of /proc/PID/maps: 65,530 mappings of about 100 bytes each
)

func procPath(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// readProc returns the first maxProcText bytes of a file of /proc/PID.
func readProc(pid int, name string) (string, error) {
	f, err := os.Open(procPath(pid, name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProcText))
	return string(text), err
}

// startTime returns when a process started, in clock ticks since boot. Together with the process
// ID, this identifies the process. If the process has ended, the error is ESRCH, even before its
// parent has reaped it.
func startTime(pid int) (uint64, error) {
	text, err := readProc(pid, "stat")
	if err != nil {
		return 0, err
	}
	return parseStat(text)
}

// parseStat parses the start time in /proc/PID/stat (proc_pid_stat(5)). The second field is a name
// in parentheses, which may contain anything.
func parseStat(text string) (uint64, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return 0, errors.New("read stat of process: too short")
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return 0, unix.ESRCH
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read start time of process: %w", err)
	}
	return start, nil
}

// status has some fields of /proc/PID/status.
type status struct {
	uid, gid    uint32 // effective
	pid         int    // the process ID in its own namespace
	threads     int
	catchesQuit bool // has a handler for SIGQUIT
}

func readStatus(pid int) (status, error) {
	text, err := readProc(pid, "status")
	if err != nil {
		return status{}, err
	}
	return parseStatus(text)
}

// parseStatus parses the format of proc_pid_status(5).
func parseStatus(text string) (status, error) {
	field := map[string][]string{}
	for line := range strings.Lines(text) {
		key, values, _ := strings.Cut(line, ":")
		switch key {
		case "Uid", "Gid", "NSpid", "Threads", "SigCgt":
			field[key] = strings.Fields(values)
		}
	}
	var bad error
	number := func(key string, at, base, bits int) uint64 {
		values := field[key]
		if at < 0 {
			at += len(values)
		}
		if at < 0 || at >= len(values) {
			bad = fmt.Errorf("read status of process: no %s", key)
			return 0
		}
		n, err := strconv.ParseUint(values[at], base, bits)
		if err != nil {
			bad = fmt.Errorf("read status of process: %s: %w", key, err)
		}
		return n
	}
	s := status{
		uid:     uint32(number("Uid", 1, 10, 32)),
		gid:     uint32(number("Gid", 1, 10, 32)),
		pid:     int(number("NSpid", -1, 10, 23)),
		threads: int(number("Threads", 0, 10, 31)),
	}
	// Bit n-1 represents signal n.
	s.catchesQuit = number("SigCgt", 0, 16, 64)>>(unix.SIGQUIT-1)&1 == 1
	return s, bad
}

// mapsJVM reports whether a process maps libjvm.so as executable. Profilers map
// it too, to read it.
func mapsJVM(pid int) (bool, error) {
	f, err := os.Open(procPath(pid, "maps"))
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(io.LimitReader(f, maxMaps), 16<<10)
	for {
		line, err := lines.ReadSlice('\n')
		line = bytes.TrimSuffix(bytes.TrimSpace(line), []byte(" (deleted)"))
		// address, permissions such as "r-xp", offset, device, inode, path
		fields := bytes.Fields(line)
		if bytes.HasSuffix(line, []byte("/libjvm.so")) && len(fields) > 1 && bytes.IndexByte(fields[1], 'x') >= 0 {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return false, err
		}
	}
}

// runsVM reports whether a process has the thread that every HotSpot JVM has. A program that only
// maps libjvm.so does not have it.
func runsVM(pid int) bool {
	tasks, _ := list(procPath(pid, "task"))
	for _, tid := range tasks {
		if comm, err := readProc(pid, "task/"+tid+"/comm"); err == nil && strings.TrimSpace(comm) == "VM Thread" {
			return true
		}
	}
	return false
}

// attachDisabled reports whether a JVM was started with attaching disabled, according to its
// command line and environment in /proc, which are lists of strings that end with NUL. The last
// option takes effect, in the order in which HotSpot reads them. Files with options are not read.
func attachDisabled(cmdline, environ string) bool {
	env := map[string]string{}
	for _, entry := range strings.Split(environ, "\x00") {
		if name, value, _ := strings.Cut(entry, "="); strings.HasSuffix(name, "_OPTIONS") {
			env[name] = value
		}
	}
	options := strings.Fields(env["JAVA_TOOL_OPTIONS"] + " " + env["JDK_JAVA_OPTIONS"])
	options = append(options, strings.Split(cmdline, "\x00")...)
	options = append(options, strings.Fields(env["_JAVA_OPTIONS"])...)
	disabled := false
	for _, option := range options {
		switch strings.Trim(option, `"'`) {
		case "-XX:+DisableAttachMechanism":
			disabled = true
		case "-XX:-DisableAttachMechanism":
			disabled = false
		}
	}
	return disabled
}

// openDirOf opens a directory by the path that the process uses, only for lookups. An empty or
// relative path starts at the working directory of the process.
func openDirOf(pid int, dir string) (int, error) {
	if dir == "" {
		return unix.Open(procPath(pid, "cwd"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if dir[0] != '/' {
		root, err1 := os.Readlink(procPath(pid, "root"))
		cwd, err2 := os.Readlink(procPath(pid, "cwd"))
		inside, ok := strings.CutPrefix(cwd, strings.TrimSuffix(root, "/"))
		if err := errors.Join(err1, err2); err != nil || !ok {
			return -1, fmt.Errorf("look for working directory %q in %q: %w", cwd, root, errors.Join(err, unix.ENOENT))
		}
		dir = inside + "/" + dir
	}
	root, err := openRoot(pid)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return openIn(root, dir, unix.O_DIRECTORY)
}

func openRoot(pid int) (int, error) {
	return unix.Open(procPath(pid, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// openIn opens a path inside the directory root, as a process with that root would, only for
// lookups. No link leads out of root.
func openIn(root int, path string, flags uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range 16 {
		fd, err := unix.Openat2(root, path, &how)
		// The kernel gives up with EAGAIN if something is renamed during the lookup.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
	return -1, unix.EBUSY
}
