package levels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/statedir"
)

// Names in the state directory of the source. It lies on the tmpfs: it lives
// as long as the JVMs that it is about.
const (
	stateName  = "levels.json" // read at a start, and written for the next one
	lockName   = "levels.lock" // held by the process that keeps the levels
	socketName = "levels.sock" // where that process is asked
)

// store is the saved state of one source. The application can write to its
// directory: names are resolved inside the source, no link out of it is
// followed, nothing but a regular file is opened, and nothing blocks.
type store struct {
	source string
	seen   stamp    // of the state as it was last read or written
	held   *os.File // the lock; nil: it is not held
}

// stamp tells apart the versions of a file. The zero value is a missing one.
type stamp struct {
	dev, ino uint64
	size     int64
	modified time.Time
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino = uint64(st.Dev), st.Ino
	}
	return s
}

func (s *store) path(name string) string { return filepath.Join(s.source, statedir.Name, name) }

// errNoSource means that the source is missing or cannot be opened. Its reader
// reports that, and waits.
var errNoSource = errors.New("the source directory cannot be opened")

// missing returns that error, or nil.
func (s *store) missing() error {
	root, err := s.openSource()
	if err != nil {
		return err
	}
	return root.Close()
}

func (s *store) openSource() (*os.Root, error) {
	root, err := os.OpenRoot(s.source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSource, err)
	}
	return root, nil
}

// root opens the source. Names are then relative to it.
func (s *store) root() (*os.Root, error) {
	root, err := s.openSource()
	if err != nil {
		return nil, err
	}
	if err := root.Mkdir(statedir.Name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		root.Close()
		return nil, fmt.Errorf("create the state directory in the source: %w", err)
	}
	return root, nil
}

// open opens a regular file of the state directory.
func open(root *os.Root, name string, flags int) (*os.File, error) {
	f, err := root.OpenFile(filepath.Join(statedir.Name, name), flags|unix.O_NONBLOCK, 0o600)
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

// moved reports whether the saved state is not the one that was last read or
// written: changed, or gone.
func (s *store) moved() bool {
	info, err := os.Lstat(s.path(stateName))
	if err != nil {
		return s.seen != stamp{}
	}
	return stampOf(info) != s.seen
}

// load reads the saved state: nil if there is none. A state that is not sound
// in parts is returned with an error. One that is not as it would be saved is
// not taken for seen: it is to be saved again.
func (s *store) load(now time.Time) (*state, error) {
	root, err := s.openSource()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := open(root, stateName, os.O_RDONLY)
	s.seen = stamp{}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the saved levels: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the saved levels: %w", err)
	}
	s.seen = stampOf(info)
	text, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return nil, fmt.Errorf("read the saved levels: %w", err)
	}
	if len(text) > maxState {
		return nil, fmt.Errorf("read the saved levels: more than %d bytes", maxState)
	}
	st, err := parseState(text, now)
	if again, _ := json.Marshal(st); !bytes.Equal(again, bytes.TrimSpace(text)) {
		s.seen = stamp{}
	}
	return st, err
}

// save replaces the saved state. A crash leaves the one or the other whole.
// It needs a page of the tmpfs, and fails where that is full.
func (s *store) save(st *state) error {
	text, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	root, err := s.root()
	if err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	defer root.Close()
	const fresh = stateName + ".new"
	_ = root.Remove(filepath.Join(statedir.Name, fresh)) // of one that was killed; what cannot be removed is in the way
	f, err := open(root, fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	if err := root.Rename(filepath.Join(statedir.Name, fresh), filepath.Join(statedir.Name, stateName)); err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	s.seen = stampOf(info)
	return nil
}
