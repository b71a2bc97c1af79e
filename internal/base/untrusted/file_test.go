//go:build linux

package untrusted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A process with write access can replace a file, or the directory, with something else. Opening the file must neither
// leave the directory nor block.
func TestOnlyARegularFileIsOpened(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(in("file"), []byte("text"), 0o600),
		os.Symlink("file", in("link")),
		unix.Mkfifo(in("fifo"), 0o600),
		os.Mkdir(in("directory"), 0o700),
		os.WriteFile(in("directory/file"), []byte("text"), 0o600),
		os.Symlink("directory", in("linked")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	open, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for name, want := range map[string]error{
		"file": nil, "link": unix.ELOOP, "fifo": ErrNotRegular, "directory": unix.EISDIR, "missing": fs.ErrNotExist,
	} {
		for how, open := range map[string]func() (*os.File, error){
			"in an open directory": func() (*os.File, error) { return OpenFile(open, name, unix.O_RDONLY, 0) },
			"by its path":          func() (*os.File, error) { return OpenFile(nil, in(name), unix.O_RDONLY, 0) },
			"by both":              func() (*os.File, error) { return OpenIn(dir, name) },
			"with a slash":         func() (*os.File, error) { return OpenIn(dir+"/", name) },
		} {
			file, err := open()
			if !errors.Is(err, want) {
				t.Errorf("%s %s: %v, want %v", name, how, err, want)
			}
			if err == nil && file.Name() != in(name) {
				t.Errorf("%s %s has the name %s, want %s", name, how, file.Name(), in(name))
			}
			file.Close()
		}
	}
	for _, linked := range []string{in("linked"), in("linked/")} {
		if _, err := OpenIn(linked, "file"); !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			t.Errorf("a file in %s, which is a link: %v, want %v or %v", linked, err, unix.ENOTDIR, unix.ELOOP)
		}
	}
}
