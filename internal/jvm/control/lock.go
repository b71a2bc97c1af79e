package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
)

// Names in the state directory of the source.
const (
	lockName   = "levels.lock" // the lock that the owner holds
	socketName = "levels.sock" // the socket on which the owner listens
)

// Socket is the path of the owner's socket below the source.
const Socket = statedir.Name + "/" + socketName

// store is the lock and the socket of one source. The application can write to their
// directory. So names are resolved inside the source, no link out of the source
// is followed, and no call blocks.
type store struct {
	source string
	held   *os.File // the lock file; nil: not locked
}

func (s *store) path(name string) string { return filepath.Join(s.source, statedir.Name, name) }

// missing returns why the source cannot be opened, or nil.
func (s *store) missing() error {
	root, err := statedir.OpenRoot(s.source)
	if err != nil {
		return err
	}
	return root.Close()
}

// errHeld reports that another process holds the lock: the owner of the
// source's levels, or the application.
var errHeld = errors.New("another process holds")

// lock makes this process the owner of the source's levels: only the owner
// changes levels and writes the saved state. If the lock file was removed or
// replaced, lock locks the file that has the name now.
func (s *store) lock() error {
	if s.locked() {
		return nil
	}
	root, err := statedir.CreateRoot(s.source)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := statedir.OpenIn(root, lockName, os.O_RDWR|os.O_CREATE)
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
	s.unlock() // the lock of a file whose name is gone
	s.held = f
	return nil
}

// locked reports whether this process holds the lock on the file that other processes would open.
func (s *store) locked() bool {
	if s.held == nil {
		return false
	}
	ours, err1 := s.held.Stat()
	named, err2 := os.Lstat(s.path(lockName))
	return err1 == nil && err2 == nil && os.SameFile(ours, named)
}

// unlock lets another process become the owner. If this process is killed, the kernel releases the
// lock.
func (s *store) unlock() {
	if s.held != nil {
		s.held.Close()
		s.held = nil
	}
}
