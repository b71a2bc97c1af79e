package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// loopSync is after how many bytes of its input a loop waits for the disk.
const loopSync = 8 << 20

// loopName is the way of a loop that guarantees nothing.
const loopName = "read, compress, write"

// A way moves a log to the disk block by block, without any guarantee, and without a look
// at its lines.
type way struct {
	name    string
	block   int            // bytes that are read at a time
	options []zstd.EOption // of the encoder, whose library is the sidecar's; nil: the bytes are written as they are
	stream  bool           // the encoder remembers the blocks before
	learned bool           // the encoder has a dictionary: the first 64 KiB of the log
	send    bool           // the kernel copies, by sendfile(2)
	early   bool           // the kernel is asked to write each block back at once, by sync_file_range(2)
}

const usualBlock = 512 << 10

// The first is the loop that a catch-up is held against, the others are what could be tried.
var ways = []way{
	{name: loopName, block: usualBlock, options: encoding()},
	{name: "read, write", block: usualBlock},
	{name: "read, write, in blocks of 64 KiB", block: 64 << 10},
	{name: "read, write, in blocks of 4 MiB", block: 4 << 20},
	{name: "read, write, `sync_file_range`", block: usualBlock, early: true},
	{name: "`sendfile`", block: usualBlock, send: true},
	{name: loopName + ", the level below", block: usualBlock, options: encoding(zstd.WithEncoderLevel(zstd.SpeedFastest))},
	{name: loopName + ", the level above", block: usualBlock, options: encoding(zstd.WithEncoderLevel(zstd.SpeedBetterCompression))},
	{name: loopName + ", a window of 128 KiB", block: usualBlock, options: encoding(zstd.WithWindowSize(128 << 10))},
	{name: loopName + ", in blocks of 128 KiB", block: 128 << 10, options: encoding()},
	{name: loopName + ", a dictionary of 64 KiB", block: usualBlock, options: encoding(), learned: true},
	{name: loopName + ", one stream with a window of 8 MiB", block: usualBlock, options: encoding(zstd.WithWindowSize(8 << 20)), stream: true},
}

// encoding are the options of the sidecar's encoder, and others that replace them.
func encoding(others ...zstd.EOption) []zstd.EOption {
	return append([]zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(usualBlock)}, others...)
}

// runLoop copies a file in the way of a name.
func runLoop(name, from, to string) (err error) {
	i := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
	if i < 0 {
		return fmt.Errorf("there is no way %q", name)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Sync(), out.Close()) }()
	w := &ways[i]
	move, end, err := w.mover(in, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for unsynced := 0; ; {
		n, err := move()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("move a block: %w", err)
		}
		if unsynced += n; unsynced >= loopSync {
			unsynced = 0
			if err := unix.Fdatasync(int(out.Fd())); err != nil {
				return err
			}
		}
	}
}

// mover returns a function that moves the next block and returns how many bytes of the
// input that were, and one that writes what the encoder still has.
func (w *way) mover(in, out *os.File) (move func() (int, error), end func() error, err error) {
	if w.send {
		return func() (int, error) {
			n, err := unix.Sendfile(int(out.Fd()), int(in.Fd()), nil, w.block)
			if n == 0 && err == nil {
				err = io.EOF
			}
			return n, err
		}, func() error { return nil }, nil
	}
	write, end, err := w.writer(in, out)
	if err != nil {
		return nil, nil, err
	}
	block, at := make([]byte, w.block), int64(0)
	return func() (int, error) {
		n, err := in.Read(block)
		if err != nil {
			return n, err
		}
		if err := write(block[:n]); err != nil {
			return n, err
		}
		if w.early {
			err = unix.SyncFileRange(int(out.Fd()), at, int64(n), unix.SYNC_FILE_RANGE_WRITE)
			at += int64(n)
		}
		return n, err
	}, end, nil
}

// writer returns a function that writes a block, and one that writes what the encoder still has.
func (w *way) writer(in, out *os.File) (write func(block []byte) error, end func() error, err error) {
	if w.options == nil {
		return func(block []byte) error { _, err := out.Write(block); return err }, func() error { return nil }, nil
	}
	options := w.options
	if w.learned {
		sample := make([]byte, 64<<10)
		n, err := in.ReadAt(sample, 0)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		options = append(slices.Clip(options), zstd.WithEncoderDictRaw(1, sample[:n]))
	}
	encoder, err := zstd.NewWriter(out, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("make an encoder: %w", err)
	}
	if w.stream {
		return func(block []byte) error {
			_, err := encoder.Write(block)
			return errors.Join(err, encoder.Flush())
		}, encoder.Close, nil
	}
	var frame []byte
	return func(block []byte) error {
		frame = encoder.EncodeAll(block, frame[:0])
		_, err := out.Write(frame)
		return err
	}, func() error { return nil }, nil
}

// tried measures the ways that were tried for the sidecar's copy.
func (e parts) tried() (*experiment, error) {
	x := &experiment{
		Name: "tried", Title: "Ways to copy", Plot: "cpu",
		Question: "Which ways to copy a log to the disk take less CPU time, or less space, than the sidecar's?",
		Method: fmt.Sprintf("%d MiB of a JVM's log at `all=trace` lie on tmpfs. Loops that look at no line copy them to the disk, in blocks of 512 KiB where nothing else is said, and wait for the disk (`fdatasync`) after each 8 MiB. "+
			"The encoder is the sidecar's where nothing else is said.", e.size),
		Result: "`copy_file_range` is not among them: from a tmpfs to another file system it fails (EXDEV). Neither is `io_uring`: the profile that container runtimes have for system calls forbids it. " +
			"The stream of 8 MiB remembers what a segment that is read from a commit on does not have.",
		Threat:  "The lines repeat, which favours a long window and a dictionary. Writing back, which other threads of the kernel do, is not in the CPU time.",
		Columns: []column{{"cpu", "CPU, s/GiB"}, {"wall", "wall, s/GiB"}, {"disk", "on disk, MiB/GiB"}},
	}
	data := filepath.Join(e.shm, "data")
	if err := e.makeLog(data); err != nil {
		return nil, err
	}
	for round := range e.rounds {
		fmt.Printf("  round %d of %d\n", round+1, e.rounds)
		for _, w := range ways {
			f, err := e.loop(w.name, data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			x.add(w.name, f)
		}
	}
	return x, os.Remove(data)
}

// loop measures one way, in a process of its own.
func (e *evidence) loop(name, data string) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := fresh(e.disk, "copy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out")
	f, err := measure(e.ctx, self, "loop", name, data, out)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(out)
	if err != nil {
		return nil, err
	}
	f["disk"] = float64(info.Size()) / (1 << 20)
	return e.perGiB(f), nil
}
