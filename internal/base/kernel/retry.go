package kernel

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// NameOf returns a path of the file that this process has open as fd, whatever its own path names
// now: to open it again with other rights, or for a socket whose path is too long for its address.
func NameOf(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Retry repeats a system call that a signal interrupts.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
