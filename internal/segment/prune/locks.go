package prune

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkLocks refuses a volume whose locks only this node sees: a sidecar on another node
// would seem to be gone.
func checkLocks(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read the mounts: %w", err)
	}
	defer mounts.Close()
	option, err := localLock(mounts, st.Dev)
	if err == nil && option != "" {
		err = fmt.Errorf("the volume is NFS, mounted with %s, so the locks of sidecars on other nodes cannot be seen: mount it without that option", option)
	}
	return err
}

// localLock returns the mount option that keeps the locks of a device's NFS mount local. Empty:
// there is no such option, or the file system is not NFS.
func localLock(mountinfo io.Reader, dev uint64) (string, error) {
	want := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		mount, super, _ := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(mount), strings.Fields(super)
		if len(fields) < 3 || fields[2] != want || len(kind) < 3 || !strings.HasPrefix(kind[0], "nfs") {
			continue
		}
		options := strings.Split(kind[2], ",")
		for _, local := range []string{"nolock", "local_lock=all", "local_lock=flock"} {
			if slices.Contains(options, local) {
				return local, nil
			}
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read the mounts: %w", err)
	}
	return "", nil
}
