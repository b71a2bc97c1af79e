package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// binary is the path of the program that Main has built. A goroutine that began before Main may read it.
var binary atomic.Value

// Main builds ullage once and runs the tests of a package: call it from TestMain. Binary then returns the program's
// path. In a process that StartFlood has started, Main runs as the writer.
func Main(m *testing.M) {
	BeFlood()
	os.Exit(main(m))
}

func main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ullage-lab-")
	if err == nil {
		defer os.RemoveAll(dir)
		// Other users run the program too.
		err = os.Chmod(dir, 0o755)
	}
	var built string
	if err == nil {
		built, err = Build(dir, "ullage")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary.Store(built)
	return m.Run()
}

// Binary returns the path of the program that Main has built.
func Binary() string {
	path, _ := binary.Load().(string)
	return path
}

// Run starts `ullage run` with an admin HTTP on a free port. If the process still runs at the end of the test, it is
// killed.
func Run(tb testing.TB, source, dest string, flags ...string) *Sidecar {
	tb.Helper()
	args := append([]string{"run", "--source", source, "--dest", dest, "--listen", "127.0.0.1:0"}, flags...)
	s, err := Start(Binary(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// Write starts a writer. It returns the writer and a function that stops the writer and waits for its end. The
// function stop may be called again, and is called at the end of the test. An error of the writer fails the test.
func Write(tb testing.TB, out Output) (w *Writer, stop func()) {
	tb.Helper()
	w = NewWriter(out)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("the writer failed: %v", err)
		}
	})
	tb.Cleanup(stop)
	return w, stop
}

// Tmpfs returns a directory on a tmpfs: a tmpfs of the given size that it mounts, if that is allowed, or else a
// directory in /dev/shm. It is removed after the test.
func Tmpfs(tb testing.TB, size string) string {
	tb.Helper()
	if os.Geteuid() == 0 {
		dir := tb.TempDir()
		if exec.Command("mount", "-t", "tmpfs", "-o", "size="+size+",mode=1777", "ullage", dir).Run() == nil {
			tb.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			return dir
		}
	}
	dir, err := os.MkdirTemp("/dev/shm", "ullage-lab-")
	if err != nil {
		Needs(tb, "a tmpfs: "+err.Error())
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Patience is how long a test waits for an event that normally takes a moment. The limit only makes a test that
// hangs report the event that it waited for. It measures nothing, since the machine may be busy.
const Patience = 2 * time.Minute

// Eventually fails the test unless holds returns true within the time.
func Eventually(tb testing.TB, within time.Duration, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("timed out after %s, want: %s", within, what)
		}
	}
}

// InUse returns how many bytes are in use on a tmpfs that Tmpfs has mounted. In /dev/shm, which other programs use
// too, it sums up the files below dir, without unlinked files.
func InUse(dir string) int64 {
	var fs unix.Statfs_t
	var root, above unix.Stat_t
	if unix.Statfs(dir, &fs) == nil && unix.Stat(dir, &root) == nil && unix.Stat(filepath.Dir(dir), &above) == nil && root.Dev != above.Dev {
		return int64(fs.Blocks-fs.Bfree) * int64(fs.Bsize) // 32 bits on s390x
	}
	var sum int64
	_ = filepath.Walk(dir, func(path string, _ os.FileInfo, _ error) error {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
}
