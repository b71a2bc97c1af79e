package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrNoSource reports that the source is missing or cannot be opened. The
// reader of the source logs that and waits.
var ErrNoSource = errors.New("the source directory cannot be opened")

// OpenRoot opens a source by its path. Names are resolved inside the source, and no link out of
// it is followed. OpenRoot creates nothing.
func OpenRoot(source string) (*os.Root, error) {
	root, err := os.OpenRoot(source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSource, err)
	}
	return root, nil
}

// CreateRoot is like OpenRoot, but creates the state directory if it is missing.
func CreateRoot(source string) (*os.Root, error) {
	root, err := OpenRoot(source)
	if err != nil {
		return nil, err
	}
	if err := root.Mkdir(Name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		root.Close()
		return nil, fmt.Errorf("create the state directory in the source: %w", err)
	}
	return root, nil
}

// OpenIn opens a regular file of the state directory of a root, and does not block.
func OpenIn(root *os.Root, name string, flags int) (*os.File, error) {
	f, err := root.OpenFile(filepath.Join(Name, name), flags|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
