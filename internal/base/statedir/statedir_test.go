package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

func source(t *testing.T) *os.File {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func TestDirectoryIsMadeAndFoundAgain(t *testing.T) {
	src := source(t)
	for range 2 {
		dir, err := Open(src)
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
	}
	if info, err := os.Stat(filepath.Join(src.Name(), Name)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory is %v, error %v; want the mode 0o700 and no error", info, err)
	}
}

// The application can put anything in place of the directory.
func TestWhatHasTheNameOfTheDirectoryGoes(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a file":            func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link":            func(path string) error { return os.Symlink("/etc", path) },
		"a link to nowhere": func(path string) error { return os.Symlink("missing", path) },
		"a FIFO":            func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			src := source(t)
			path := filepath.Join(src.Name(), Name)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			dir, err := Open(src)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			if info, err := os.Lstat(path); err != nil || !info.IsDir() {
				t.Errorf("the state directory is %v, error %v; want a directory", info, err)
			}
		})
	}
}

// The application can also put anything in place of a file in the directory.
func TestOnlyARegularFileWithOneNameIsOpened(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a link":                func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a FIFO":                func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a file with two names": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, path+"2")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := Open(source(t))
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			if err := put(filepath.Join(dir.Name(), "own")); err != nil {
				t.Fatal(err)
			}
			if f, err := OpenFile(dir, "own", unix.O_RDONLY); err == nil {
				f.Close()
				t.Error("OpenFile opened what the test put in the file's place, want an error")
			}
		})
	}
}

func TestFileThatIsMissing(t *testing.T) {
	dir, err := Open(source(t))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := OpenFile(dir, "own", unix.O_RDONLY); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v, want ErrNotExist", err)
	}
	if _, err := OpenFile(nil, "own", unix.O_RDONLY|unix.O_CREAT); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory, the error is %v, want ErrNotExist", err)
	}
	f, err := OpenFile(dir, "own", unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// Another user's directory can hold the only copy of some lines: the error must not
// advise removing it.
func TestDirectoryOfAnotherUserIsNotToBeRemoved(t *testing.T) {
	src := source(t)
	if err := os.Chmod(src.Name(), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := Open(src)
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
	lab.AsNobody(t, func() { dir, err = Open(src) })
	if err == nil {
		dir.Close()
		t.Fatal("another user opened the directory, want an error")
	}
	if text := err.Error(); !errors.Is(err, fs.ErrPermission) || !strings.Contains(text, "run the sidecar as that user; do not remove the directory") {
		t.Errorf("got %q, want a permission error that advises running as that user and keeping the directory", text)
	}
}
