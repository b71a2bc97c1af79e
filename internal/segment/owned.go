package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Owner is the process that holds the lock of a destination, as the lock file names it.
type Owner struct {
	Host string // empty: unknown
	PID  int    // as the process sees it; 0: unknown
	Here bool   // PID is of this process namespace
}

// String names the process for people.
func (o Owner) String() string {
	if o.PID == 0 {
		return "unknown process"
	}
	return holder{host: o.Host, pid: o.PID}.String()
}

// OwnerOf returns the process that holds the lock of a destination now, and false if none
// does. What a dead process has left in the lock file does not matter. A directory without
// a lock file, as a copy of a destination may be, has no owner. OwnerOf holds the lock
// shared for some microseconds, and [Store.Acquire] tries more than once.
func OwnerOf(dest string) (Owner, bool, error) {
	lock, err := os.OpenFile(filepath.Join(dest, OwnDir, LockName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("open the lock of the destination: %w", err)
	}
	defer lock.Close() // and with it the lock
	err = retry(func() error { return unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		h := readHolder(lock)
		return Owner{Host: h.host, PID: h.pid, Here: h.place != "" && h.place == self().place}, true, nil
	}
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOLCK) {
		return Owner{}, false, nil // no sidecar can hold a lock there
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("look for the owner of the destination: %w", err)
	}
	return Owner{}, false, nil
}
