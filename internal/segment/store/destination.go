package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

// ErrAway says that the path of the destination does not lead to the directory that was opened:
// the directory was moved away, its volume was unmounted, or another volume was mounted over
// it. Nothing was changed. The caller waits and calls [Store.Reopen].
var ErrAway = errors.New("destination is away")

// destination is the directory of the durable copy, held open, with its lock and its key.
// Everything below the directory is reached through root, so nothing is ever created or deleted
// in another directory that has taken its path. A destination knows directories and files by
// name, but nothing about the content of segments.
//
//	openDestination → acquire → openDir, openSegment, … → again → adopt → close
type destination struct {
	dir  string
	root *os.File // dir, open
	lock lock
	key  []byte
	log  *slog.Logger

	number number // of the newest checkpoint
	full   bool   // a call found no space; retention resets it
}

// openDestination opens the directory. It first creates missing directories in the path.
func openDestination(dir string, log *slog.Logger) (*destination, error) {
	d := &destination{dir: dir, log: log, lock: lock{dir: dir, log: log}, number: number{dir: dir, log: log}}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// prepare creates the directories, opens the root and the lock, and loads the key.
func (d *destination) prepare() error {
	own := filepath.Join(d.dir, segment.OwnDir)
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(own, dirMode); err != nil {
			return explain(d.dir, "create", err)
		}
		if err := syncDir(d.dir); err != nil {
			return explain(d.dir, "sync", err)
		}
		// We may lack the permission to read the parent.
		if err := syncDir(filepath.Dir(d.dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return explain(d.dir, "sync", err)
		}
	}
	if err := d.openRoot(); err != nil {
		return err
	}
	if err := d.lock.open(); err != nil {
		return err
	}
	var err error
	if d.key, err = loadKey(own, d.key, d.log); err != nil {
		return explain(d.dir, "keep a key in", err)
	}
	if err := d.number.load(); err != nil {
		return explain(d.dir, "read the number of the checkpoint in", err)
	}
	return nil
}

// openRoot opens the directory that now has the path. If that fails, the former root stays
// open.
func (d *destination) openRoot() error {
	root, err := os.OpenFile(d.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return explain(d.dir, "open", err)
	}
	d.closeRoot()
	d.root = root
	return nil
}

func (d *destination) closeRoot() {
	if d.root != nil {
		_ = d.root.Close()
		d.root = nil
	}
}

// close closes the directory and releases the lock.
func (d *destination) close() error {
	d.closeRoot()
	d.number.close()
	return d.lock.release()
}

// present fails with ErrAway unless the path names the directory that is open.
func (d *destination) present() error {
	is, err := os.Stat(d.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	if err != nil {
		return fmt.Errorf("inspect destination: %w", err)
	}
	was, err := d.root.Stat()
	if err != nil {
		return fmt.Errorf("inspect destination: %w", err)
	}
	if !os.SameFile(was, is) {
		return fmt.Errorf("%w: %s is not the directory that was opened", ErrAway, d.dir)
	}
	return nil
}

// acquire does what [Store.Acquire] documents.
func (d *destination) acquire(ctx context.Context) error {
	if err := d.lock.take(ctx, unseenWait); err != nil {
		return err
	}
	d.lock.sign(segment.Self())
	// The process that held the lock until now may have recorded a higher number since.
	if err := d.number.load(); err != nil {
		return explain(d.dir, "read the number of the checkpoint in", err)
	}
	err := probe(filepath.Join(d.dir, segment.OwnDir))
	if noSpace(err) {
		d.full = true
		// messages.md#the-destination: Nothing is persisted until there is space. Set
		// `--retain-bytes` below the size of the volume.
		d.log.Warn("destination is full",
			"dir", d.dir, "error", err, "hint", "nothing is persisted until there is space; set --retain-bytes below the size of the volume")
		return nil
	}
	if err != nil {
		return explain(d.dir, "write to", err)
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

// again reports whether the path still names the open directory. If so, it opens the path
// again, because the path may now reach the directory through another mount. If same is
// false and err is nil, the directory that the path names may be adopted.
func (d *destination) again() (same bool, err error) {
	err = d.present()
	switch {
	case err == nil && d.lock.named():
		return true, d.openRoot()
	case err == nil:
		return false, nil
	case !errors.Is(err, ErrAway):
		return false, err
	}
	if why := d.foreign(); why != nil {
		return false, fmt.Errorf("%w: %w", err, why)
	}
	return false, nil
}

// foreign returns why the directory at the path cannot replace the open one, or
// nil if it can.
func (d *destination) foreign() error {
	is, err := os.Stat(d.dir)
	if err != nil {
		return err
	}
	if !is.IsDir() {
		return syscall.ENOTDIR
	}
	key, err := readKey(filepath.Join(d.dir, segment.OwnDir))
	switch {
	case err == nil && string(key) == string(d.key):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	deleted := links(d.root) == 0
	if here, there := mountOf(unix.AT_FDCWD, d.dir), mountOf(int(d.root.Fd()), ""); !deleted && here != there {
		return errors.New("another file system is mounted there, or the volume is no longer mounted: mount the volume again, or restart ullage to continue there")
	}
	if len(key) == keyBytes {
		return nil
	}
	dir, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(2)
	if names = slices.DeleteFunc(names, func(name string) bool { return name == segment.LostFound }); len(names) > 0 {
		return errors.New("it contains other files: empty it, or restart ullage to continue there")
	}
	return nil
}

// adopt makes the directory that now has the path the destination. The directory keeps its key
// if it has one. Otherwise, it gets the key of the former directory.
func (d *destination) adopt(ctx context.Context) error {
	if err := d.lock.release(); err != nil {
		d.log.Debug("unlocking the old destination failed", "error", err)
	}
	d.full = false
	err := d.prepare()
	if err == nil {
		err = d.acquire(ctx)
	}
	if err != nil {
		// Another process may hold the lock of the new directory. While no lock file is open, again
		// reports a different directory, so the next Reopen adopts it.
		return errors.Join(err, d.lock.release())
	}
	return nil
}
