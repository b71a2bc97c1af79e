package prune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/ullage/ullage/internal/segment"
)

// Where a sidecar keeps what is its own in a destination.
const (
	ownDir   = ".ullage"
	lockName = "lock"
	lockPath = ownDir + "/" + lockName
)

// each calls do with every file of ours in the destination, the lock last, and
// with every directory after what is in it.
func (d destination) each(root *os.Root, do func(name string, info fs.FileInfo) error) error {
	streams, err := readDir(root, d.path)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if !s.IsDir() || segment.ValidStream(s.Name()) != nil {
			continue
		}
		dir := path.Join(d.path, s.Name())
		if err := eachIn(root, dir, func(name string) bool { _, ok := segment.ParseName(name); return ok }, do); err != nil {
			return err
		}
	}
	own := path.Join(d.path, ownDir)
	if err := eachIn(root, own, func(name string) bool { return name != lockName }, do); err != nil {
		return err
	}
	for _, name := range []string{path.Join(d.path, lockPath), own, d.path} {
		if err := one(root, name, do); err != nil {
			return err
		}
	}
	return nil
}

// eachIn calls do with the regular files of a directory whose names are ours,
// and with the directory, unless it is our own, which has the lock in it. (In our
// own, everything is ours.)
func eachIn(root *os.Root, dir string, ours func(name string) bool, do func(name string, info fs.FileInfo) error) error {
	entries, err := readDir(root, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if (e.Type().IsRegular() || path.Base(dir) == ownDir && !e.IsDir()) && ours(e.Name()) {
			if err := one(root, path.Join(dir, e.Name()), do); err != nil {
				return err
			}
		}
	}
	if path.Base(dir) == ownDir {
		return nil
	}
	return one(root, dir, do)
}

func one(root *os.Root, name string, do func(name string, info fs.FileInfo) error) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	return do(name, info)
}

// measure finds out how large the destination is, and when it was written last.
// The time of a directory counts for nothing: a run that removes files changes
// it.
func (d *destination) measure(root *os.Root) error {
	d.bytes = 0
	return d.each(root, func(_ string, info fs.FileInfo) error {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			d.bytes += st.Blocks * 512
		}
		if info.Mode().IsRegular() && info.ModTime().After(d.newest) {
			d.newest = info.ModTime()
		}
		return nil
	})
}

// delete removes what is ours. While other files are there the lock stays, and
// the directories that hold them.
func (d destination) delete(root *os.Root) (state string, err error) {
	foreign := false
	own := path.Join(d.path, ownDir)
	err = d.each(root, func(name string, _ fs.FileInfo) error {
		if name == own || strings.HasPrefix(name, own+"/") || name == d.path {
			// The streams are done: what is left beside our own is somebody else's.
			if left, err := readDir(root, d.path); err != nil || len(left) > 1 {
				foreign = true
			}
			if foreign {
				return nil
			}
		}
		err := root.Remove(name)
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
			foreign = true
			return nil
		}
		if name == d.path && errors.Is(err, fs.ErrPermission) {
			return nil // a kubelet has made it as root: it stays, and is empty
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove: %w", err)
		}
		return nil
	})
	switch {
	case err != nil:
		return Failed, err
	case foreign:
		return Foreign, nil
	}
	// Of several JVMs in a pod, each has a directory in the pod's.
	if pod := path.Dir(d.path); strings.Count(d.path, "/") == maxDepth-1 {
		_ = root.Remove(pod) // fails while there is another
	}
	return Removed, nil
}
