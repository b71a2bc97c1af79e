package handover

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/ullage/ullage/internal/base/printable"
)

// Bounds on a copy. The copies of 16 JVMs have 256 MiB each, plus segments that retention has
// not deleted yet.
const (
	maxBytes = 5 << 30
	maxFiles = 2000
	maxName  = 512
	maxShown = 120 // runes of a name in a message
)

// ErrRefused reports a copy that another attempt would not improve.
var ErrRefused = errors.New("the copy is refused")

// harmless matches the names of files in a durable copy. They have no special meaning to a
// terminal, a shell or another operating system.
var harmless = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._+%@,=-]*(/[A-Za-z0-9._][A-Za-z0-9._+%@,=-]*)*$`)

// Read unpacks the output of [Write] into a directory, which must be empty or have what was
// received before a connection broke. It accepts only regular files with harmless names, writes no
// byte of them twice, writes nothing outside the directory, and is bounded. After an error, the
// directory has a part of the copy.
func Read(from io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	defer root.Close()
	r := receiver{root: root, sizes: map[string]int64{}}
	if err := r.count(); err != nil {
		return err
	}
	for archive := tar.NewReader(from); ; {
		h, err := archive.Next()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the end mark was not received
		}
		if err != nil {
			return fmt.Errorf("read the copy: %w", err)
		}
		if h.Typeflag != tar.TypeReg || len(h.Name) > maxName || !harmless.MatchString(h.Name) || !filepath.IsLocal(filepath.FromSlash(h.Name)) {
			return refuse(h)
		}
		if h.Name == endMark {
			return nil
		}
		if err := r.take(h, archive); err != nil {
			return err
		}
	}
}

func refuse(h *tar.Header) error {
	return fmt.Errorf("%w: it has the entry %s", ErrRefused, printable.Name(printable.Clip(h.Name, maxShown)))
}

// receiver unpacks entries into a directory.
type receiver struct {
	root  *os.Root
	sizes map[string]int64 // sizes of the files in it, by name
	bytes int64            // their sum
}

// count records the files that the directory already has.
func (r *receiver) count() error {
	err := fs.WalkDir(r.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			r.sizes[name] = info.Size()
			r.bytes += info.Size()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the files received so far: %w", err)
	}
	return nil
}

// take handles one entry.
func (r *receiver) take(h *tar.Header, content io.Reader) error {
	size, there := r.sizes[h.Name]
	if h.PAXRecords[goneRecord] != "" {
		if !there || h.Size != 0 {
			return refuse(h)
		}
		delete(r.sizes, h.Name)
		r.bytes -= size
		if err := r.root.Remove(h.Name); err != nil {
			return fmt.Errorf("remove a file from the copy: %w", err)
		}
		return nil
	}
	offset, continues := h.PAXRecords[offsetRecord]
	if continues != there || continues && offset != strconv.FormatInt(size, 10) {
		return refuse(h)
	}
	if h.Size > maxBytes-r.bytes || !there && len(r.sizes) == maxFiles {
		return fmt.Errorf("%w: it has more than %s or %d files", ErrRefused, printable.Bytes(maxBytes), maxFiles)
	}
	if err := r.unpack(h.Name, size, content); err != nil {
		return err
	}
	r.sizes[h.Name] = size + h.Size
	r.bytes += h.Size
	return nil
}

// unpack writes content after the first size bytes of a file. If that fails, the file keeps only
// these bytes, because a part of an entry may end within a frame.
func (r *receiver) unpack(name string, size int64, content io.Reader) error {
	if err := r.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	flags := os.O_WRONLY | os.O_APPEND
	if _, there := r.sizes[name]; !there {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := r.root.OpenFile(name, flags, 0o600)
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	if _, err = io.Copy(f, content); err != nil {
		err = errors.Join(err, f.Truncate(size))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	return nil
}
