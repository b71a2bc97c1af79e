package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ullage/ullage/internal/segment"
)

// If a file is in the place of a stream's directory, only that stream is refused. If a file is
// in the place of the destination, all streams fail.
func TestStreamAloneIsRefused(t *testing.T) {
	for name, obstruct := range map[string]func(path string) error{
		"a file": func(path string) error { return os.WriteFile(path, nil, 0o640) },
		"a link": func(path string) error { return os.Symlink(os.TempDir(), path) },
		"a loop": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		t.Run(name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "dest")
			s := openStore(t, dest, configOf(segment.None))
			must(t, s.Acquire(t.Context()))
			must(t, obstruct(filepath.Join(dest, "bad")))
			bad := s.Stream("bad")
			if _, _, err := bad.Recover(); !errors.Is(err, ErrRefused) {
				t.Errorf("Recover: %v, want ErrRefused", err)
			}
			if err := bad.Resume(segment.Mark{}, 0); !errors.Is(err, ErrRefused) {
				t.Errorf("Resume: %v, want ErrRefused", err)
			}
			good := freshStream(t, s, "good")
			appendAll(t, good, lines(1, 10))
			sync(t, good)
			rename(t, dest, dest+".moved")
			must(t, os.WriteFile(dest, nil, 0o640))
			if _, _, err := bad.Recover(); !errors.Is(err, ErrAway) || errors.Is(err, ErrRefused) {
				t.Errorf("Recover without the destination: %v, want ErrAway without ErrRefused", err)
			}
		})
	}
}

// A directory is replaced while its stream is open: the next segment is refused,
// and the stream continues at its mark once the directory is back.
func TestOpenStreamIsRefused(t *testing.T) {
	dest := t.TempDir()
	cfg := configOf(segment.None)
	cfg.SegmentBytes = 1
	s := openStore(t, dest, cfg)
	must(t, s.Acquire(t.Context()))
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 10))
	m := sync(t, str) // sealed
	dir := filepath.Join(dest, "gc")
	rename(t, dir, dir+".moved")
	must(t, os.WriteFile(dir, nil, 0o640))
	if err := str.Append(lines(2, 10)); !errors.Is(err, ErrRefused) {
		t.Errorf("Append: %v, want ErrRefused", err)
	}
	must(t, os.Remove(dir))
	rename(t, dir+".moved", dir)
	must(t, str.Resume(m, Unbounded))
	appendAll(t, str, lines(2, 10))
	sync(t, str)
	wantContents(t, dest, "gc", join(lines(1, 10), lines(2, 10)))
}
