package insight

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

// counterFiles are the files of the node that [Counters] prints. groupFiles are the files of a control group, in
// version 2 and then in version 1 of its interface.
var (
	counterFiles = []string{"loadavg", "meminfo", "pressure/cpu", "pressure/io", "pressure/memory", "diskstats"}
	groupFiles   = []string{"cpu.max", "cpu.stat", "cpu.pressure", "io.stat", "io.pressure", "memory.current", "memory.peak", "memory.max",
		"memory.events", "memory.stat", "memory.pressure", "memory.swap.current", "memory.usage_in_bytes", "memory.max_usage_in_bytes",
		"memory.limit_in_bytes", "memory.failcnt", "memory.oom_control"}
)

// ownGroups are the directories of this process's control group: version 2, then version 1.
var ownGroups = []string{"sys/fs/cgroup", "sys/fs/cgroup/memory", "sys/fs/cgroup/cpu"}

// Counters prints the kernel's counters that the verdicts rest on, as the kernel shows them: of the node, of the
// container that this process is in, and of the visible JVMs' containers. It names the device of the directory dest.
// A file that the kernel does not show is left out. The error is that of w.
func Counters(w io.Writer, dest string) error {
	k := kernelCounters{root: "/"}
	device := k.deviceOf(dest)
	if device == "" {
		device = "unknown"
	}
	if _, err := fmt.Fprintf(w, "device of the destination: %s\n", device); err != nil {
		return err
	}
	print := func(dir string, names []string) error {
		for _, name := range names {
			path := filepath.Join(dir, name)
			text := kernel.ReadUpTo(unix.AT_FDCWD, filepath.Join(k.root, path), maxDiskFile)
			if len(text) == 0 {
				continue
			}
			if _, err := fmt.Fprintf(w, "\n== /%s\n%s\n", path, bytes.TrimRight(text, "\n")); err != nil {
				return err
			}
		}
		return nil
	}
	err := print("proc", counterFiles)
	groups, _ := k.jvms()
	for _, dir := range append(ownGroups, groups...) {
		if err == nil {
			err = print(dir, groupFiles)
		}
	}
	return err
}
