package tail

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/position"
	"github.com/ullage/ullage/internal/statedir"
)

// textName is the file, in the state directory, of lines that are kept while
// those around them are dropped. In its place each of them keeps a whole page of
// the source file in use; here they stand side by side.
const textName = "kept"

// textFile is the file of texts. It is opened when it is first needed.
type textFile struct {
	dir     *directory
	file    *os.File // nil until there are any texts
	end     int64
	dropped []*text // to be freed once that is recorded
}

// open opens the file, and with unix.O_CREAT makes it.
func (t *textFile) open(create int) error {
	if t.file != nil {
		return nil
	}
	f, err := statedir.OpenFile(t.dir.state, textName, create|unix.O_RDWR)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("stat %s: %w", textName, err)
	}
	t.file, t.end = f, info.Size()
	return nil
}

func (t *textFile) close() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

// memory returns how many bytes of memory the file takes.
func (t *textFile) memory() int64 {
	var st unix.Stat_t
	if t.file == nil || unix.Fstat(int(t.file.Fd()), &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// append writes a text behind all that is there.
func (t *textFile) append(next *text, out []byte) error {
	if err := t.open(unix.O_CREAT); err != nil {
		return err
	}
	next.at, next.length = position.PageAfter(t.end), int64(len(out))
	if _, err := t.file.WriteAt(out, next.at); err != nil {
		_ = t.file.Truncate(next.at) // a full tmpfs: the pages are needed
		return err
	}
	t.end = next.at + next.length
	return nil
}

// read reads whole lines of a text, from an offset in it on.
func (t *textFile) read(from *text, offset int64, area []byte) int {
	left := from.length - offset
	if left <= 0 || t.open(0) != nil {
		return 0
	}
	n, err := unix.Pread(int(t.file.Fd()), area[:min(left, int64(len(area)))], from.at+offset)
	if err != nil || n <= 0 {
		return 0
	}
	if keep := bytes.LastIndexByte(area[:n], '\n') + 1; keep > 0 && int64(n) < left {
		n = keep
	}
	return n
}

// free gives back the memory of a text that no gap has any more.
func (t *textFile) free(gone *text) { t.freePages(gone.at, gone.at+gone.length) }

// freeDropped does so with the texts that were dropped since the last call.
func (t *textFile) freeDropped() {
	for _, gone := range t.dropped {
		t.free(gone)
	}
	t.dropped = nil
}

// freePages gives back the pages from one offset to another.
func (t *textFile) freePages(from, to int64) {
	if from, to = position.PageAfter(from), position.PageAfter(to); to > from && t.open(0) == nil {
		_ = unix.Fallocate(int(t.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	}
}

// freeOthers gives back everything but these texts, which are in the order of
// their places. Without any, it removes a file that an earlier process has left.
func (t *textFile) freeOthers(texts []*text) {
	if len(texts) == 0 && t.file == nil {
		if t.dir.opened() {
			_ = unix.Unlinkat(int(t.dir.state.Fd()), textName, 0)
		}
		return
	}
	end := int64(0)
	for _, kept := range texts {
		t.freePages(end, kept.at)
		end = max(end, kept.at+kept.length)
	}
	if t.open(0) == nil {
		t.freePages(end, t.end)
	}
}
