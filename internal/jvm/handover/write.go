package handover

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Write writes what the reader lacks of the regular files in a directory. It looks at the directory
// repeatedly and calls next before each look. Once next reports that nothing writes to the files
// any more, the following look is the last.
func Write(w io.Writer, dir string, has []Part, next func() (last bool, err error)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	defer root.Close()
	s := sender{archive: tar.NewWriter(w), root: root, sent: map[string]*sent{}}
	for _, p := range has {
		s.sent[p.Name] = &sent{size: p.Size, claim: p.Sum}
	}
	for last := false; err == nil && !last; {
		if last, err = next(); err == nil {
			err = s.look(last)
		}
	}
	if err == nil {
		err = s.archive.WriteHeader(&tar.Header{Name: endMark, Typeflag: tar.TypeReg})
	}
	if err := errors.Join(err, s.archive.Close()); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	return nil
}

// sender sends a directory that grows.
type sender struct {
	archive *tar.Writer
	root    *os.Root
	sent    map[string]*sent // what the reader has, by name
}

// sent describes what the reader has of a file.
type sent struct {
	size  int64
	claim string    // its sum, according to the reader
	sum   hash.Hash // nil: the claim has not been verified yet
}

// begins reports whether a file begins with what the reader has.
func (t *sent) begins(f io.ReaderAt) bool {
	is := sha256.New()
	if _, err := io.Copy(is, io.NewSectionReader(f, 0, t.size)); err != nil {
		return false
	}
	if t.sum == nil {
		t.sum = is
	} else {
		t.claim = hex.EncodeToString(t.sum.Sum(nil))
	}
	return t.claim == hex.EncodeToString(is.Sum(nil))
}

// look sends what has changed since the last look.
func (s *sender) look(last bool) error {
	there := map[string]bool{}
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // retention has deleted it since it was listed
		}
		if err != nil || !d.Type().IsRegular() || !last && changes(name) {
			return err
		}
		there[name] = true
		return s.send(name, last)
	})
	for name := range s.sent {
		if err == nil && !there[name] && (last || !changes(name)) {
			err = s.forget(name)
		}
	}
	if err == nil {
		err = s.archive.Flush()
	}
	return err
}

// changes reports whether a file is sent last, because it may change in other ways than growing while
// the copy is written.
func changes(name string) bool {
	return name != Report && (strings.HasPrefix(name, ".") || strings.Contains(name, "/."))
}

// send sends what a file has grown by. If a file does not begin with what the reader has, a restart
// of the sidecar or a disk error has cut it, and send sends all of it. If such a file has since
// grown to its former size or beyond, the size does not show the cut. Only rereading the file does.
// Every file is read again in the last look and in the first look after a reconnection. [Report] is
// read again in each look.
func (s *sender) send(name string, last bool) error {
	f, err := s.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // retention has deleted it since it was listed
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t, size := s.sent[name], info.Size()
	if t != nil && (size < t.size || (last || t.sum == nil || name == Report) && !t.begins(f)) {
		if err := s.forget(name); err != nil {
			return err
		}
		t = nil
	}
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: size, ModTime: info.ModTime()}
	switch {
	case t == nil:
		t = &sent{sum: sha256.New()}
		s.sent[name] = t
	case t.size == size:
		return nil
	default:
		h.Size -= t.size
		h.PAXRecords = map[string]string{offsetRecord: strconv.FormatInt(t.size, 10)}
	}
	if err := s.archive.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(s.archive, t.sum), io.NewSectionReader(f, t.size, h.Size))
	if t.size += n; err == nil && n < h.Size {
		err = fmt.Errorf("%s was cut meanwhile: %w", name, io.ErrUnexpectedEOF)
	}
	return err
}

// forget makes the reader remove a file.
func (s *sender) forget(name string) error {
	delete(s.sent, name)
	return s.archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, PAXRecords: map[string]string{goneRecord: "true"}})
}
