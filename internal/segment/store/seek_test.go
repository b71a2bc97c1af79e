package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
)

// timedLine returns the line of a minute of the log. All such lines have about the same length.
func timedLine(minute int) []byte {
	return fmt.Appendf(nil, "[%04d]%s\n", minute, lines(int64(minute), 300)[:300])
}

// logMinutes appends and commits a frame for each minute of a range. The clock of the log begins at the time of the
// first segment.
func logMinutes(t *testing.T, str *Stream, begun time.Time, from, to int) (m segment.Mark) {
	t.Helper()
	for minute := from; minute < to; minute++ {
		appendAll(t, str, timedLine(minute))
		m = sync(t, str)
		str.SeenUntil(begun.Add(time.Duration(minute) * time.Minute))
	}
	return m
}

// readSince returns the bytes that a Follower returns for the lines since a minute, and how many
// bytes it did not read.
func readSince(t *testing.T, dir string, begun time.Time, minute int) (raw []byte, skipped int64) {
	t.Helper()
	index := seek.Read(dir, seek.MaxBytes)
	opt := segment.FollowOptions{Since: begun.Add(time.Duration(minute) * time.Minute), Once: true, Seek: index}
	f, err := segment.OpenFollower(dir, opt)
	must(t, err)
	defer f.Close()
	for {
		next, err := f.Next()
		if err == io.EOF {
			return raw, skipped
		}
		must(t, err)
		if frame := f.Frame(); frame.Raw == int64(len(next)) {
			skipped += frame.From
		}
		raw = append(raw, next...)
	}
}

// wantSince reads since every tenth minute and returns how many bytes were skipped in total.
func wantSince(t *testing.T, dest string, begun time.Time) (skipped int64) {
	t.Helper()
	all := contents(t, dest, "gc")
	for minute := 0; minute < 200; minute += 10 {
		raw, n := readSince(t, filepath.Join(dest, "gc"), begun, minute)
		skipped += n
		from := max(0, bytes.Index(all, fmt.Appendf(nil, "[%04d]", minute)))
		if !bytes.HasSuffix(all, raw) || len(raw) < len(all)-from {
			t.Fatalf("since minute %d, %d of %d bytes were read, want at least %d", minute, len(raw), len(all), len(all)-from)
		}
	}
	return skipped
}

// A Follower begins inside a segment if the seek file shows that no earlier byte is wanted. With any other seek file it
// returns more bytes, never fewer.
func TestSeek(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		begun := time.Now()
		logMinutes(t, str, begun, 0, 200)
		path := filepath.Join(dest, "gc", seek.Name)
		good, err := os.ReadFile(path)
		must(t, err)
		if n := len(seek.Parse(good)); n < 70 {
			t.Fatalf("the seek file has %d entries, want at least 70", n)
		}
		size := str.Mark().Offset
		if n := wantSince(t, dest, begun); n < 8*size {
			t.Errorf("20 reads skipped %d bytes of a segment of %d, want at least 8 times its size", n, size)
		}
		for name, change := range map[string]func() error{
			"no file":       func() error { return nil },
			"half of it":    func() error { return os.WriteFile(path, good[:len(good)/2+7], 0o640) },
			"zeros":         func() error { return os.WriteFile(path, make([]byte, len(good)), 0o640) },
			"a wrong bit":   func() error { return os.WriteFile(path, flip(good, 1000), 0o640) },
			"a hole":        func() error { return os.WriteFile(path, append(make([]byte, 400), good[400:]...), 0o640) },
			"a directory":   func() error { return os.Mkdir(path, 0o750) },
			"a link":        func() error { return os.Symlink("/dev/zero", path) },
			"a FIFO":        func() error { return unix.Mkfifo(path, 0o640) },
			"wrong offsets": func() error { return os.WriteFile(path, moved(good), 0o640) },
		} {
			must(t, os.RemoveAll(path))
			must(t, change())
			wantSince(t, dest, begun)
			if t.Failed() {
				t.Fatalf("the case %q failed; its messages are above", name)
			}
		}
	})
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

// moved returns valid entries whose positions are not the ends of frames.
func moved(file []byte) (b []byte) {
	for _, e := range seek.Parse(file) {
		e.Offset += 3
		b = e.Append(b)
	}
	return b
}

// The writer continues the file of the previous process. If segments were cut, or belong to another stream of the same
// name, the entries after the cut are removed.
func TestSeekFileContinues(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		begun := time.Now()
		path := filepath.Join(dest, "gc", seek.Name)
		entries := func() []seek.Entry {
			b, err := os.ReadFile(path)
			must(t, err)
			return seek.Parse(b)
		}
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		m := logMinutes(t, str, begun, 0, 20)
		logMinutes(t, str, begun, 20, 40)
		n := len(entries())
		// Add bytes after the entries, as a kill during a write leaves them.
		edit(t, path, func(b []byte) []byte { return append(b, b[:25]...) })
		must(t, s.Close())

		s = openStore(t, dest, configOf(how))
		str = s.Stream("gc")
		must(t, str.Resume(m, 1<<20))
		logMinutes(t, str, begun, 20, 22)
		if got := entries(); len(got) != n-18 {
			t.Errorf("the seek file has %d entries, and had %d before; want %d", len(got), n, n-18)
		}
		logMinutes(t, str, begun, 22, 200)
		wantSince(t, dest, begun)

		segs, err := segment.List(filepath.Join(dest, "gc"))
		must(t, err)
		for _, seg := range segs {
			must(t, os.Remove(seg.Path))
		}
		must(t, s.Close())
		str = freshStream(t, openStore(t, dest, configOf(how)), "gc")
		logMinutes(t, str, time.Now(), 1, 3)
		if got := entries(); len(got) != 2 || got[0].Seq != 1 {
			t.Errorf("the seek file has %d entries for a stream that begins again, want 2, the first of segment 1: %+v", len(got), got)
		}
	})
}

// The file does not grow beyond its bound, and retention counts and deletes it.
func TestSeekFileIsBounded(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, Config{Compress: segment.None, SegmentBytes: 16 * settings.Ki, RetainBytes: 96 * settings.Ki})
	a, b := freshStream(t, s, "a"), freshStream(t, s, "gc")
	logMinutes(t, a, time.Now(), 0, 40)
	begun := time.Now()
	for minute := 0; minute < 400; minute += 10 {
		logMinutes(t, b, begun, minute, minute+10)
		must(t, s.Maintain(time.Now()))
		known := s.used()
		must(t, s.scan())
		if is := s.used(); is != known {
			t.Fatalf("at minute %d, the store counts %+v, but the disk has %+v", minute, known, is)
		}
		stat, err := os.Stat(filepath.Join(dest, "gc", seek.Name))
		if err != nil && minute > 0 || err == nil && stat.Size() > 4<<10 {
			t.Fatalf("at minute %d, the seek file is %v, error %v; want at most 4 KiB, and no error after minute 0", minute, stat, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dest, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the oldest stream is still there: %v", err)
	}
	if used := s.used(); used.bytes > 96<<10 {
		t.Errorf("the destination takes %+v, want bytes at most 96 KiB", used)
	}
}

// A Follower begins inside a segment, and a restart of the writer cuts bytes that the Follower has read. The Follower
// still returns each line once.
func TestSeekAcrossARestart(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		begun := time.Now()
		s := openStore(t, dest, configOf(how))
		str := freshStream(t, s, "gc")
		mark := logMinutes(t, str, begun, 0, 20)
		index := seek.Read(filepath.Join(dest, "gc"), seek.MaxBytes)
		f, err := segment.OpenFollower(filepath.Join(dest, "gc"), segment.FollowOptions{Since: begun.Add(15 * time.Minute), Seek: index})
		must(t, err)
		defer f.Close()
		var got []byte
		read := func() {
			t.Helper()
			for {
				raw, err := f.Next()
				if err == io.EOF {
					return
				}
				must(t, err)
				got = append(got, raw...)
			}
		}
		read()
		from := f.Frame().From
		appendAll(t, str, timedLine(20), timedLine(21))
		read()
		must(t, s.Close())
		s = openStore(t, dest, configOf(how))
		str = s.Stream("gc")
		must(t, str.Resume(mark, 1<<20))
		appendAll(t, str, join(timedLine(20), timedLine(21), timedLine(22)), timedLine(23), timedLine(24))
		read()
		all := contents(t, dest, "gc")
		if !bytes.HasSuffix(all, got) || bytes.Count(got, []byte("]")) >= bytes.Count(all, []byte("]")) || from == 0 || f.Frame().From != from {
			t.Errorf("%d of %d bytes were read, from byte %d, the frame is from byte %d; want only the last lines, from the beginning of a later frame",
				len(got), len(all), from, f.Frame().From)
		}
	})
}
