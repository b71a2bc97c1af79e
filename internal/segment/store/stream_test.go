package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/test/lab"
)

func TestStandardToolsReadAnActiveSegmentAtEveryCommit(t *testing.T) {
	for how, tool := range map[segment.Compression]string{segment.Zstd: "zstdcat", segment.None: "cat"} {
		t.Run(tool, func(t *testing.T) {
			if _, err := exec.LookPath(tool); err != nil {
				lab.Needs(t, tool)
			}
			dest := t.TempDir()
			str := freshStream(t, openStore(t, dest, configOf(how)), "gc")
			var want []byte
			// The sizes are tiny, close to the encoder's block and window, and the largest allowed.
			for i, size := range []int{1, 100, 128 << 10, 200 << 10, 300 << 10, segment.FrameBytes - 200} {
				batch := lines(int64(i), size)
				appendAll(t, str, batch)
				want = append(want, batch...)
				m := sync(t, str)
				got, err := exec.Command(tool, filepath.Join(dest, "gc", m.Segment)).Output()
				must(t, err)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s prints %d bytes, want %d", tool, len(got), len(want))
				}
			}
			wantContents(t, dest, "gc", want)
		})
	}
}

func TestIncompressibleFrameOfTheLargestSize(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		str := freshStream(t, openStore(t, dest, configOf(how)), "gc")
		raw := noise(segment.FrameBytes)
		appendAll(t, str, raw)
		sync(t, str)
		wantContents(t, dest, "gc", raw)
		if err := str.Append(make([]byte, segment.FrameBytes+1)); err == nil {
			t.Error("more than FrameBytes was accepted, want an error")
		}
		must(t, str.Append([]byte("x\n"))) // the stream still works after that error
	})
}

func TestModesOfFilesAndDirectories(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "new", "dest")
	str := freshStream(t, openStore(t, dest, DefaultConfig()), "gc")
	appendAll(t, str, []byte("x\n"))
	m := sync(t, str)
	for path, want := range map[string]fs.FileMode{
		dest:                                  fs.ModeDir | 0o750,
		filepath.Join(dest, "gc"):             fs.ModeDir | 0o750,
		filepath.Join(dest, ".ullage"):        fs.ModeDir | 0o750,
		filepath.Join(dest, ".ullage", "key"): 0o600,
		filepath.Join(dest, "gc", m.Segment):  0o640,
	} {
		st, err := os.Stat(path)
		must(t, err)
		if st.Mode() != want {
			t.Errorf("%s has mode %s, want %s", path, st.Mode(), want)
		}
	}
}

func TestFullSegmentIsSealedAndNeverChanges(t *testing.T) {
	dest := t.TempDir()
	cfg := configOf(segment.None)
	cfg.SegmentBytes = 4 * settings.Ki
	s := openStore(t, dest, cfg)
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 3000))
	first := sync(t, str)
	if first.Sealed {
		t.Fatalf("the segment was sealed too early: %+v", first)
	}
	appendAll(t, str, lines(2, 3000))
	full := sync(t, str)
	if !full.Sealed || full.Segment != first.Segment || str.file != nil {
		t.Fatalf("the full segment is not sealed and closed: %+v", full)
	}
	path := filepath.Join(dest, "gc", full.Segment)
	before, err := os.ReadFile(path)
	must(t, err)
	appendAll(t, str, lines(3, 100))
	next := sync(t, str)
	if next.Segment == full.Segment || next.Segment <= full.Segment {
		t.Fatalf("after %s came %s, want a greater name", full.Segment, next.Segment)
	}
	must(t, str.Resume(next, 0))
	appendAll(t, str, lines(4, 100))
	sync(t, str)
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the sealed segment changed")
	}
	wantContents(t, dest, "gc", join(lines(1, 3000), lines(2, 3000), lines(3, 100), lines(4, 100)))
	if n := testutil.ToFloat64(s.metrics.sealed); n != 1 {
		t.Errorf("%v segments are counted as sealed, want 1", n)
	}
}

func TestSegmentAgeSealsOnlyWhatIsSynced(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, DefaultConfig())
	str := freshStream(t, s, "gc")
	appendAll(t, str, lines(1, 100))
	later := time.Now().Add(61 * time.Minute)
	must(t, s.Maintain(later))
	if str.Mark() != (segment.Mark{}) {
		t.Fatalf("the segment was sealed before a sync: %+v", str.Mark())
	}
	m := sync(t, str)
	must(t, s.Maintain(time.Now().Add(59*time.Minute)))
	if str.Mark().Sealed {
		t.Fatal("the segment was sealed before it was old enough")
	}
	must(t, s.Maintain(later))
	if !str.Mark().Sealed {
		t.Fatal("the segment was not sealed when it was old enough")
	}
	must(t, str.Resume(m, 0)) // the checkpoint's mark is from before the seal
	appendAll(t, str, lines(2, 100))
	if next := sync(t, str); next.Segment == m.Segment {
		t.Fatal("the sealed segment grew")
	}
	wantContents(t, dest, "gc", join(lines(1, 100), lines(2, 100)))
}

func TestCloseIdleFreesTheDescriptorAndTheSegmentGoesOn(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		dest := t.TempDir()
		str := freshStream(t, openStore(t, dest, configOf(how)), "gc")
		appendAll(t, str, lines(1, 100))
		must(t, str.CloseIdle())
		if str.file == nil {
			t.Fatal("a dirty stream was closed")
		}
		first := sync(t, str)
		must(t, str.CloseIdle())
		if str.file != nil {
			t.Fatal("an idle stream was not closed")
		}
		appendAll(t, str, lines(2, 100))
		if second := sync(t, str); second.Segment != first.Segment {
			t.Fatalf("after segment %s, the stream continues in %s, want the same segment", first.Segment, second.Segment)
		}
		wantContents(t, dest, "gc", join(lines(1, 100), lines(2, 100)))
	})
}

func TestUnplacedStreamTakesNothing(t *testing.T) {
	s := openStore(t, t.TempDir(), DefaultConfig())
	if err := s.Stream("gc").Append([]byte("x\n")); !errors.Is(err, errUnplaced) {
		t.Error(err)
	}
	if _, err := s.Stream("gc").Sync(); !errors.Is(err, errUnplaced) {
		t.Error(err)
	}
	for _, name := range []string{"../gc", ".ullage", ""} {
		if err := s.Stream(name).Resume(segment.Mark{}, 0); err == nil {
			t.Errorf("stream %q was resumed, want an error", name)
		}
		if _, _, err := s.Stream(name).Recover(); err == nil {
			t.Errorf("stream %q was recovered, want an error", name)
		}
	}
}

func TestSegmentChangedByOthersIsNoticed(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed":   os.Remove,
		"truncated": func(path string) error { return os.Truncate(path, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir()
			str := freshStream(t, openStore(t, dest, DefaultConfig()), "gc")
			appendAll(t, str, lines(1, 100))
			m := sync(t, str)
			appendAll(t, str, lines(2, 100))
			must(t, harm(filepath.Join(dest, "gc", m.Segment)))
			if _, err := str.Sync(); err == nil || !strings.Contains(err.Error(), "changed by another process") {
				t.Fatal(err)
			}
			if err := str.Append(lines(3, 100)); err == nil || !strings.Contains(err.Error(), "must be abandoned") {
				t.Fatal(err)
			}
			str.Abandon()
			if err := str.Resume(m, 1<<20); !errors.Is(err, ErrMark) {
				t.Fatal(err)
			}
			_, _, err := str.Recover()
			must(t, err)
			appendAll(t, str, lines(4, 100))
			sync(t, str)
			wantContents(t, dest, "gc", lines(4, 100))
		})
	}
}

func TestStreamDirectoryThatIsALinkIsNotFollowed(t *testing.T) {
	dest, elsewhere := t.TempDir(), t.TempDir()
	must(t, os.Symlink(elsewhere, filepath.Join(dest, "gc")))
	s := openStore(t, dest, DefaultConfig())
	if err := s.Stream("gc").Resume(segment.Mark{}, 0); err == nil {
		t.Error("resumed through a link")
	}
	if _, _, err := s.Stream("gc").Recover(); err == nil {
		t.Error("recovered through a link")
	}
	must(t, s.Maintain(time.Now()))
	if found, _ := os.ReadDir(elsewhere); len(found) != 0 {
		t.Errorf("%v were written through a link, want none", found)
	}
}
