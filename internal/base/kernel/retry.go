package kernel

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// NameOf returns a path to the file that this process has open as fd, even if the file's own path
// names another file now. The path can be used to open the file again with other rights, or to
// address a socket whose own path is too long.
func NameOf(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Retry repeats a system call until no signal interrupts it.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
