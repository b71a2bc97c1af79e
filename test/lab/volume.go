package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Volume is an ext4 file system on a loop device, which tests can fill, freeze or damage.
type Volume struct {
	Dir   string // where it is mounted
	Image string
	Loop  string
}

// NewVolume creates the image of a volume in a directory and mounts the volume there. A size is, for instance, "2G".
// mount and mkfs are options for mount and mkfs.ext4. The caller must call Remove, even after an error.
func NewVolume(in, size, mount string, mkfs ...string) (*Volume, error) {
	v := &Volume{Image: filepath.Join(in, "image"), Dir: filepath.Join(in, "volume")}
	if err := os.Mkdir(v.Dir, 0o755); err != nil {
		return v, err
	}
	if _, err := Command(Patience, "truncate", "-s", size, v.Image); err != nil {
		return v, err
	}
	if _, err := Command(Patience, "mkfs.ext4", append([]string{"-q", "-F", "-m", "0", v.Image}, mkfs...)...); err != nil {
		return v, err
	}
	loop, err := Command(Patience, "losetup", "-f", "--show", v.Image)
	if err != nil {
		return v, err
	}
	v.Loop = strings.TrimSpace(loop)
	return v, v.Mount(mount)
}

// Mount mounts the volume with the options.
func (v *Volume) Mount(options string) error {
	_, err := Command(Patience, "mount", "-o", options, v.Loop, v.Dir)
	return err
}

// Freeze stalls all writes until Thaw.
func (v *Volume) Freeze() error { return v.fsfreeze("-f") }

// Thaw ends a freeze.
func (v *Volume) Thaw() error { return v.fsfreeze("-u") }

func (v *Volume) fsfreeze(how string) error {
	_, err := Command(Patience, "fsfreeze", how, v.Dir)
	return err
}

// Remove unmounts the volume wherever it is mounted. The image stays.
func (v *Volume) Remove() {
	_ = v.Thaw() // fails unless it is frozen
	_ = unix.Unmount(v.Dir, unix.MNT_DETACH)
	if v.Loop != "" {
		_, _ = Command(Patience, "losetup", "-d", v.Loop)
	}
}

// MountVolume mounts a volume for a test. Any user may write to it.
func MountVolume(tb testing.TB, size string, mkfs ...string) *Volume {
	tb.Helper()
	return MountVolumeIn(tb, tb.TempDir(), size, "errors=remount-ro", mkfs...)
}

// MountVolumeIn is MountVolume with a directory for the image and with mount options.
func MountVolumeIn(tb testing.TB, in, size, mount string, mkfs ...string) *Volume {
	tb.Helper()
	NeedsRoot(tb, "it mounts and freezes file systems")
	v, err := NewVolume(in, size, mount, mkfs...)
	tb.Cleanup(v.Remove)
	if err != nil {
		Needs(tb, "ext4 and loop devices: "+err.Error())
	}
	for dir, mode := range map[string]os.FileMode{filepath.Dir(in): 0o755, in: 0o755, v.Dir: 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

// Frozen freezes the volume until thaw is called or the test ends. thaw may be called again.
func (v *Volume) Frozen(tb testing.TB) (thaw func()) {
	tb.Helper()
	if err := v.Freeze(); err != nil {
		tb.Fatal(err)
	}
	frozen := true
	thaw = func() {
		if !frozen {
			return
		}
		frozen = false
		if err := v.Thaw(); err != nil {
			tb.Error(err)
		}
	}
	tb.Cleanup(thaw)
	return thaw
}

// Fill creates a file that takes all free space.
func Fill(tb testing.TB, path string) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 256<<10); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}
