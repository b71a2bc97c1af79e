package segment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockPoll is how often a lock is tried again whose holder is waited for.
	lockPoll = 100 * time.Millisecond

	// unseenWait is for how long a holder is waited for that cannot be seen,
	// in another container or on another machine: longer than the default
	// --drain-timeout, since it may be one that drains and makes room.
	unseenWait = 30 * time.Second
)

// holder is who has the lock of a destination, as it has written that there.
type holder struct {
	host  string // for people
	pid   int
	place string // where pid counts: the boot and the process namespace. Empty: not known
}

const holderForm = "host %q, pid %d, place %q"

func (h holder) String() string { return fmt.Sprintf("host %q, pid %d", h.host, h.pid) }

// self is this process as a holder.
func self() holder {
	host, _ := os.Hostname()
	h := holder{host: host, pid: os.Getpid()}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return h
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return h
	}
	h.place = strings.TrimSpace(string(boot)) + "/" + namespace
	return h
}

// readHolder reads who holds a lock. What is not known of it is zero.
func readHolder(lock *os.File) holder {
	text := make([]byte, 1024)
	n, _ := lock.ReadAt(text, 0)
	var h holder
	_, _ = fmt.Sscanf(string(text[:n]), holderForm, &h.host, &h.pid, &h.place)
	return h
}

// write says in the lock that we hold it. It is for others' messages and
// patience alone, so it may fail.
func (h holder) write(lock *os.File) {
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt(fmt.Appendf(nil, holderForm+"\n", h.host, h.pid, h.place), 0)
	}
}

// takeLock holds the lock until unlock; the kernel gives it up when the process
// dies. A process that was killed inside a call into a stalled disk holds the
// lock until the disk is back. takeLock waits for such a process without a limit,
// because its call may still write: a new owner would truncate segments under it.
// takeLock does not wait for a process that lives. A process in another namespace
// may be dead or alive, and takeLock waits for it during unseen.
func (d *destination) takeLock(ctx context.Context, unseen time.Duration) error {
	until := time.Now().Add(unseen)
	for told := false; ; told = true {
		err := retry(func() error { return unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
			d.log.Warn("destination has no file locks", "dir", d.dir, "error", err, "hint", "nothing keeps a second sidecar out of it")
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return d.explain("lock", err)
		}
		who, us, hint := readHolder(d.lock), self(), "it was killed, and its last call into the disk has not returned"
		seen := who.place != "" && who.place == us.place
		if !seen {
			hint = "it runs in another container or on another machine; give each sidecar a --dest of its own"
		}
		if seen && (who.pid == us.pid || !dying(who.pid)) || !seen && time.Now().After(until) {
			return fmt.Errorf("destination %s is in use by another ullage (%s): give each sidecar a --dest of its own", d.dir, who)
		}
		if !told {
			d.log.Warn("waiting for another ullage to release the destination", "dir", d.dir, "holder", who.String(), "hint", hint)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// dying reports whether a process of our namespace was killed and has not
// ended: its first thread has, or is about to.
func dying(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // just now: the lock is next
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch key {
		case "State":
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return true
			}
		case "SigPnd", "ShdPnd":
			pending, err := strconv.ParseUint(value, 16, 64)
			if err == nil && pending&(1<<(syscall.SIGKILL-1)) != 0 {
				return true
			}
		}
	}
	return false
}

// openLock opens DEST/.ullage/lock. It opens an existing file without O_CREAT, which
// would wait on a frozen file system.
func (d *destination) openLock(own string) (err error) {
	path := filepath.Join(own, lockName)
	d.lock, err = os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		d.lock, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, fileMode)
	}
	if err != nil {
		d.lock = nil
		return d.explain("lock", err)
	}
	return nil
}

// unlock closes the lock file, and the kernel releases the lock.
func (d *destination) unlock() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}
