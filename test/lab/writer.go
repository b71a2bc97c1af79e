package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// Output describes how a [Writer] writes, in the terms of -Xlog.
type Output struct {
	Path      string // of the newest file, for instance "/source/gc.log"
	Seed      uint64 // of the lines
	Rate      int    // lines a second; 0 means as fast as possible
	Files     int    // filecount; 0: no rotation
	FileBytes int64  // filesize; 0: no rotation
}

// Writer writes numbered lines as HotSpot does: with a write(2) for each 4096 bytes of a record,
// and rotation by close, unlink, rename and open.
type Writer struct {
	out   Output
	lines *Lines
	file  *os.File
	size  int64
	slot  int

	written atomic.Int64
	bytes   atomic.Int64
	slowest atomic.Int64
}

// NewWriter returns a Writer. It does not open the file yet.
func NewWriter(out Output) *Writer {
	return &Writer{out: out, lines: NewLines(out.Seed, out.Rate)}
}

// Written returns how many lines have been written so far.
func (w *Writer) Written() int { return int(w.written.Load()) }

// Bytes returns how many bytes have been written so far.
func (w *Writer) Bytes() int64 { return w.bytes.Load() }

// Slowest returns the longest time that a record took to write.
func (w *Writer) Slowest() time.Duration { return time.Duration(w.slowest.Load()) }

// Run writes at the rate until ctx ends, then closes the file. If a write fails, Run returns the error; the end of
// ctx is not an error.
func (w *Writer) Run(ctx context.Context) error {
	begun, before := time.Now(), w.Written()
	for ctx.Err() == nil {
		due := before + int(time.Since(begun).Seconds()*float64(w.out.Rate))
		if w.out.Rate == 0 {
			due = w.Written() + 64
		}
		for w.Written() < due {
			if err := w.record(); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if w.out.Rate > 0 {
			pause(ctx, 2*time.Millisecond)
		}
	}
	return w.Close()
}

// pause waits for the given time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Write writes at least n lines without a pause and leaves the file open, as an idle JVM does.
func (w *Writer) Write(n int) error {
	for end := w.Written() + n; w.Written() < end; {
		if err := w.record(); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file, as at the end of a JVM. If the Writer continues, it appends to the file.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

// stdioBytes is the size of HotSpot's write buffer.
const stdioBytes = 4096

func (w *Writer) record() error {
	begun := time.Now()
	if w.file == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	record := w.lines.Next()
	for rest := record; len(rest) > 0; {
		n, err := w.file.Write(rest[:min(len(rest), stdioBytes)])
		if err != nil {
			return fmt.Errorf("write line %d: %w", w.Written(), err)
		}
		rest = rest[n:]
	}
	w.size += int64(len(record))
	w.bytes.Add(int64(len(record)))
	w.written.Store(int64(w.lines.Count()))
	if w.out.Files > 0 && w.out.FileBytes > 0 && w.size >= w.out.FileBytes {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	w.slowest.Store(max(w.slowest.Load(), int64(time.Since(begun))))
	return nil
}

func (w *Writer) open() error {
	f, err := os.OpenFile(w.out.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	stat, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), f.Close())
	}
	w.file, w.size = f, stat.Size()
	return nil
}

// rotate rotates in the same way as HotSpot's LogFileOutput::rotate.
func (w *Writer) rotate() error {
	if err := w.Close(); err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}
	if err := toArchive(w.out.Path, w.slot, w.out.Files); err != nil {
		return err
	}
	w.slot = (w.slot + 1) % w.out.Files
	return w.open()
}

// toArchive renames the file to an archive and replaces an earlier archive of that name. The number is padded to the
// length of the highest number: .0 with 5 files, .00 with 12.
func toArchive(path string, slot, files int) error {
	archive := fmt.Sprintf("%s.%0*d", path, len(strconv.Itoa(files-1)), slot)
	if err := os.Remove(archive); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rotate the log: %w", err)
	}
	if err := os.Rename(path, archive); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rotate the log: %w", err)
	}
	return nil
}
