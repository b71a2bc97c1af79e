package segment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrAway says that the path of the destination names nothing, or not the
// directory that was opened: somebody moved it away, unmounted its volume, or
// mounted another one over it. Nothing was changed. What is left is to wait and
// [Store.Reopen].
var ErrAway = errors.New("destination is away")

// openRoot opens the directory of the destination. All streams are opened by
// way of it, so nothing is ever made or deleted in another directory that takes
// its path.
func (s *Store) openRoot() error {
	root, err := os.OpenFile(s.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return s.explain("open", err)
	}
	s.closeRoot()
	s.root = root
	return nil
}

func (s *Store) closeRoot() {
	if s.root != nil {
		_ = s.root.Close()
		s.root = nil
	}
}

// openDir opens the directory of a stream, which must not be a link, or "." of
// the destination.
func (s *Store) openDir(name string) (*os.File, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(int(s.root.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	path := filepath.Join(s.dir, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// syncDir makes the entries of a directory durable, named as for openDir.
func (s *Store) syncDir(name string) error {
	dir, err := s.openDir(name)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return syncAndClose(dir)
}

// present fails with ErrAway unless the path names the directory that is open.
func (s *Store) present() error {
	is, err := os.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	if err != nil {
		return fmt.Errorf("inspect destination: %w", err)
	}
	was, err := s.root.Stat()
	if err != nil {
		return fmt.Errorf("inspect destination: %w", err)
	}
	if !os.SameFile(was, is) {
		return fmt.Errorf("%w: %s is not the directory that was opened", ErrAway, s.dir)
	}
	return nil
}

// Reopen comes after an error and before streams are resumed. It fails with
// [ErrAway] while the destination is not where it was. It goes on in another
// directory if that has the key of this one, so that it is the same one after
// another mount; or if the old one was deleted or replaced within its file
// system, by one that is empty or was a destination before. Then replaced is
// true: what was committed may be elsewhere, and Key may be another.
func (s *Store) Reopen(ctx context.Context) (replaced bool, err error) {
	err = s.present()
	if err == nil && s.lock != nil && links(s.lock) > 0 {
		return false, s.openRoot() // by the mount of now
	}
	if err != nil {
		if !errors.Is(err, ErrAway) {
			return false, err
		}
		if why := s.foreign(); why != nil {
			return false, fmt.Errorf("%w: %w", err, why)
		}
	}
	if err := s.adopt(ctx); err != nil {
		return false, err
	}
	s.log.Error("destination was replaced or emptied",
		"dir", s.dir, "hint", "persisting continues in the new directory; earlier segments are where the old directory was moved, or lost")
	return true, nil
}

// foreign says why the directory at the path cannot stand for the one that is
// open, or nil.
func (s *Store) foreign() error {
	is, err := os.Stat(s.dir)
	if err != nil {
		return err
	}
	if !is.IsDir() {
		return syscall.ENOTDIR
	}
	key, err := readKey(filepath.Join(s.dir, ownDir))
	switch {
	case err == nil && string(key) == string(s.key):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	deleted := links(s.root) == 0
	if here, there := mountOf(unix.AT_FDCWD, s.dir), mountOf(int(s.root.Fd()), ""); !deleted && here != there {
		return errors.New("another file system is mounted there, or the volume is no longer mounted: mount the volume again, or restart ullage to continue there")
	}
	if len(key) == keyBytes {
		return nil
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(2)
	if names = slices.DeleteFunc(names, func(name string) bool { return name == lostFound }); len(names) > 0 {
		return errors.New("it contains other files: empty it, or restart ullage to continue there")
	}
	return nil
}

// adopt makes the directory at the path the destination, with its own key if
// it has one, and else with ours.
func (s *Store) adopt(ctx context.Context) error {
	if err := s.unlock(); err != nil {
		s.log.Debug("unlocking the old destination failed", "error", err)
	}
	s.ledger.fresh, s.room = false, room{}
	err := s.prepare()
	if err == nil {
		err = s.Acquire(ctx)
	}
	if err != nil {
		// Without the lock it is not ours yet: the next Reopen tries again.
		return errors.Join(err, s.unlock())
	}
	return nil
}

// links returns how many names an open file has: none once it was deleted.
func links(f *os.File) uint64 {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return 1 // nobody knows
	}
	return uint64(st.Nlink)
}

// mount is where a directory is: the number of its mount, which kernels before
// 5.8 do not tell, and of its device.
type mount struct {
	id           uint64
	major, minor uint32
}

// mountOf returns the mount of a path, or of an open directory for an empty one.
func mountOf(dir int, path string) mount {
	var st unix.Statx_t
	if err := unix.Statx(dir, path, unix.AT_EMPTY_PATH|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_MNT_ID, &st); err != nil {
		return mount{}
	}
	m := mount{major: st.Dev_major, minor: st.Dev_minor}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		m.id = st.Mnt_id
	}
	return m
}
