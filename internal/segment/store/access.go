package store

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

	"github.com/ullage/ullage/internal/segment"
)

const (
	keyName  = "key"
	keyBytes = 32
)

// acquire does what [Store.Acquire] documents.
func (d *destination) acquire(ctx context.Context) error {
	if err := d.takeLock(ctx, unseenWait); err != nil {
		return err
	}
	sign(d.lock, segment.Self())
	own := filepath.Join(d.dir, segment.OwnDir)
	// The process that held the lock until now may have recorded a higher one since.
	if err := d.readNumber(own); err != nil {
		return d.explain("read the number of the checkpoint in", err)
	}
	err := probe(own)
	if noSpace(err) {
		d.full = true
		// messages.md#the-destination: Nothing is persisted until there is space. Set
		// `--retain-bytes` below the size of the volume.
		d.log.Warn("destination is full",
			"dir", d.dir, "error", err, "hint", "nothing is persisted until there is space; set --retain-bytes below the size of the volume")
		return nil
	}
	if err != nil {
		return d.explain("write to", err)
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

// readKey reads the key file, whatever its length, up to one byte too many.
func readKey(own string) ([]byte, error) {
	file, err := os.OpenFile(filepath.Join(own, keyName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, keyBytes+1))
}

// loadKey reads the key. Where there is none, it writes the key of the destination
// before, if there was one, or a random one. It writes and syncs key.new, renames
// it to key, and syncs the directory, so a crash leaves the former state or a whole
// key. A key of a wrong length is replaced; that only makes a checkpoint invalid.
func (d *destination) loadKey(own string) ([]byte, error) {
	path := filepath.Join(own, keyName)
	key, err := readKey(own)
	switch {
	case err == nil && len(key) == keyBytes:
		return key, nil
	case err == nil:
		// messages.md#the-destination: Another process changed the key of the destination.
		// Checkpoints made with the old key are rejected at the next start.
		d.log.Warn("replacing a damaged key", "path", path, "bytes", len(key), "hint", "checkpoints made with the old key are rejected")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if key = d.key; key == nil {
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

// explain adds to an error which user we are, what the directory is, and what a
// person can do.
func (d *destination) explain(verb string, err error) error {
	who := fmt.Sprintf("ullage runs as uid %d, gid %d", os.Geteuid(), os.Getegid())
	what, hint := "", ""
	var named *fs.PathError
	if errors.As(err, &named) && named.Path == d.dir {
		err = named.Err // the text below names the path
	}
	if info, statErr := os.Stat(d.dir); statErr == nil {
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
	case noSpace(err):
		hint = ": make space on the volume"
	}
	return fmt.Errorf("%s destination %s: %w (%s%s)%s", verb, d.dir, err, who, what, hint)
}

// noSpace reports whether an error means that a volume or a quota is full.
func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
