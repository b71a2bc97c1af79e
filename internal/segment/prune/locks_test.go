package prune

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLocksThatOtherNodesDoNotSee(t *testing.T) {
	const mount = "36 35 0:52 / /volume rw,relatime shared:1 - "
	for line, want := range map[string]string{
		mount + "nfs4 nas:/logs rw,vers=4.2,local_lock=none,addr=10.0.0.1":    "",
		mount + "nfs nas:/logs rw,vers=3,nolock,local_lock=all,addr=10.0.0.1": "nolock",
		mount + "nfs nas:/logs rw,vers=3,local_lock=flock,addr=10.0.0.1":      "local_lock=flock",
		mount + "nfs nas:/logs rw,vers=3,local_lock=posix":                    "", // this option is for fcntl locks, which sidecars do not use
		mount + "ext4 /dev/sda1 rw,nolock":                                    "",
		strings.Replace(mount, "0:52", "0:53", 1) + "nfs nas:/logs rw,nolock": "", // another volume
		"36 35 0:52 / /a\\040-\\040nfs rw - tmpfs tmpfs rw\n" + mount + "nfs": "",
	} {
		if got, err := localLock(strings.NewReader(line+"\n"), unix.Mkdev(0, 52)); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
}
