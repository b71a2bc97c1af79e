package plan

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

	"github.com/ullage/ullage/internal/base/statedir"
)

// fileName is the name of the saved state in the state directory of the source. The directory is on
// the tmpfs, which lives as long as the JVMs that the state describes.
const fileName = "levels.json"

// File is the saved state of one source. The application can write to its
// directory. So names are resolved inside the source, no link out of the source
// is followed, only regular files are opened, and no call blocks.
type File struct {
	source string
	seen   Stamp // the stamp of the state when it was last read or written
}

// NewFile returns the file of a source. It does not access the file.
func NewFile(source string) *File { return &File{source: source} }

// Stamp distinguishes the versions of a file. The zero value represents a missing file.
type Stamp struct {
	dev, ino uint64
	size     int64
	modified time.Time
}

// StampOf returns the stamp of a file.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{size: info.Size(), modified: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino = uint64(st.Dev), st.Ino
	}
	return s
}

func (s *File) path() string { return filepath.Join(s.source, statedir.Name, fileName) }

// Moved reports whether the saved state has been changed or removed since this
// process last read or wrote it.
func (s *File) Moved() bool {
	info, err := os.Lstat(s.path())
	if err != nil {
		return s.seen != Stamp{}
	}
	return StampOf(info) != s.seen
}

// Whole reports whether the file contains the state that was last read or saved, in the form that Save writes.
func (s *File) Whole() bool { return s.seen != Stamp{} }

// Load reads the saved state. It returns nil if there is no saved state. If only parts of the state
// are sound, Load returns these parts and an error. If the file is not in the form that Save writes,
// Load does not record its stamp, so that the state is saved again.
func (s *File) Load(now time.Time) (*State, error) {
	root, err := statedir.OpenRoot(s.source)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := statedir.OpenIn(root, fileName, os.O_RDONLY)
	s.seen = Stamp{}
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
	s.seen = StampOf(info)
	text, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return nil, fmt.Errorf("read the saved levels: %w", err)
	}
	if len(text) > maxState {
		return nil, fmt.Errorf("read the saved levels: more than %d bytes", maxState)
	}
	st, err := Parse(text, now)
	if again, _ := json.Marshal(st); !bytes.Equal(again, bytes.TrimSpace(text)) {
		s.seen = Stamp{}
	}
	return st, err
}

// Save replaces the saved state. After a crash, either the old or the new state is complete. Save
// needs a page of the tmpfs and fails if the tmpfs is full.
func (s *File) Save(st *State) error {
	text, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	root, err := statedir.CreateRoot(s.source)
	if err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	defer root.Close()
	const fresh = fileName + ".new"
	_ = root.Remove(filepath.Join(statedir.Name, fresh)) // a killed process may have left it; if it cannot be removed, creating it fails
	f, err := statedir.OpenIn(root, fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	if err := root.Rename(filepath.Join(statedir.Name, fresh), filepath.Join(statedir.Name, fileName)); err != nil {
		return fmt.Errorf("save the levels: %w", err)
	}
	s.seen = StampOf(info)
	return nil
}
