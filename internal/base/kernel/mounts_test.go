package kernel_test

import (
	"os"
	"testing"

	"github.com/ullage/ullage/internal/base/kernel"
)

// mountinfo writes spaces and backslashes as octal numbers.
func TestMountPointsAreUnescaped(t *testing.T) {
	for path, want := range map[string]string{`/a\040b`: "/a b", `/a\134b`: `/a\b`, `/a\04`: `/a\04`, `/a\999`: `/a\999`, "": ""} {
		if is := kernel.MountPoint(path); is != want {
			t.Errorf("%q: %q, want %q", path, is, want)
		}
	}
}

// A directory is on the nearest mount above it.
func TestTheDeviceOfADirectory(t *testing.T) {
	const mounts = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n" +
		"28 27 0:25 / /var rw - tmpfs tmpfs rw\n" +
		"29 28 259:1 /pods/x /var/lib/ullage rw,relatime - ext4 /dev/nvme0n1p1 rw\n" +
		"30 27 8:0 / /var/lib/ull rw - ext4 /dev/sda rw\n" +
		"31 27 8:16 / /a\\040b rw - ext4 /dev/sdb rw\n" +
		"32 27 8:32 / /twice rw - ext4 /dev/sdc rw\n33 32 8:48 / /twice rw - ext4 /dev/sdd rw\n" +
		"cut 27 9:9\n"
	for dir, want := range map[string]string{
		"/": "254:0", "/home/x": "254:0", "/var": "0:25", "/var/lib": "0:25", "/var/lib/ullage": "259:1", "/var/lib/ullage/prod/web": "259:1",
		"/var/lib/ullages": "0:25", "/a b/c": "8:16", "/twice": "8:48", "relative": "",
	} {
		if is := kernel.DeviceOf([]byte(mounts), dir); is != want {
			t.Errorf("%s: %q, want %q", dir, is, want)
		}
	}
	if is := kernel.DeviceOf(nil, "/"); is != "" {
		t.Errorf("without mounts, the device is %q, want none", is)
	}
	own, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if is := kernel.DeviceOf(own, t.TempDir()); is == "" {
		t.Error("DeviceOf found no device for an existing directory, want one")
	}
}
