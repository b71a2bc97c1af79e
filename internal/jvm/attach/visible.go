package attach

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/kernel"
)

// Processes returns every visible JVM or, if cfg.PID is set, only that JVM, whatever files it has
// open. There is no bound on their number. It also returns the errors that may have hidden other
// JVMs.
func Processes(ctx context.Context, cfg Config) ([]JVM, []error) {
	c := New(cfg, "")
	f := finding{known: map[string]bool{}, all: true, seen: map[inode]bool{}}
	c.findProcesses(ctx, &f)
	return f.JVMs, f.Problems
}

// Process returns the process ID of the JVM in our own namespace, or 0 if only its socket is known.
func (j JVM) Process() int { return j.host }

// Started returns when the JVM's process started, in clock ticks since boot, or 0 if only its
// socket is known.
func (j JVM) Started() uint64 { return j.start }

// User returns the user of the JVM.
func (j JVM) User() kernel.User { return kernel.User{UID: j.uid, GID: j.gid} }

// Arguments returns the JVM's command line without the program. The arguments may contain anything.
func (j JVM) Arguments() []string {
	text, err := readProc(j.host, "cmdline")
	if err != nil {
		return nil // the JVM has ended
	}
	return strings.Split(strings.TrimRight(text, "\x00"), "\x00")[1:]
}

// OpenDir opens a directory by the path that the JVM uses, only for lookups. No link leads out of
// the JVM's root.
func (j JVM) OpenDir(path string) (*os.File, error) {
	fd, err := openDirOf(j.host, path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Users returns the users of the JVMs here, each once. If a process belongs to another user, only
// its name shows that it is a JVM. If no process is called java, process 1 is assumed to be a JVM:
// it is the program with which a container was started.
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
