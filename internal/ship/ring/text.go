package ring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/position"
)

// A text is the open file to which the lines of a ring are written. While it is open, tail sees
// that it has a writer, so tail neither ends an incomplete line nor unlinks the file.
type text struct {
	*calls
	f  *os.File
	id position.Identity
}

// openText opens the text of a name in the source. The error is fs.ErrNotExist if it does not
// exist.
func openText(c *calls, source *os.File, n name, flags int) (*text, error) {
	f, err := statedir.OpenFile(source, n.text(), unix.O_RDWR|flags)
	if err != nil {
		return nil, textError(fmt.Errorf("open text: %w", err))
	}
	var st unix.Statx_t
	if err := statx(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, textError(fmt.Errorf("stat text: %w", err))
	}
	return &text{calls: c, f: f, id: position.Identify(&st)}, nil
}

// takeText opens or creates the text of a name. It returns the offset at which further lines
// begin. An existing text was left by a process whose journal was lost.
func takeText(c *calls, source *os.File, n name) (*text, int64, error) {
	t, err := openText(c, source, n, unix.O_CREAT)
	if err != nil {
		return nil, 0, err
	}
	size, _, err := t.stat()
	if err == nil && size > 0 {
		var last [1]byte
		if err = t.read(int(t.f.Fd()), last[:], size-1); err == nil && last[0] != '\n' {
			err = t.append([]byte{'\n'}, size)
			size++
		}
	}
	if err != nil {
		t.close()
		return nil, 0, textError(err)
	}
	return t, size, nil
}

// stat returns the size of the text and the number of its names.
func (t *text) stat() (size int64, links uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(t.f.Fd()), &st); err != nil {
		return 0, 0, textError(fmt.Errorf("stat text: %w", err))
	}
	return st.Size, uint64(st.Nlink), nil
}

// append writes lines at an offset, which is the end of the text.
func (t *text) append(lines []byte, offset int64) error {
	if err := t.write(stepAppend, int(t.f.Fd()), lines, offset); err != nil {
		return textError(fmt.Errorf("append to text: %w", err))
	}
	return nil
}

// checkRoom reports a tmpfs in which the text leaves no room for others: for the logs of JVMs, for the texts of other
// rings, and for the records in which package tail keeps the lines that matter while it drops the rest. While a step
// waits for room, the ring fills up and refuses events below the keep level first. A text that does not exist yet needs
// no room. Unlike the free space of the tmpfs, the budget does not shrink by itself when something grows, so taken
// returns how much of it is taken.
func (t *text) checkRoom(source *os.File, budget int64, taken func() int64) error {
	var fs unix.Statfs_t
	if t == nil || unix.Fstatfs(int(source.Fd()), &fs) != nil {
		return nil
	}
	free, all, memory := int64(fs.Bavail)*int64(fs.Bsize), int64(fs.Blocks)*int64(fs.Bsize), t.memory()
	if budget > 0 && budget < all {
		free, all = min(free, max(0, budget-taken())), budget
	}
	if free < min(memory, all/roomPart) {
		return because(reasonRoom, "%d bytes are left of %d, and the text takes %d", free, all, memory)
	}
	return nil
}

// memory returns the bytes that the text takes on its file system; 0 without a text.
func (t *text) memory() int64 {
	var st unix.Stat_t
	if t == nil || unix.Fstat(int(t.f.Fd()), &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

func (t *text) close() { t.f.Close() }

// textError adds the reason to an error of the text.
func textError(err error) error {
	var e *Error
	switch {
	case errors.As(err, &e), errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, unix.ENOSPC):
		return &Error{reasonRoom, err}
	}
	return &Error{reasonText, err}
}
