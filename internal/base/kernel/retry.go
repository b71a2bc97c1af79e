package kernel

import "golang.org/x/sys/unix"

// Retry repeats a system call that a signal interrupts.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
