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

	"github.com/ullage/ullage/internal/base/statedir"
)

// Names in the state directory of the source. The directory is on the tmpfs,
// and exists as long as the JVMs that it describes.
const (
	stateName  = "levels.json" // the saved state: read at a start, and written for the next start
	lockName   = "levels.lock" // the lock that the keeper holds
	socketName = "levels.sock" // the socket on which the keeper listens
)

// store is the saved state of one source. The application can write to its
// directory. So names are resolved inside the source, no link out of the source
// is followed, only regular files are opened, and no call blocks.
type store struct {
	source string
	seen   stamp    // the stamp of the state when it was last read or written
	held   *os.File // the lock file; nil: not locked
}

// stamp distinguishes the versions of a file. The zero value stands for a
// missing file.
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

// errNoSource reports that the source is missing or cannot be opened. The
// reader of the source logs that, and waits.
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

// root opens the source, to which all names are relative.
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

// moved reports whether the saved state has been changed or removed since this
// process last read or wrote it.
func (s *store) moved() bool {
	info, err := os.Lstat(s.path(stateName))
	if err != nil {
		return s.seen != stamp{}
	}
	return stampOf(info) != s.seen
}

// load reads the saved state. It returns nil if there is none. If only parts of
// the state are sound, load returns these parts and an error. A state in another
// form than save writes is not marked as seen, so that it is saved again.
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

// save replaces the saved state. A crash leaves the old or the new state,
// whole. save needs a page of the tmpfs and fails if the tmpfs is full.
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
	_ = root.Remove(filepath.Join(statedir.Name, fresh)) // left by a killed process; if it cannot be removed, the create fails
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
