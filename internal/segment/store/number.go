package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/segment"
)

// numberName is the file in OwnDir that holds the number of the newest checkpoint that
// was saved for this destination. numberForm is its content, which always has the same
// length, so that a write in place replaces all of it and needs no space.
const (
	numberName = "checkpoint-number"
	numberForm = "%020d\n"
	numberLen  = 21
)

// number is what the destination knows about checkpoints; see [Store.Number].
type number struct {
	dir    string // the destination
	log    *slog.Logger
	newest uint64
	wrote  time.Time // when an earlier process recorded it; zero: unknown
	file   *os.File  // nil: not open for writing
	synced bool      // something was synced since the file was opened
	failed bool      // recording failed the last time, and that was logged
}

func (n *number) path() string { return filepath.Join(n.dir, segment.OwnDir, numberName) }

// read reads the number: 0 if the file is missing or empty, because nothing was recorded.
func (n *number) read() error {
	n.close()
	n.newest, n.wrote = 0, time.Time{}
	file, err := os.OpenFile(n.path(), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil {
		n.wrote = info.ModTime()
	}
	return n.parse(file)
}

var errNumber = errors.New("it does not hold a number")

func (n *number) parse(file *os.File) error {
	var text [numberLen + 1]byte
	got, err := file.ReadAt(text[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", file.Name(), err)
	}
	if got == 0 {
		return nil
	}
	newest, err := strconv.ParseUint(string(text[:numberLen-1]), 10, 64)
	if err != nil || got != numberLen || text[numberLen-1] != '\n' {
		return fmt.Errorf("read %s: %w", file.Name(), errNumber)
	}
	n.newest = newest
	return nil
}

// record writes the number of a checkpoint that was saved. It syncs only the first number that
// it writes: the page cache outlives a process that is killed, and a crash of the node destroys
// the checkpoints as well.
func (n *number) record(newest uint64) error {
	if n.file != nil && links(n.file) == 0 {
		n.close() // an operator has removed it
	}
	if n.file == nil {
		if err := n.open(); err != nil {
			return err
		}
	}
	if _, err := n.file.WriteAt(fmt.Appendf(nil, numberForm, newest), 0); err != nil {
		return err
	}
	n.newest = newest
	if n.synced {
		return nil
	}
	if err := n.file.Truncate(numberLen); err != nil { // anything after the number is damage
		return err
	}
	if err := kernel.Retry(func() error { return unix.Fdatasync(int(n.file.Fd())) }); err != nil {
		return fmt.Errorf("sync %s: %w", n.file.Name(), err)
	}
	if err := syncDir(filepath.Dir(n.path())); err != nil {
		return err
	}
	n.synced = true
	return nil
}

func (n *number) open() (err error) {
	n.file, err = os.OpenFile(n.path(), os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, fileMode)
	if err != nil {
		n.file = nil
	}
	return err
}

func (n *number) close() {
	if n.file != nil {
		_ = n.file.Close()
		n.file = nil
	}
	n.synced = false
}

// load reads the number. A damaged number is treated as missing.
func (n *number) load() error {
	err := n.read()
	if errors.Is(err, errNumber) {
		// messages.md#the-checkpoint: `DEST/.ullage/checkpoint-number` does not contain a number.
		// At this start, ullage would take an old checkpoint that was put back for the newest; the
		// first save replaces the file.
		n.log.Warn("ignoring a damaged checkpoint number", "error", err, "hint", "the next checkpoint replaces it; until then, an old checkpoint cannot be distinguished from the newest")
		return nil
	}
	return err
}

// set does what [Store.SetNumber] documents.
func (n *number) set(newest uint64) {
	err := n.record(newest)
	if err == nil {
		n.failed = false
		return
	}
	n.close() // the next call opens the file again
	if !n.failed {
		n.failed = true
		// messages.md#the-checkpoint: `DEST/.ullage/checkpoint-number` could not be written.
		// Nothing is lost. Until a retry succeeds, ullage would take an older checkpoint that is
		// put back for the newest, if it was saved shortly before the newest.
		n.log.Error("recording the number of the checkpoint failed", "dir", n.dir, "error", err,
			"hint", "shipping continues; until a retry succeeds, a restart can mistake a checkpoint that was saved shortly before for the newest")
	}
}
