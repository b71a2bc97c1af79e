package kernel

import (
	"path/filepath"
	"strconv"
	"strings"
)

// DeviceOf returns the device of the file system of a directory, such as "254:0", according to the
// text of a process's mountinfo. It does not access the file system, which may be frozen, so it
// treats a symbolic link in the path like a directory. It returns "" if no mount has the directory.
func DeviceOf(mountinfo []byte, dir string) string {
	device, longest := "", -1
	for line := range strings.Lines(string(mountinfo)) {
		// number, parent, device, root, mount point (proc_pid_mountinfo(5))
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		at := MountPoint(fields[4])
		below, err := filepath.Rel(at, dir)
		// Of two mounts at one place, the later one hides the other.
		if err == nil && filepath.IsLocal(below) && len(at) >= longest {
			device, longest = fields[2], len(at)
		}
	}
	return device
}

// MountPoint decodes a path of mountinfo, in which octal numbers represent spaces, tabs, newlines
// and backslashes.
func MountPoint(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+4 <= len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
