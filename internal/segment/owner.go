package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
)

// OwnDir is the directory for a destination's files that are not segments; no stream has this
// name. LockName is the file in that directory that a sidecar keeps locked for as long as it
// lives.
const (
	OwnDir   = ".ullage"
	LockName = "lock"
)

// Owner is the process that holds the lock of a destination, according to the lock file. Fields
// that the file lacks are zero.
type Owner struct {
	Host  string // for messages
	PID   int    // as the process sees it
	Place string // the boot and the process namespace to which PID belongs; empty: unknown
}

const ownerForm = "host %q, pid %d, place %q"

// String describes the process for messages.
func (o Owner) String() string {
	if o.PID == 0 {
		return "unknown process"
	}
	return fmt.Sprintf("host %q, pid %d", o.Host, o.PID)
}

// Record returns o in the form of a lock file, which ReadOwner reads.
func (o Owner) Record() []byte { return fmt.Appendf(nil, ownerForm+"\n", o.Host, o.PID, o.Place) }

// Here reports whether PID belongs to this process namespace.
func (o Owner) Here() bool { return o.Place != "" && o.Place == Self().Place }

// Self describes this process as an owner.
func Self() Owner {
	host, _ := os.Hostname()
	o := Owner{Host: host, PID: os.Getpid()}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return o
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return o
	}
	o.Place = strings.TrimSpace(string(boot)) + "/" + namespace
	return o
}

// ReadOwner reads which process last wrote a lock file. That process need not hold the lock.
func ReadOwner(lock *os.File) Owner {
	text := make([]byte, 1024)
	n, _ := lock.ReadAt(text, 0)
	var o Owner
	_, _ = fmt.Sscanf(string(text[:n]), ownerForm, &o.Host, &o.PID, &o.Place)
	return o
}

// OwnerOf returns the process that now holds the lock of a destination, and false if no process
// does. The record that a dead process has left in the lock file does not matter. A directory
// without a lock file, as a copy of a destination may be, has no owner. OwnerOf holds a shared
// lock for some microseconds. That does not stop a sidecar, which tries to take the lock more
// than once.
func OwnerOf(dest string) (Owner, bool, error) {
	lock, err := os.OpenFile(filepath.Join(dest, OwnDir, LockName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("open the lock of the destination: %w", err)
	}
	defer lock.Close() // and with it the lock
	err = kernel.Retry(func() error { return unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ReadOwner(lock), true, nil
	}
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOLCK) {
		return Owner{}, false, nil // no sidecar can hold a lock there
	}
	if err != nil {
		return Owner{}, false, fmt.Errorf("look for the owner of the destination: %w", err)
	}
	return Owner{}, false, nil
}
