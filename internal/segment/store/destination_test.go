package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

// awayStore returns a destination with a stream in which lines(1, 5000) are committed and more lines are appended.
func awayStore(t *testing.T) (s *testStore, str *Stream, m segment.Mark, dest string) {
	t.Helper()
	dest = filepath.Join(t.TempDir(), "dest")
	s = openStore(t, dest, configOf(segment.None))
	must(t, s.Acquire(t.Context()))
	str = freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 5000))
	m = sync(t, str)
	appendAll(t, str, lines(2, 500))
	str.Abandon()
	return s, str, m, dest
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	must(t, os.Rename(from, to))
}

func TestDestinationThatIsAwayIsWaitedFor(t *testing.T) {
	for name, instead := range map[string]func(t *testing.T, dest string){
		"nothing":    func(*testing.T, string) {},
		"a file":     func(t *testing.T, dest string) { must(t, os.WriteFile(dest, nil, 0o640)) },
		"a fifo":     func(t *testing.T, dest string) { must(t, unix.Mkfifo(dest, 0o600)) },
		"a dead end": func(t *testing.T, dest string) { must(t, os.Symlink("/nonexistent", dest)) },
		"another's directory": func(t *testing.T, dest string) {
			must(t, os.MkdirAll(filepath.Join(dest, "gc"), 0o750))
		},
		"another mount": func(t *testing.T, dest string) {
			if err := os.Symlink("/proc", dest); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, str, m, dest := awayStore(t)
			moved := dest + ".moved"
			rename(t, dest, moved)
			instead(t, dest)
			for range 2 {
				if _, err := s.Reopen(t.Context()); !errors.Is(err, ErrAway) {
					t.Fatalf("Reopen: %v, want ErrAway", err)
				}
				if err := str.Resume(m, 1<<20); !errors.Is(err, ErrAway) {
					t.Errorf("Resume: %v, want ErrAway", err)
				}
				if _, _, err := str.Recover(); !errors.Is(err, ErrAway) {
					t.Errorf("Recover: %v, want ErrAway", err)
				}
			}
			if left, err := filepath.Glob(filepath.Join(dest, "*", "*")); name == "another's directory" && (len(left) > 0 || err != nil) {
				t.Errorf("files were created in the other directory: %v", left)
			}
			must(t, os.RemoveAll(dest))
			rename(t, moved, dest)
			if replaced, err := s.Reopen(t.Context()); err != nil || replaced {
				t.Fatalf("Reopen: replaced %v, error %v; want false and no error", replaced, err)
			}
			must(t, str.Resume(m, 1<<20))
			appendAll(t, str, lines(3, 500))
			sync(t, str)
			wantContents(t, dest, "gc", join(lines(1, 5000), lines(3, 500)))
		})
	}
}

// If another directory has taken the path, nothing is created in it, even if a segment was about to be created.
func TestNothingIsCreatedWhileTheDestinationIsAway(t *testing.T) {
	s, str, m, dest := awayStore(t)
	must(t, str.Resume(m, 1<<20))
	other := s.Stream("other")
	must(t, other.Resume(segment.Mark{}, 0))
	rename(t, dest, dest+".moved")
	must(t, os.Mkdir(dest, 0o750))
	if err := other.Append(lines(1, 100)); !errors.Is(err, ErrAway) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dest); err != nil || len(left) > 0 {
		t.Fatalf("the entries %v are left, error %v; want none and no error", left, err)
	}
}

func TestReplacedDestinationIsTaken(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dest string){
		"deleted":  func(t *testing.T, dest string) { must(t, os.RemoveAll(dest)); must(t, os.Mkdir(dest, 0o750)) },
		"replaced": func(t *testing.T, dest string) { rename(t, dest, dest+".moved"); must(t, os.Mkdir(dest, 0o750)) },
		"a copy": func(t *testing.T, dest string) {
			rename(t, dest, dest+".moved")
			must(t, os.CopyFS(dest, os.DirFS(dest+".moved")))
			must(t, os.RemoveAll(filepath.Join(dest, "gc")))
		},
		"emptied": func(t *testing.T, dest string) {
			must(t, os.RemoveAll(filepath.Join(dest, "gc")))
			must(t, os.RemoveAll(filepath.Join(dest, ".ullage")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, str, m, dest := awayStore(t)
			key := bytes.Clone(s.Key())
			replace(t, dest)
			if replaced, err := s.Reopen(t.Context()); err != nil || !replaced {
				t.Fatalf("Reopen: replaced %v, error %v; want true and no error", replaced, err)
			}
			if !bytes.Equal(s.Key(), key) || !strings.Contains(s.log.String(), "destination was replaced or mounted again") {
				t.Errorf("the key is %x, want %x; log: %s", s.Key(), key, s.log)
			}
			second := openStore(t, dest, DefaultConfig())
			if err := second.Acquire(t.Context()); err == nil {
				t.Error("a second store could lock the new directory, want an error")
			}
			if err := str.Resume(m, 1<<20); !errors.Is(err, ErrMark) {
				t.Fatal(err)
			}
			m.Gone = true
			must(t, str.Resume(m, 1<<20))
			appendAll(t, str, lines(3, 500))
			if next := sync(t, str); next.Seq() != m.Seq()+1 || next.Gone {
				t.Errorf("after %+v comes %+v, want segment %d and Gone false", m, next, m.Seq()+1)
			}
			wantContents(t, dest, "gc", lines(3, 500))
		})
	}
}

func TestDestinationOfAnotherSidecarIsNotTaken(t *testing.T) {
	s, _, _, dest := awayStore(t)
	rename(t, dest, dest+".moved")
	second := openStore(t, dest, DefaultConfig())
	must(t, second.Acquire(t.Context()))
	for range 2 {
		if _, err := s.Reopen(t.Context()); err == nil || !strings.Contains(err.Error(), "in use by another") {
			t.Fatal(err)
		}
	}
	must(t, second.Close())
	if replaced, err := s.Reopen(t.Context()); err != nil || !replaced {
		t.Fatalf("Reopen: replaced %v, error %v; want true and no error", replaced, err)
	}
	if !bytes.Equal(s.Key(), second.Key()) {
		t.Error("the store's key is not the key of the directory that it took, want the same key")
	}
}

// Committed segments are kept if they are moved away and back, at any time and across a restart.
func TestCommittedSegmentsThatComeBackStay(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "after a restart": true} {
		for how, place := range map[string]func(t *testing.T, str *Stream, m segment.Mark){
			"resumed": func(t *testing.T, str *Stream, m segment.Mark) {
				m.Gone = true
				must(t, str.Resume(m, 1<<20))
			},
			"recovered": func(t *testing.T, str *Stream, m segment.Mark) {
				if err := str.Resume(m, 1<<20); !errors.Is(err, ErrMark) {
					t.Fatal(err)
				}
				_, _, err := str.Recover()
				must(t, err)
			},
		} {
			t.Run(how+" "+name, func(t *testing.T) {
				s, str, m, dest := awayStore(t)
				dir, moved := filepath.Join(dest, "gc"), dest+".moved"
				rename(t, dir, moved)
				place(t, str, m)
				gone := str.Mark()
				if !gone.Gone || gone.Segment != m.Segment {
					t.Errorf("the mark is %+v, and was %+v before the directory was moved; want the same Segment and Gone true", gone, m)
				}
				appendAll(t, str, lines(3, 500)) // and never committed
				if restart {
					must(t, s.Close())
					s = openStore(t, dest, configOf(segment.None))
					str = s.Stream("gc")
				}
				must(t, str.Resume(gone, 1<<20))
				wantContents(t, dest, "gc", nil)
				must(t, os.RemoveAll(dir))
				rename(t, moved, dir)
				must(t, str.Resume(gone, 1<<20)) // bytes past the mark are cut
				wantContents(t, dest, "gc", lines(1, 5000))
				appendAll(t, str, lines(4, 500))
				sync(t, str)
				wantContents(t, dest, "gc", join(lines(1, 5000), lines(4, 500)))
			})
		}
	}
}

func TestMarkThatGoesBackDeletesNothingCommitted(t *testing.T) {
	dest := t.TempDir()
	cfg := configOf(segment.None)
	cfg.SegmentBytes = minSegment
	s := openStore(t, dest, cfg)
	str := freshStream(t, s, "gc")
	var marks []segment.Mark
	for i := range 3 {
		appendAll(t, str, lines(int64(i), int(minSegment)))
		marks = append(marks, sync(t, str))
	}
	must(t, str.Resume(marks[2], 0))
	for _, m := range []segment.Mark{{}, marks[0]} {
		if err := str.Resume(m, 1<<20); !errors.Is(err, ErrMark) {
			t.Errorf("Resume(%+v): %v, want ErrMark", m, err)
		}
	}
	wantContents(t, dest, "gc", join(lines(0, int(minSegment)), lines(1, int(minSegment)), lines(2, int(minSegment))))
}
