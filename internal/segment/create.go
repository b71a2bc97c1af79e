package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// open gives the stream a descriptor to append with: of its newest segment
// or, if that is sealed, of a new one.
func (t *Stream) open() error {
	if t.seg.Name == "" || t.mark.Sealed {
		return t.create()
	}
	file, err := t.store.openSegment(t.seg, unix.O_WRONLY)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	stat, err := file.Stat()
	if err == nil && stat.Size() != t.seg.Size {
		err = fmt.Errorf("it was changed by another process: it has %d bytes, not %d", stat.Size(), t.seg.Size)
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("open segment %s: %w", t.seg.Name, err)
	}
	t.file, t.begun = file, t.seg.Size&^(pageBytes-1)
	return nil
}

// create makes the next segment. Its entry, and that of a new directory, are
// durable only after the next Sync. All of the segment before is synced, since
// only Sync seals.
func (t *Stream) create() error {
	if err := t.store.present(); err != nil {
		return err
	}
	made := false
	switch err := retry(func() error { return unix.Mkdirat(int(t.store.root.Fd()), t.name, dirMode) }); err {
	case nil:
		made, t.rooted = true, false
	case unix.EEXIST:
	default:
		return fmt.Errorf("create stream directory: %w", &fs.PathError{Op: "mkdir", Path: t.dir, Err: err})
	}
	start := time.Now().UTC().Truncate(time.Millisecond)
	name := segmentName(start, t.last+1, t.store.cfg.Compress)
	seg := Info{Stream: t.name, Path: filepath.Join(t.dir, name), Name: name, Seq: t.last + 1, Start: start,
		Compress: t.store.cfg.Compress, ModTime: start, Disk: pageBytes}
	file, err := t.store.openSegment(seg, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		if made { // the last inode went to the directory
			_ = unix.Unlinkat(int(t.store.root.Fd()), t.name, unix.AT_REMOVEDIR)
		}
		return fmt.Errorf("create segment: %w", err)
	}
	if made {
		t.store.ledger.dirs++
	}
	if t.seg.Name != "" {
		before := t.seg
		t.before = &before
	}
	t.last++
	t.file, t.begun, t.created, t.dirty = file, 0, true, true
	t.seg = seg
	return nil
}

// openSegment opens a regular file in the directory of a stream. Neither the
// file nor the directory may be a link.
func (s *Store) openSegment(seg Info, flags int) (*os.File, error) {
	dir, err := s.openDir(seg.Stream)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var fd int
	err = retry(func() error {
		// O_NONBLOCK, so that a FIFO of that name does not block.
		fd, err = unix.Openat(int(dir.Fd()), seg.Name,
			flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, fileMode)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: seg.Path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: seg.Path, Err: errors.Join(err, errors.New("not a regular file"))}
	}
	return os.NewFile(uintptr(fd), seg.Path), nil
}

// removeSegment unlinks a segment. It does not sync the directory. That it is
// gone already is not an error.
func (s *Store) removeSegment(seg Info) error {
	dir, err := s.openDir(seg.Stream)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete segment: %w", err)
	}
	defer dir.Close()
	err = retry(func() error { return unix.Unlinkat(int(dir.Fd()), seg.Name, 0) })
	if err != nil && err != unix.ENOENT {
		return fmt.Errorf("delete segment %s: %w", seg.Path, err)
	}
	return nil
}

// cutSegment makes a segment end at size and makes it durable. One that ends
// there already keeps its time of modification.
func (s *Store) cutSegment(seg Info, size int64) error {
	file, err := s.openSegment(seg, unix.O_WRONLY)
	if err != nil {
		return fmt.Errorf("cut segment: %w", err)
	}
	stat, err := file.Stat()
	if err == nil && stat.Size() != size {
		err = file.Truncate(size)
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cut segment: %w", err)
	}
	return nil
}
