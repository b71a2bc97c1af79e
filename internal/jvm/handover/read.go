package handover

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/ullage/ullage/internal/base/printable"
)

// Bounds of a copy.
const (
	maxBytes = 1 << 30
	maxFiles = 2000
	maxName  = 512
	maxShown = 120 // of a name in a message, in runes
)

// ErrRefused is the error of a copy that another attempt would not improve.
var ErrRefused = errors.New("the copy is refused")

// harmless is what files of a durable copy are called: nothing that a terminal, a shell or another
// system takes for something else.
var harmless = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._+%@,=-]*(/[A-Za-z0-9._][A-Za-z0-9._+%@,=-]*)*$`)

// Read unpacks what [Write] has written into an empty directory. It takes only regular files with
// harmless names, writes none of them twice and nothing outside of the directory, and keeps to
// bounds. After an error the directory has a part of the copy.
func Read(from io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	defer root.Close()
	archive, left := tar.NewReader(from), int64(maxBytes)
	for files := 0; ; files++ {
		h, err := archive.Next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the mark has not come
		}
		if err != nil {
			return fmt.Errorf("read the copy: %w", err)
		}
		if left -= h.Size; left < 0 || files > maxFiles {
			return fmt.Errorf("%w: it has more than %s or %d files", ErrRefused, printable.Bytes(maxBytes), maxFiles)
		}
		if h.Typeflag != tar.TypeReg || len(h.Name) > maxName || !harmless.MatchString(h.Name) || !filepath.IsLocal(filepath.FromSlash(h.Name)) {
			return fmt.Errorf("%w: it has the entry %s", ErrRefused, printable.Name(printable.Clip(h.Name, maxShown)))
		}
		if h.Name == endMark {
			return nil
		}
		if err := unpack(root, h.Name, archive); err != nil {
			return err
		}
	}
}

func unpack(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	_, err = io.Copy(f, from)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	return nil
}
