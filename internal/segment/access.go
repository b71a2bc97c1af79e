package segment

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	ownDir   = ".ullage" // no stream has such a name
	lockName = "lock"
	keyName  = "key"
	keyBytes = 32
)

// prepare creates the directories, opens the root and the lock, and loads the
// key.
func (s *Store) prepare() error {
	own := filepath.Join(s.dir, ownDir)
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(own, dirMode); err != nil {
			return s.explain("create", err)
		}
		if err := syncDir(s.dir); err != nil {
			return s.explain("sync", err)
		}
		// The parent may be one that we may only pass through.
		if err := syncDir(filepath.Dir(s.dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return s.explain("sync", err)
		}
	}
	if err := s.openRoot(); err != nil {
		return err
	}
	if err := s.openLock(own); err != nil {
		return err
	}
	var err error
	if s.key, err = s.loadKey(own); err != nil {
		return s.explain("keep a key in", err)
	}
	return nil
}

// Acquire locks the destination against a second process, and writes and syncs
// a probe file there, so that a destination that cannot work is found at once.
// A full one is only logged, because retention may make room in it.
func (s *Store) Acquire(ctx context.Context) error {
	if err := s.takeLock(ctx, unseenWait); err != nil {
		return err
	}
	self().write(s.lock)
	err := probe(filepath.Join(s.dir, ownDir))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		s.noteFull(err)
		s.log.Warn("destination is full",
			"dir", s.dir, "error", err, "hint", "nothing is persisted until there is space; set --retain-bytes below the size of the volume")
		return nil
	}
	if err != nil {
		return s.explain("write to", err)
	}
	return nil
}

// openLock opens DEST/.ullage/lock. One that is there is opened without leave to
// create it, which would wait on a frozen file system.
func (s *Store) openLock(own string) (err error) {
	path := filepath.Join(own, lockName)
	s.lock, err = os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, fileMode)
	if errors.Is(err, fs.ErrNotExist) {
		s.lock, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, fileMode)
	}
	if err != nil {
		s.lock = nil
		return s.explain("lock", err)
	}
	return nil
}

// probe creates, writes, syncs and removes a file.
func probe(own string) error {
	path := filepath.Join(own, "probe")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := writeNew(path, []byte("ullage\n"), fileMode)
	if removeErr := os.Remove(path); err == nil {
		err = removeErr
	}
	return err
}

// writeNew creates a file that must not exist and makes its bytes durable.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// readKey reads what the key is, of whatever length.
func readKey(own string) ([]byte, error) {
	file, err := os.OpenFile(filepath.Join(own, keyName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, keyBytes+1))
}

// loadKey reads the key, or makes one; the one that we have, if we have one. A
// crash leaves the old state or a whole key. One of a wrong length is replaced:
// the worst of that is a checkpoint that no longer counts.
func (s *Store) loadKey(own string) ([]byte, error) {
	path := filepath.Join(own, keyName)
	key, err := readKey(own)
	switch {
	case err == nil && len(key) == keyBytes:
		return key, nil
	case err == nil:
		s.log.Warn("replacing a damaged key", "path", path, "bytes", len(key), "hint", "checkpoints made with the old key are rejected")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if key = s.key; key == nil {
		key = make([]byte, keyBytes)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
	}
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := writeNew(next, key, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(next, path); err != nil {
		return nil, err
	}
	return key, syncDir(own)
}

// explain adds to an error of Open who we are, what the directory is and what
// a user can do.
func (s *Store) explain(verb string, err error) error {
	who := fmt.Sprintf("ullage runs as uid %d, gid %d", os.Geteuid(), os.Getegid())
	what, hint := "", ""
	var named *fs.PathError
	if errors.As(err, &named) && named.Path == s.dir {
		err = named.Err // the rest of it is said already
	}
	if info, statErr := os.Stat(s.dir); statErr == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			what = fmt.Sprintf("; the directory has mode %s, uid %d, gid %d", info.Mode(), st.Uid, st.Gid)
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		hint = ": let this uid or gid write there (chown the volume, or set fsGroup in the pod's securityContext)"
	case errors.Is(err, syscall.EROFS):
		hint = ": mount the volume read-write, and make --dest a directory of it rather than of the container's image"
	case errors.Is(err, syscall.ENOTDIR):
		hint = ": name a directory in --dest"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = ": make space on the volume"
	}
	return fmt.Errorf("%s destination %s: %w (%s%s)%s", verb, s.dir, err, who, what, hint)
}

// retry repeats a system call that a signal interrupts.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
