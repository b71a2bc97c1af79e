package levels

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// errHeld means that another process keeps the levels of the source, or that the
// application holds the lock.
var errHeld = errors.New("another process holds")

// lock makes this process the one that keeps the levels of the source: it
// alone changes levels and writes the saved state. If the lock's file was
// removed or replaced, lock takes the one that is there now.
func (s *store) lock() error {
	if s.locked() {
		return nil
	}
	root, err := s.root()
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := open(root, lockName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("lock the levels: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if err == unix.EWOULDBLOCK {
			return fmt.Errorf("lock the levels: %w %s", errHeld, s.path(lockName))
		}
		return fmt.Errorf("lock the levels: %w", err)
	}
	s.unlock() // of a file that has lost its name
	s.held = f
	return nil
}

// locked reports whether this process holds the lock that others would find.
func (s *store) locked() bool {
	if s.held == nil {
		return false
	}
	ours, err1 := s.held.Stat()
	named, err2 := os.Lstat(s.path(lockName))
	return err1 == nil && err2 == nil && os.SameFile(ours, named)
}

// unlock lets another process keep the levels. The kernel does the same when
// this process is killed.
func (s *store) unlock() {
	if s.held != nil {
		s.held.Close()
		s.held = nil
	}
}

// kept reports whether another process holds the lock. It creates nothing. A
// lock that cannot be looked at counts as free. It tries for a shared one, so
// that processes which only look do not take each other for the holder.
func (s *store) kept() bool {
	root, err := s.openSource()
	if err != nil {
		return false
	}
	defer root.Close()
	f, err := open(root, lockName, os.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close() // and with it the lock, if it was free
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}
