package statedir

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// claimed opens the state directory of source by a descriptor of its own, as
// another process would, and claims the source.
func claimed(t *testing.T, c *Claimant, source string) (*Owner, *os.File, error) {
	t.Helper()
	root, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	dir, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	o, err := c.Claim(dir)
	if err != nil {
		dir.Close()
	} else {
		t.Cleanup(o.Close)
	}
	return o, dir, err
}

// deep returns a directory with a path that does not fit into an address.
func deep(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100), strings.Repeat("e", 100))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestASecondSidecarWaitsForTheOwnersEnd(t *testing.T) {
	source := deep(t)
	var first, second Claimant
	o, dir, err := claimed(t, &first, source)
	if err != nil || !o.Locked || o.Deaf != nil {
		t.Fatalf("%+v, %v", o, err)
	}
	for range 3 {
		var owned *OwnedError
		if _, _, err := claimed(t, &second, source); !errors.As(err, &owned) || owned.PID != os.Getpid() {
			t.Fatalf("the second claim: %v", err)
		}
	}
	o.Close()
	dir.Close()
	if _, err := os.Lstat(filepath.Join(source, Name, ownerName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if o, _, err := claimed(t, &second, source); err != nil || !o.Locked {
		t.Errorf("after the owner's end: %+v, %v", o, err)
	}
}

// A killed owner leaves its socket, and the kernel releases its lock. Anything
// else under the socket's name does no harm either.
func TestWhatHasTheSocketsNameIsReplaced(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"stale socket": func(path string) error {
			dir, err := os.Open(filepath.Dir(path))
			if err != nil {
				return err
			}
			defer dir.Close()
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), ownerName)})
		},
		"directory": func(path string) error { return os.MkdirAll(path+"/full", 0o700) },
		"link":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"FIFO":      func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			source := deep(t)
			if err := os.Mkdir(filepath.Join(source, Name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(source, Name, ownerName)); err != nil {
				t.Fatal(err)
			}
			var first, second Claimant
			if o, _, err := claimed(t, &first, source); err != nil || o.Deaf != nil {
				t.Fatalf("%+v, %v", o, err)
			}
			var owned *OwnedError
			if _, _, err := claimed(t, &second, source); !errors.As(err, &owned) || owned.PID == 0 {
				t.Errorf("nobody answers: %v", err)
			}
		})
	}
}

// The application can lock the directory, and can listen without an answer. It
// delays a sidecar for ownerPatience, and no longer than that and one question.
func TestALockWithoutAnAnswerDelaysASidecarOnlyBriefly(t *testing.T) {
	for name, listens := range map[string]bool{"locked": false, "locked, and listens": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := t.TempDir()
			state := filepath.Join(source, Name)
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			dir, err := os.Open(state)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			if listens {
				l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), ownerName))
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			var c Claimant
			for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
				o, _, err := claimed(t, &c, source)
				if err == nil {
					if o.Locked || time.Since(began) < ownerPatience {
						t.Errorf("locked %v, after %s", o.Locked, time.Since(began))
					}
					return
				}
				if time.Since(began) > 30*time.Second {
					t.Fatalf("still: %v", err)
				}
			}
		})
	}
}

func TestOfManyWaitersOneBecomesTheOwner(t *testing.T) {
	source := t.TempDir()
	for range 50 {
		var crew sync.WaitGroup
		var mu sync.Mutex
		var owners []*Owner
		var dirs []*os.File
		for range 8 {
			root, err := os.Open(source)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := Open(root)
			root.Close()
			if err != nil {
				t.Fatal(err)
			}
			crew.Go(func() {
				o, err := new(Claimant).Claim(dir)
				mu.Lock()
				defer mu.Unlock()
				dirs = append(dirs, dir)
				if err == nil {
					owners = append(owners, o)
				}
			})
		}
		crew.Wait()
		if len(owners) != 1 || owners[0].Deaf != nil {
			t.Fatalf("%d owners", len(owners))
		}
		owners[0].Close()
		for _, dir := range dirs {
			dir.Close()
		}
	}
}
