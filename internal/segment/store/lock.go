package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
)

const (
	// lockPoll is the time between two attempts to take a lock.
	lockPoll = 100 * time.Millisecond

	// unseenWait is how long takeLock waits for a holder in another container or on
	// another machine. It is longer than the default --drain-timeout, because the
	// holder may be a sidecar that drains and then exits.
	unseenWait = 30 * time.Second
)

// sign writes a process into the lock file as its owner. Other processes use that for their
// messages, and to decide whether to wait; the lock itself does not depend on it, so sign
// ignores errors.
func sign(lock *os.File, o segment.Owner) {
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt(o.Record(), 0)
	}
}

// takeLock takes the lock. The process holds it until unlock, and the kernel releases
// it when the process dies. A process that was killed inside a call into a stalled
// disk holds the lock until the disk answers. takeLock waits for such a process without
// a limit: its call may still append to a segment, and a new owner would meanwhile
// truncate that segment. takeLock fails if the holder is alive, but not at the first
// attempt: a reader that looks for an owner holds the lock for a moment, see [segment.OwnerOf]. It
// cannot see whether a process in another namespace is alive, and waits for it for the
// time unseen, and at least until it has said so: on a stopped machine that time can pass in one step.
func (d *destination) takeLock(ctx context.Context, unseen time.Duration) error {
	until := time.Now().Add(unseen)
	for tried := 0; ; tried++ {
		err := kernel.Retry(func() error { return unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
			// messages.md#the-destination: Nothing keeps a second sidecar out of this destination.
			// Give each sidecar a `--dest` of its own.
			d.log.Warn("destination has no file locks", "dir", d.dir, "error", err, "hint", "nothing keeps a second sidecar out of it")
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return d.explain("lock", err)
		}
		who, us, hint := segment.ReadOwner(d.lock), segment.Self(), "it was killed, and its last call into the disk has not returned"
		seen := who.Here()
		if !seen {
			hint = "it runs in another container or on another machine; give each sidecar a --dest of its own"
		}
		if seen && tried > 0 && (who.PID == us.PID || kernel.StateOf(who.PID) != kernel.Dying) || !seen && tried > 1 && time.Now().After(until) {
			return fmt.Errorf("destination %s is in use by another ullage (%s): give each sidecar a --dest of its own", d.dir, who)
		}
		if tried == 1 {
			// messages.md#the-destination: `holder` names it. The last call of a killed sidecar may
			// still write to the disk: ullage waits until that call returns. A sidecar in another
			// container or on another machine may still drain: after 30 s the start fails with "in
			// use by another ullage". Give each sidecar a `--dest` of its own.
			d.log.Warn("waiting for another ullage to release the destination", "dir", d.dir, "holder", who.String(), "hint", hint)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// openLock opens DEST/.ullage/lock. It opens an existing file without O_CREAT, which
// would wait on a frozen file system.
func (d *destination) openLock(own string) (err error) {
	path := filepath.Join(own, segment.LockName)
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
