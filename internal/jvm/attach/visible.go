package attach

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/kernel"
)

// Processes returns every visible JVM, whatever files it has open and however many there are, or
// that of cfg.PID, and the errors that hid others.
func Processes(ctx context.Context, cfg Config) ([]JVM, []error) {
	c := New(cfg, "")
	f := finding{known: map[string]bool{}, all: true, seen: map[inode]bool{}}
	c.findProcesses(ctx, &f)
	return f.JVMs, f.Problems
}

// Process returns the number of the JVM's process in our namespace, or 0 if only its socket is
// known.
func (j JVM) Process() int { return j.host }

// Started returns when the JVM's process started, in clock ticks since boot, or 0 if only its
// socket is known.
func (j JVM) Started() uint64 { return j.start }

// User returns the user of the JVM.
func (j JVM) User() kernel.User { return kernel.User{UID: j.uid, GID: j.gid} }

// Arguments returns the JVM's command line, without the program. It may contain anything.
func (j JVM) Arguments() []string {
	text, err := readProc(j.host, "cmdline")
	if err != nil {
		return nil // it has ended
	}
	return strings.Split(strings.TrimRight(text, "\x00"), "\x00")[1:]
}

// OpenDir opens a directory by the path that the JVM uses, for lookups only. No link leads out of
// the JVM's root.
func (j JVM) OpenDir(path string) (*os.File, error) {
	fd, err := openDirOf(j.host, path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Users returns the users of the JVMs here, each once. Of a process of another user only the name
// shows that it is a JVM. If no process is called java, process 1 is taken for one: a container
// was started with it.
func Users() (all []kernel.User, err error) {
	pids, err := visible()
	if err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	of := func(pid int) {
		if st, err := readStatus(pid); err == nil && pid != os.Getpid() {
			if u := (kernel.User{UID: st.uid, GID: st.gid}); !slices.Contains(all, u) {
				all = append(all, u)
			}
		}
	}
	for _, pid := range pids {
		if comm, err := readProc(pid, "comm"); err == nil && strings.TrimSpace(comm) == "java" {
			of(pid)
		}
	}
	if len(all) == 0 {
		of(1)
	}
	return all, nil
}
