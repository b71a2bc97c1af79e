package ring

import (
	"io"

	"golang.org/x/sys/unix"
)

// A step is one of a drain's system calls.
type step string

// The steps, in the order of a drain.
const (
	stepRead    step = "read"
	stepJournal step = "journal"
	stepAppend  step = "append"
	stepZero    step = "zero"
	stepHead    step = "head"
	stepFlag    step = "flag"
	stepUnlink  step = "unlink"
)

// calls are the system calls of a drain.
type calls struct {
	// before is called before each step, and its error becomes the error of the call. Tests
	// use it to make a drain fail or end at any step. It may be nil.
	before func(s step, fd int, data []byte, offset int64) error
}

// read fills data from an offset. If the file ends first, the error is io.ErrUnexpectedEOF.
func (c *calls) read(fd int, data []byte, offset int64) error {
	if c.before != nil {
		if err := c.before(stepRead, fd, data, offset); err != nil {
			return err
		}
	}
	for len(data) > 0 {
		n, err := unix.Pread(fd, data, offset)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		default:
			data, offset = data[n:], offset+int64(n)
		}
	}
	return nil
}

// write writes all of data at an offset.
func (c *calls) write(s step, fd int, data []byte, offset int64) error {
	if c.before != nil {
		if err := c.before(s, fd, data, offset); err != nil {
			return err
		}
	}
	for len(data) > 0 {
		n, err := unix.Pwrite(fd, data, offset)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data, offset = data[n:], offset+int64(n)
	}
	return nil
}

// unlink removes a name.
func (c *calls) unlink(dir int, name string) error {
	if c.before != nil {
		if err := c.before(stepUnlink, dir, []byte(name), 0); err != nil {
			return err
		}
	}
	return unix.Unlinkat(dir, name, 0)
}
