package prune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/index"
	"github.com/ullage/ullage/internal/segment/seek"
)

// visit is called with a file or directory of ours, and with the directory that contains it.
type visit func(dir *os.Root, name string, info fs.FileInfo) error

// eachSegment calls do with every segment and hint file of a destination, and with
// the directory of a stream after its files.
func eachSegment(dest *os.Root, do visit) error {
	ours := func(e fs.DirEntry) bool {
		_, ok := segment.ParseName(e.Name())
		return (ok || e.Name() == seek.Name || e.Name() == index.Name) && e.Type().IsRegular()
	}
	return each(dest, func(s fs.DirEntry) error {
		if !s.IsDir() || segment.ValidStream(s.Name()) != nil {
			return nil
		}
		if err := in(dest, s.Name(), func(dir *os.Root) error { return eachIn(dir, ours, do) }); err != nil {
			return err
		}
		return one(dest, s.Name(), do)
	})
}

// sinksDir is where the cursors of sinks are, in our own directory.
const sinksDir = "sinks"

// ofSinks reports whether a file in that directory is ours: a sink's cursor, the cursor's
// temporary file, or the list of lines that a sink rejected.
func ofSinks(e fs.DirEntry) bool {
	return e.Type().IsRegular() && slices.ContainsFunc([]string{".json", ".json.next", ".rejected.jsonl"}, func(suffix string) bool {
		return strings.HasSuffix(e.Name(), suffix)
	})
}

// eachOwn calls do with every file of our own directory but the lock, and with the files of
// sinks and their directory. Every file of our own directory is ours.
func eachOwn(own *os.Root, do visit) error {
	info, err := own.Lstat(sinksDir)
	if err == nil && info.IsDir() {
		if err := in(own, sinksDir, func(dir *os.Root) error { return eachIn(dir, ofSinks, do) }); err != nil {
			return err
		}
		if err := one(own, sinksDir, do); err != nil {
			return err
		}
	}
	return eachIn(own, func(e fs.DirEntry) bool { return !e.IsDir() && e.Name() != segment.LockName }, do)
}

func eachIn(dir *os.Root, ours func(fs.DirEntry) bool, do visit) error {
	return each(dir, func(e fs.DirEntry) error {
		if !ours(e) {
			return nil
		}
		return one(dir, e.Name(), do)
	})
}

func one(dir *os.Root, name string, do visit) error {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	return do(dir, name, info)
}

// measure finds out how large the destination is and when it was last written to. The times of
// directories are ignored, because a run that removes files changes them. The size of a file is
// divided among its names: a tenant who links one file a thousand times does not make a copy
// larger.
func (d *destination) measure(dest *os.Root) error {
	d.bytes = 0
	count := func(_ *os.Root, _ string, info fs.FileInfo) error {
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.New("read the volume: the size of a file is unknown")
		}
		bytes := st.Blocks * 512
		if info.Mode().IsRegular() {
			if at := written(info, st); at.After(d.newest) {
				d.newest = at
			}
			bytes /= max(1, int64(st.Nlink))
		}
		d.bytes += bytes
		return nil
	}
	if err := eachSegment(dest, count); err != nil {
		return err
	}
	err := in(dest, segment.OwnDir, func(own *os.Root) error {
		return errors.Join(eachOwn(own, count), one(own, segment.LockName, count))
	})
	if err != nil {
		return err
	}
	return errors.Join(one(dest, segment.OwnDir, count), one(dest, ".", count))
}

// written returns when a file was last written to. The file's owner could set the time of
// modification to the future and so keep a copy forever. The owner cannot set the time of the
// inode's last change, and no write happens after that time.
func written(info fs.FileInfo, st *syscall.Stat_t) time.Time {
	changed := time.Unix(st.Ctim.Unix())
	if modified := info.ModTime(); modified.Before(changed) {
		return modified
	}
	return changed
}

// delete removes our files. While other files are left, it keeps our own directory with the
// lock, and the directories that hold those files. It also keeps other destinations below this
// one, which do not count as foreign.
func (d destination) delete(ctx context.Context, parent, dest, own *os.Root) (state string, err error) {
	if err := dropAll(dest, eachSegment); err != nil {
		return Failed, err
	}
	foreign, below, err := leftovers(ctx, dest, own)
	switch {
	case err != nil:
		return Failed, err
	case foreign:
		return Foreign, nil
	}
	if err := dropAll(own, eachOwn); err != nil {
		return Failed, err
	}
	if err := one(own, segment.LockName, drop); err != nil {
		return Failed, err
	}
	if err := one(dest, segment.OwnDir, drop); err != nil {
		return Failed, err
	}
	if d.path == "." || below {
		return Removed, nil
	}
	// A kubelet may have created the directory as root: then the empty directory stays.
	if err := one(parent, path.Base(d.path), drop); err != nil && !errors.Is(err, fs.ErrPermission) {
		return Failed, err
	}
	if left, err := holds(dest, func(fs.DirEntry) bool { return true }); err == nil && left {
		return Foreign, nil // written meanwhile
	}
	return Removed, nil
}

// passes bounds how often a directory is read again: a tenant may create files as fast as they
// are removed.
const passes = 8

// dropAll drops what eachOurs visits in a directory. It repeats this until eachOurs visits no
// file: if names are removed while a directory is read, a file system may skip others.
func dropAll(dir *os.Root, eachOurs func(*os.Root, visit) error) error {
	for range passes {
		found := false
		err := eachOurs(dir, func(dir *os.Root, name string, info fs.FileInfo) error {
			found = found || !info.IsDir()
			return drop(dir, name, info)
		})
		if err != nil || !found {
			return err
		}
	}
	return nil
}

// drop removes a file, or a directory that is empty.
func drop(dir *os.Root, name string, _ fs.FileInfo) error {
	err := dir.Remove(name)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST):
		return nil
	}
	return fmt.Errorf("remove: %w", err)
}

// foreignIn reports whether our own directory holds anything foreign: a directory, or an
// unknown file in the directory of sinks.
func foreignIn(own *os.Root) (bool, error) {
	sinks := false
	foreign, err := holds(own, func(e fs.DirEntry) bool {
		sinks = sinks || e.IsDir() && e.Name() == sinksDir
		return e.IsDir() && e.Name() != sinksDir
	})
	if err != nil || foreign || !sinks {
		return foreign, err
	}
	err = in(own, sinksDir, func(dir *os.Root) (err error) {
		foreign, err = holds(dir, func(e fs.DirEntry) bool { return !ofSinks(e) })
		return err
	})
	return foreign, err
}

// leftovers reports whether a destination holds foreign files, apart from its streams, and
// whether it holds other destinations.
func leftovers(ctx context.Context, dest, own *os.Root) (foreign, below bool, err error) {
	if foreign, err := foreignIn(own); foreign || err != nil {
		return foreign, false, err
	}
	err = each(dest, func(e fs.DirEntry) error {
		if e.Name() == segment.OwnDir {
			return nil
		}
		s := search{ctx: ctx, found: func(destination) {}}
		if e.IsDir() {
			err := in(dest, e.Name(), func(dir *os.Root) error { return s.find(dir, e.Name(), 1, false) })
			if err != nil {
				return err
			}
		}
		foreign, below = foreign || s.count == 0, below || s.count > 0
		return nil
	})
	return foreign, below, err
}
