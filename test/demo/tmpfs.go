package main

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/test/lab"
)

// tmpfs is a private directory for the JVM's log.
type tmpfs struct {
	dir     string
	what    string // a description for the table
	warning string // says that the directory is not on a tmpfs; empty: it is
	mounted bool
	largest *atomic.Int64
}

// newTmpfs mounts a tmpfs of the size that is the default in a cluster, if that is allowed. Otherwise it takes a
// directory in /dev/shm, or else one in dir.
func newTmpfs(dir string) (tmpfs, error) {
	t := tmpfs{dir: filepath.Join(dir, "tmpfs"), what: "of 64 MiB", mounted: true, largest: &atomic.Int64{}}
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return t, err
	}
	if unix.Mount("ullage-demo", t.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64m,mode=0700") == nil {
		return t, nil
	}
	t.mounted = false
	if shm, err := os.MkdirTemp("/dev/shm", "ullage-demo-"); err == nil {
		if isTmpfs(shm) {
			os.Remove(t.dir)
			t.dir, t.what = shm, "in /dev/shm"
			return t, nil
		}
		os.Remove(shm)
	}
	t.what = "which is not a tmpfs; see the warning"
	t.warning = "there is no tmpfs here (/dev/shm is not one, or cannot be written to): the JVM logs to " + t.dir + ", and may wait for a disk"
	return t, nil
}

func isTmpfs(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC
}

// remove removes the directory with all that is in it.
func (t tmpfs) remove() {
	if t.dir == "" {
		return
	}
	if t.mounted {
		_ = unix.Unmount(t.dir, unix.MNT_DETACH)
	}
	os.RemoveAll(t.dir)
}

// inUse returns how much memory is in use now. It remembers the largest value.
func (t tmpfs) inUse() int64 {
	var st unix.Statfs_t
	n := int64(0)
	if t.mounted && unix.Statfs(t.dir, &st) == nil {
		n = int64(st.Blocks-st.Bfree) * int64(st.Bsize)
	} else {
		n = lab.InUse(t.dir)
	}
	for {
		largest := t.largest.Load()
		if n <= largest || t.largest.CompareAndSwap(largest, n) {
			return n
		}
	}
}

// watch calls inUse every 20 ms until stop is called.
func (t tmpfs) watch() (stop func()) {
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				t.inUse()
			}
		}
	})
	return func() { close(done); watcher.Wait() }
}
