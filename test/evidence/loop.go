package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// loopBytes is what the loop reads, compresses and writes at a time; loopSync
// is after how many bytes of its input it waits for the disk.
const (
	loopBytes = 512 << 10
	loopSync  = 8 << 20
)

// runLoop copies a file as a shipper without any guarantee could: it reads a
// block, compresses it with the sidecar's library and level, writes it, and
// syncs now and then. It looks at no line.
func runLoop(from, to string) (err error) {
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
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer encoder.Close()
	block, frame, unsynced := make([]byte, loopBytes), []byte(nil), 0
	for {
		n, err := in.Read(block)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a block: %w", err)
		}
		frame = encoder.EncodeAll(block[:n], frame[:0])
		if _, err := out.Write(frame); err != nil {
			return fmt.Errorf("write a frame: %w", err)
		}
		if unsynced += n; unsynced >= loopSync {
			unsynced = 0
			if err := out.Sync(); err != nil {
				return err
			}
		}
	}
}
