package prune

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ullage/ullage/internal/base/untrusted"
)

// An [os.Root] follows links within it. So every directory is opened by its bare
// name in its parent, and every operation in it uses a bare name: a link that a
// tenant puts in place of a directory is then not followed.

// sub opens a directory in r. It must not be a link.
func sub(r *os.Root, name string) (*os.Root, error) {
	info, err := r.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("read the volume: %w", err)
	}
	if !info.IsDir() { // opening a FIFO would never return
		return nil, fmt.Errorf("read the volume: %.80q is not a directory", name)
	}
	dir, err := r.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("read the volume: %w", err)
	}
	if err := isIn(r, name, func() (fs.FileInfo, error) { return dir.Stat(".") }); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// isIn checks that the opened file still has the name and was not reached through a link.
func isIn(r *os.Root, name string, opened func() (fs.FileInfo, error)) error {
	is, err := opened()
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	has, err := r.Lstat(name)
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	if !os.SameFile(is, has) {
		return fmt.Errorf("read the volume: %.80q is a link, or was replaced meanwhile", name)
	}
	return nil
}

// in calls do with a directory in r. A missing directory is skipped.
func in(r *os.Root, name string, do func(dir *os.Root) error) error {
	dir, err := sub(r, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir)
}

// open opens the directory at a path, one name at a time.
func open(root *os.Root, at string) (*os.Root, error) {
	dir, err := sub(root, ".")
	for name := range strings.SplitSeq(at, "/") {
		if err != nil {
			return nil, err
		}
		above := dir
		dir, err = sub(above, name)
		above.Close()
	}
	return dir, err
}

// each calls do with every entry of a directory. A tenant can create any number of entries. do may
// remove the entry.
func each(dir *os.Root, do func(fs.DirEntry) error) error {
	f, err := dir.Open(".")
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	defer f.Close()
	var failed error // the last result of do
	err = untrusted.EachEntry(f.ReadDir, func(e fs.DirEntry) error {
		failed = do(e)
		return failed
	})
	if err != nil && failed == nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	return err
}

// holds reports whether a directory has an entry for which such returns true.
func holds(dir *os.Root, such func(fs.DirEntry) bool) (bool, error) {
	err := each(dir, func(e fs.DirEntry) error {
		if such(e) {
			return fs.SkipAll
		}
		return nil
	})
	if err == fs.SkipAll {
		return true, nil
	}
	return false, err
}
