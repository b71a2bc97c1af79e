package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/test/lab"
)

// mountSmall mounts a tmpfs of 1 MiB and returns its path. It needs root.
func mountSmall(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	lab.MountTmpfs(t, dir, "1m")
	return dir
}

func TestFullDiskThenSpaceAgain(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := mountSmall(t)
		ballast := filepath.Join(dest, "ballast")
		must(t, os.WriteFile(ballast, make([]byte, 700<<10), 0o600))
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		var committed []byte
		var m segment.Mark
		var err error
		for i := range 100 {
			batch := append(lines(int64(i), 1000), noise(60<<10)...)
			if err = str.Append(batch); err == nil {
				m, err = str.Sync()
			}
			if err != nil {
				break
			}
			committed = append(committed, batch...)
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("want ENOSPC, got %v", err)
		}
		str.Abandon()
		must(t, str.Resume(m, 2*segment.FrameBytes)) // cutting takes no space
		wantContents(t, dest, "gc", committed)
		if err := str.Append(noise(segment.FrameBytes)); !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		str.Abandon()
		must(t, os.Remove(ballast))
		must(t, str.Resume(m, 2*segment.FrameBytes))
		appendAll(t, str, lines(200, 5000))
		sync(t, str)
		wantContents(t, dest, "gc", join(committed, lines(200, 5000)))
	})
}

func TestFullDiskAtStartIsLoggedAndRetentionMendsIt(t *testing.T) {
	dest := mountSmall(t)
	cfg := retaining(0, 0)
	s := openStore(t, dest, cfg)
	str := freshStream(t, s, "gc")
	for {
		err := str.Append(append(noise(64<<10), '\n'))
		if err == nil {
			_, err = str.Sync()
		}
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		must(t, err)
	}
	must(t, s.Close())
	fillUp(t, filepath.Join(dest, "ballast"))
	cfg.RetainBytes = 256 * settings.Ki
	s = openStore(t, dest, cfg)
	must(t, s.Acquire(t.Context()))
	if s.log.Len() == 0 {
		t.Error("a full destination was not logged, want a log message")
	}
	must(t, s.Maintain(time.Now()))
	str = s.Stream("gc")
	_, _, err := str.Recover()
	must(t, err)
	appendAll(t, str, lines(1, 1000))
	sync(t, str)
}

// fillUp uses up the remaining space.
func fillUp(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

func TestReadOnlyDestination(t *testing.T) {
	dest := mountSmall(t)
	s := openStore(t, dest, DefaultConfig())
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 100))
	m := sync(t, str)
	must(t, str.CloseIdle())
	must(t, s.dest.lock.release()) // the lock would keep the file system busy
	remount(t, dest, unix.MS_RDONLY)
	if err := str.Append(lines(2, 100)); !errors.Is(err, unix.EROFS) {
		t.Fatal(err)
	}
	str.Abandon()
	must(t, str.Resume(m, 0)) // nothing to cut
	if err := str.Append(lines(2, 100)); !errors.Is(err, unix.EROFS) {
		t.Fatal(err)
	}
	_, err := Open(dest, DefaultConfig(), nil, nil)
	if !errors.Is(err, unix.EROFS) {
		t.Fatal(err)
	}
	t.Log(err)
	remount(t, dest, 0)
	str.Abandon()
	must(t, str.Resume(m, 0))
	appendAll(t, str, lines(2, 100))
	sync(t, str)
	wantContents(t, dest, "gc", join(lines(1, 100), lines(2, 100)))
}

func remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|flags, "size=1m"); err != nil {
		t.Fatal(fmt.Errorf("remount: %w", err))
	}
}

func TestNoPermission(t *testing.T) {
	dest := t.TempDir()
	must(t, os.Chmod(dest, 0o500))
	must(t, os.Chmod(filepath.Dir(dest), 0o755)) // let the other user pass
	var err error
	open := func() { _, err = Open(dest, DefaultConfig(), nil, nil) }
	if os.Geteuid() == 0 { // root may write anywhere
		lab.AsNobody(t, open)
	} else {
		open()
	}
	if !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
}
