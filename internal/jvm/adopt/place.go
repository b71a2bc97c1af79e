package adopt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/jvm/attach"
)

// shm is the tmpfs that every container and every Linux system has.
const shm = "/dev/shm"

const (
	share = 8 // all places together take one part in eight of the tmpfs

	leastBudget = 1 << 20  // the smallest budget that a sidecar accepts
	mostBudget  = 64 << 20 // the default size of the tmpfs in a cluster

	archives = 3 // of the JVM's rotation, in addition to the file being written
)

// Place is a private directory for the log of a JVM.
type Place struct {
	Source  string // path in the view of this process, which stays valid after the JVM has ended
	Path    string // path in the view of the JVM
	Budget  int64  // how many bytes the log may take
	Options string // options of the JVM's output, which keep the JVM itself within Budget

	parent *os.Root
	dir    *os.File
	made   bool // the directory was created by this run
}

// Make creates the place of a JVM, or opens the place that an earlier run has left. n is how many
// places share the part of a tmpfs that all places together may take.
func Make(j attach.JVM, n int) (*Place, error) {
	p, err := open(j)
	if err == nil {
		if p.Budget, err = budget(p.parent, n); err == nil {
			err = p.make(j)
		}
		if err != nil {
			p.Abandon()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j, err)
	}
	p.Options = fmt.Sprintf("filecount=%d,filesize=%dK", archives, p.Budget/(archives+1)>>10)
	return p, nil
}

// open opens the tmpfs of a JVM.
func open(j attach.JVM) (*Place, error) {
	at, err := j.OpenDir(shm)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it has no %s: mount a tmpfs there", shm)
	}
	if err != nil {
		return nil, fmt.Errorf("open its %s: %w", shm, err)
	}
	defer at.Close()
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", at.Fd()))
	if err != nil {
		return nil, fmt.Errorf("open its %s: %w", shm, err)
	}
	return &Place{Path: filepath.Join(shm, fmt.Sprintf("ullage-%d-%d", j.PID, j.Started())), parent: root}, nil
}

// budget returns how many bytes each of n places may take of a tmpfs. It fails if the application
// itself needs the tmpfs, or if the tmpfs is too small.
func budget(tmpfs *os.Root, n int) (int64, error) {
	dir, err := tmpfs.Open(".")
	if err != nil {
		return 0, fmt.Errorf("open its %s: %w", shm, err)
	}
	defer dir.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return 0, fmt.Errorf("look at its %s: %w", shm, err)
	}
	if st.Type != unix.TMPFS_MAGIC {
		return 0, fmt.Errorf("its %s is not a tmpfs: the JVM might wait for a disk there", shm)
	}
	return budgetOf(int64(st.Blocks)*int64(st.Bsize), int64(st.Bfree)*int64(st.Bsize), n)
}

// budgetOf is budget for a tmpfs with the given size and free space. If the tmpfs has no limit,
// size is 0.
func budgetOf(size, free int64, n int) (int64, error) {
	if size == 0 {
		return mostBudget / int64(n), nil
	}
	if used := size - free; used > size/2 {
		return 0, fmt.Errorf("the application uses %s of the %s of its %s: ullage does not use a tmpfs that is more than half full",
			printable.Bytes(used), printable.Bytes(size), shm)
	}
	budget := min(size/share, mostBudget) / int64(n)
	if budget < leastBudget {
		return 0, fmt.Errorf("its %s has %s: ullage uses at most an eighth, which is less than %s for each JVM",
			shm, printable.Bytes(size), printable.Bytes(leastBudget))
	}
	return budget, nil
}

// make creates the directory, unless it exists, and gives it to the JVM's user.
func (p *Place) make(j attach.JVM) error {
	name, user := filepath.Base(p.Path), j.User()
	err := p.parent.Mkdir(name, 0o700)
	p.made = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil && p.made && !user.IsOurs() {
		err = p.parent.Lchown(name, int(user.UID), int(user.GID))
	}
	if err == nil {
		p.dir, err = p.parent.Open(name)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = p.dir.Stat()
	}
	if err != nil {
		return fmt.Errorf("make the directory %s: %w", p.Path, err)
	}
	if st := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 || st.Uid != user.UID {
		return fmt.Errorf("%s is not a private directory of user %d: remove it", p.Path, user.UID)
	}
	p.Source = p.Path
	if ours, err := os.Stat(p.Path); err != nil || !os.SameFile(ours, info) {
		p.Source = fmt.Sprintf("/proc/self/fd/%d", p.dir.Fd()) // the directory is in another mount namespace, which ends with the JVM
	}
	return nil
}

// On reports whether a directory is on the tmpfs of the place.
func (p *Place) On(dir string) bool {
	var ours, its unix.Stat_t
	return unix.Fstat(int(p.dir.Fd()), &ours) == nil && unix.Stat(dir, &its) == nil && ours.Dev == its.Dev
}

// Holds reports whether the directory contains anything that has not been shipped. It ignores
// the sidecar's own files, whose names begin with a dot.
func (p *Place) Holds() bool {
	dir, err := p.parent.Open(filepath.Base(p.Path))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return err != nil || slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, ".") })
}

// Abandon closes the directory, which was not used. It removes the directory unless an earlier run
// created it.
func (p *Place) Abandon() {
	if p.made {
		_ = p.Remove()
	}
	p.Close()
}

// Remove removes the directory and everything in it.
func (p *Place) Remove() error {
	if err := p.parent.RemoveAll(filepath.Base(p.Path)); err != nil {
		return fmt.Errorf("remove %s: %w", p.Path, err)
	}
	return nil
}

// Close closes the directory. If Source is the path of its descriptor, that path is then no longer
// valid.
func (p *Place) Close() {
	if p.dir != nil {
		p.dir.Close()
	}
	p.parent.Close()
}
