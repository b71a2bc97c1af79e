package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// loopSync is the number of bytes of input after which a loop syncs its output.
const loopSync = 8 << 20

// loopName is the name of the loop with which the catch-up is compared. It gives no guarantees.
const loopName = "read, compress, write"

// freeingName is the name of the same loop, which also frees the log on the tmpfs, as the sidecar has to.
const freeingName = loopName + ", punch holes"

// A way copies a log to the disk block by block. It gives no guarantees and does not look at lines.
type way struct {
	name    string
	block   int            // bytes that are read at a time
	options []zstd.EOption // of the encoder, which is from the sidecar's library; nil: the bytes are written unchanged
	stream  bool           // the encoder remembers earlier blocks
	learned bool           // the encoder has a dictionary: the first 64 KiB of the log
	send    bool           // the kernel copies, with sendfile(2)
	early   bool           // the kernel is asked to write back each block at once, with sync_file_range(2)
	free    bool           // blocks that were written are freed on the tmpfs, with fallocate(2), 1 MiB at a time
	apart   bool           // one thread reads and another writes
}

const usualBlock = 512 << 10

// The first way is the loop with which a catch-up is compared. The others are alternatives.
var ways = []way{
	{name: loopName, block: usualBlock, options: encoding()},
	{name: freeingName, block: usualBlock, options: encoding(), free: true},
	{name: "read, write", block: usualBlock},
	{name: "read, write, in blocks of 64 KiB", block: 64 << 10},
	{name: "read, write, in blocks of 4 MiB", block: 4 << 20},
	{name: "read, write, `sync_file_range`", block: usualBlock, early: true},
	{name: "read, write, `sync_file_range`, punch holes", block: usualBlock, early: true, free: true},
	{name: "read, write, `sync_file_range`, punch holes, by two threads", block: usualBlock, early: true, free: true, apart: true},
	{name: "`sendfile`", block: usualBlock, send: true},
	{name: loopName + ", the level below", block: usualBlock, options: encoding(zstd.WithEncoderLevel(zstd.SpeedFastest))},
	{name: loopName + ", the level above", block: usualBlock, options: encoding(zstd.WithEncoderLevel(zstd.SpeedBetterCompression))},
	{name: loopName + ", a window of 128 KiB", block: usualBlock, options: encoding(zstd.WithWindowSize(128 << 10))},
	{name: loopName + ", in blocks of 128 KiB", block: 128 << 10, options: encoding()},
	{name: loopName + ", a dictionary of 64 KiB", block: usualBlock, options: encoding(), learned: true},
	{name: loopName + ", one stream with a window of 8 MiB", block: usualBlock, options: encoding(zstd.WithWindowSize(8 << 20)), stream: true},
}

// encoding returns the options of the sidecar's encoder, followed by others that override them.
func encoding(others ...zstd.EOption) []zstd.EOption {
	return append([]zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(usualBlock)}, others...)
}

// runLoop copies a file in the way with the given name.
func runLoop(name, from, to string) (err error) {
	i := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
	if i < 0 {
		return fmt.Errorf("there is no way %q", name)
	}
	mode := os.O_RDONLY
	if ways[i].free {
		mode = os.O_RDWR
	}
	in, err := os.OpenFile(from, mode, 0)
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

// mover returns two functions: move copies the next block and returns its number of input bytes,
// and end writes the data that is still in the encoder.
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
	next, at, freed := w.reader(in), int64(0), int64(0)
	return func() (int, error) {
		block, err := next()
		if err != nil {
			return 0, err
		}
		if err := write(block); err != nil {
			return 0, err
		}
		n := int64(len(block))
		if w.early {
			err = unix.SyncFileRange(int(out.Fd()), at, n, unix.SYNC_FILE_RANGE_WRITE)
		}
		if at += n; err == nil && w.free && at-freed >= 1<<20 {
			err = unix.Fallocate(int(in.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, freed, at-freed)
			freed = at
		}
		return len(block), err
	}, end, nil
}

// reader returns a function that reads the next block, which is valid until the next call.
func (w *way) reader(in *os.File) func() ([]byte, error) {
	if !w.apart {
		block := make([]byte, w.block)
		return func() ([]byte, error) {
			n, err := in.Read(block)
			return block[:n], err
		}
	}
	type result struct {
		block []byte
		err   error
	}
	full, empty := make(chan result, 2), make(chan []byte, 4)
	for range cap(empty) {
		empty <- make([]byte, w.block)
	}
	go func() {
		for block := range empty {
			n, err := in.Read(block)
			full <- result{block[:n], err}
			if err != nil {
				return
			}
		}
	}()
	var last []byte
	return func() ([]byte, error) {
		if last != nil {
			empty <- last[:w.block]
		}
		r := <-full
		last = r.block
		return r.block, r.err
	}
}

// writer returns two functions: write writes a block, and end writes the data that is still in the
// encoder.
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
