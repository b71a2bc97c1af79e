package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

	// unseenWait is how long take waits for a holder in another container or on
	// another machine. It is longer than the default --drain-timeout, because the
	// holder may be a sidecar that drains and then exits.
	unseenWait = 30 * time.Second
)

// lock is DEST/.ullage/lock, which the one process that writes keeps locked.
type lock struct {
	dir  string // the destination
	log  *slog.Logger
	file *os.File // nil: closed
}

// sign writes a process into the lock file as its owner. Other processes use this record in
// their messages, and to decide whether to wait. The lock itself does not depend on the record,
// so sign ignores errors.
func (l *lock) sign(o segment.Owner) {
	if l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt(o.Record(), 0)
	}
}

// take takes the lock. The process holds it until release, and the kernel releases it when the process
// dies. A process that was killed inside a call into a stalled disk holds the lock until the disk
// answers. take waits for such a process without a limit: its call may still append to a segment that
// a new owner would truncate in the meantime. take fails if the holder is alive, but not at the first
// attempt, because a reader that looks for an owner also holds the lock for a moment; see
// [segment.OwnerOf]. take cannot see whether a process in another namespace is alive. It waits for
// such a process until the duration unseen has passed, but at least until it has logged the wait: on
// a suspended machine, that duration can pass in one step.
func (l *lock) take(ctx context.Context, unseen time.Duration) error {
	until := time.Now().Add(unseen)
	for tried := 0; ; tried++ {
		err := kernel.Retry(func() error { return unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOLCK):
			// messages.md#the-destination: Nothing keeps a second sidecar out of this destination. Give
			// each sidecar its own `--dest`.
			l.log.Warn("destination has no file locks", "dir", l.dir, "error", err, "hint", "nothing keeps a second sidecar out of it")
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return explain(l.dir, "lock", err)
		}
		who, us, hint := segment.ReadOwner(l.file), segment.Self(), "it was killed, but its last call into the disk has not returned"
		seen := who.Here()
		if !seen {
			hint = "it runs in another container or on another machine; give each sidecar its own --dest"
		}
		if seen && tried > 0 && (who.PID == us.PID || kernel.StateOf(who.PID) != kernel.Dying) || !seen && tried > 1 && time.Now().After(until) {
			return fmt.Errorf("destination %s is in use by another ullage (%s): give each sidecar its own --dest", l.dir, who)
		}
		if tried == 1 {
			// messages.md#the-destination: `holder` names it. The last call of a killed sidecar may
			// still write to the disk: ullage waits until that call returns. A sidecar in another
			// container or on another machine may still be draining: after 30 s the start fails
			// with "in use by another ullage". Give each sidecar a `--dest` of its own.
			l.log.Warn("waiting for another ullage to release the destination", "dir", l.dir, "holder", who.String(), "hint", hint)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// open opens the file. It opens an existing file without O_CREAT, which
// would wait on a frozen file system.
func (l *lock) open() (err error) {
	path := filepath.Join(l.dir, segment.OwnDir, segment.LockName)
	l.file, err = os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, fileMode)
	}
	if err != nil {
		l.file = nil
		return explain(l.dir, "lock", err)
	}
	return nil
}

// named reports whether the open file still has a name: if so, other processes use the same lock.
func (l *lock) named() bool { return l.file != nil && links(l.file) > 0 }

// release closes the file, and the kernel releases the lock.
func (l *lock) release() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
