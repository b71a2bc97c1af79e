package segment

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrRefused says that the destination takes streams, and not this one:
// something else has the name of its directory, the directory belongs to
// somebody else, or the file system has no such names. Nothing is wrong with
// other streams. What is left is to abandon this one, and to Resume or Recover
// it when the obstacle may be gone.
var ErrRefused = errors.New("the destination refuses this stream")

// nameErrnos are the errors that one name alone can have. The destination can
// have each of them too, so an error is one of the stream's only if the
// destination itself is found in order.
var nameErrnos = []error{
	unix.ENOTDIR, unix.EISDIR, unix.ELOOP, // something else has the name
	unix.EACCES, unix.EPERM, // ... or somebody else
	unix.EINVAL, unix.EILSEQ, unix.ENAMETOOLONG, // the file system has no such name
}

// blame wraps an error of one stream in ErrRefused if it is that stream's own.
func (s *Store) blame(err error) error {
	own := func(errno error) bool { return errors.Is(err, errno) }
	if err == nil || errors.Is(err, ErrAway) || !slices.ContainsFunc(nameErrnos, own) {
		return err
	}
	if s.present() != nil || writable(s.root) != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// writable reports why nothing can be made in an open directory. It changes
// nothing there.
func writable(dir *os.File) error {
	err := retry(func() error {
		return unix.Faccessat(int(dir.Fd()), ".", unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	})
	if err != nil {
		return &os.PathError{Op: "write to", Path: dir.Name(), Err: err}
	}
	return nil
}
