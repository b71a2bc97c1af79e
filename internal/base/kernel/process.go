package kernel

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// State is what a process is doing.
type State int

const (
	Running State = iota // or nothing is known about it
	Stopped              // by a signal or a debugger: it may continue
	Dying                // it was killed or exits, or is gone: it executes no more of its program
)

// Flags of a thread in the kernel's include/linux/sched.h.
const (
	exiting  = 0x4
	signaled = 0x400 // it exits because of a signal
)

// Program is how the executable of another process compares with that of this process.
type Program int

const (
	Unseen Program = iota // not shown, or a different file with our name
	Same                  // the file that this process runs
	Other                 // a file with another name
)

// ProgramOf compares the executable of a process that this process can see with its own
// executable. The kernel shows the executables of the same user's processes, except processes
// that have made themselves undumpable, as a sidecar does. A name proves nothing: a file with
// our name may or may not be another version of this program.
func ProgramOf(pid int) Program {
	theirs := fmt.Sprintf("/proc/%d/exe", pid)
	name, err := os.Readlink(theirs)
	if err != nil {
		return Unseen
	}
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return Unseen
	}
	const deleted = " (deleted)"
	if filepath.Base(strings.TrimSuffix(name, deleted)) != filepath.Base(strings.TrimSuffix(own, deleted)) {
		return Other
	}
	is, err1 := os.Stat(theirs)
	was, err2 := os.Stat("/proc/self/exe")
	if err1 == nil && err2 == nil && os.SameFile(is, was) {
		return Same
	}
	return Unseen
}

// StateOf returns the state of a process that this process can see. It looks at
// every thread: the kernel shows SIGKILL as pending for each thread that has
// not begun to exit, and the first thread may have ended long before the last.
func StateOf(pid int) State {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, _ := os.ReadDir(dir) // also fails if /proc hides the processes of others
	state := Running
	for _, entry := range threads {
		stat, err := os.ReadFile(filepath.Join(dir, entry.Name(), "stat"))
		if err != nil {
			continue // the thread has ended
		}
		state = max(state, thread(stat, entry.Name() == strconv.Itoa(pid)))
	}
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return Dying
	}
	return state
}

// thread returns the state of a process according to the stat file of one of its threads.
func thread(stat []byte, first bool) State {
	// The name of the thread is in parentheses, and can contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 29 {
		return Running
	}
	flags, _ := strconv.ParseUint(string(fields[6]), 10, 64)
	pending, _ := strconv.ParseUint(string(fields[28]), 10, 64)
	switch state := fields[0][0]; {
	case pending&(1<<(syscall.SIGKILL-1)) != 0, flags&signaled != 0:
		return Dying
	case first && (state == 'Z' || state == 'X' || flags&exiting != 0):
		return Dying
	case state == 'T', state == 't':
		return Stopped
	}
	return Running
}
