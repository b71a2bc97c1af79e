package segment_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
)

func TestFollowPastRetention(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		d.expect("1\n")
		old := d.newest()
		mark.Sealed = true
		s = d.restart(mark)
		texts(t, s, "2\n")
		must(t, os.Remove(old))
		d.expect("2\n")
		d.expectErrors()
		// The stream ends and is deleted completely. Later it exists again, with the
		// same numbers and the same beginning.
		must(t, os.RemoveAll(d.dir()))
		for later := time.Now().Add(time.Millisecond); !time.Now().After(later); { // the new segment needs another name, and names have milliseconds
		}
		texts(t, d.restart(segment.Mark{}), "1\n")
		d.expect("1\n")
	})
}

// Many logs begin with the same lines. The lines of a segment that retention deleted are not appended again, so Next
// must not skip any bytes of the next segment.
func TestFollowPastRetentionIntoASegmentWithTheSameBeginning(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		head := strings.Repeat("[0.001s][info][gc] Using G1\n", 20)
		s := d.restart(segment.Mark{})
		texts(t, s, "0\n")
		for _, what := range []string{"one\n", "two\n"} {
			mark := sync(t, s)
			mark.Sealed = true
			s = d.restart(mark)
			texts(t, s, head+what)
			if what == "one\n" {
				d.expect("0\n" + head + what)
			}
		}
		segs, err := segment.List(d.dir())
		must(t, err)
		for _, seg := range segs[:2] {
			must(t, os.Remove(seg.Path))
		}
		d.expect(head + "two\n")
	})
}

// A follower that has not looked for a long time learns what it missed.
func TestFollowCountsWhatRetentionDeletedUnread(t *testing.T) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		d := newFollowed(t, how)
		var s *store.Stream
		mark := segment.Mark{}
		add := func(text string) string {
			s = d.restart(mark)
			texts(t, s, text)
			mark = sync(t, s)
			mark.Sealed = true
			return d.newest()
		}
		first := add("1\n")
		d.expect("1\n")
		size := d.f.Segment().Size
		must(t, d.f.Close())
		var gone []string
		for _, text := range []string{"2\n", "3\n", "4\n"} {
			gone = append(gone, add(text))
		}
		add("5\n")
		for _, path := range append(gone[:2], first) {
			must(t, os.Remove(path))
		}
		d.expect("4\n5\n")
		d.expectErrors(&segment.GoneError{Path: first, Offset: size, Numbers: 2})
	})
}

// A segment that a look found is deleted before the follower reads it.
func TestFollowToldOfASegmentThatIsDeletedBeforeItsTurn(t *testing.T) {
	d := newFollowed(t, segment.None)
	mark := segment.Mark{}
	var paths []string
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		s := d.restart(mark)
		texts(t, s, text)
		mark = sync(t, s)
		mark.Sealed = true
		paths = append(paths, d.newest())
	}
	raw, err := d.f.Next()
	must(t, err)
	d.got.Write(raw)
	must(t, os.Remove(paths[1]))
	d.expect("1\n3\n")
	d.expectErrors(&segment.GoneError{Path: paths[1], Size: 2})
}

// Next skips nothing in files that the caller named, because no restart appends to them.
func TestFollowFilesWithTheSameBeginningOfWhichOneIsDeleted(t *testing.T) {
	dir := t.TempDir()
	head := strings.Repeat("[0.001s][info][gc] Using G1\n", 20)
	var files []segment.Info
	for _, name := range []string{"one.log", "two.log"} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(head+name), 0o600))
		files = append(files, segment.Info{Path: path, Name: name})
	}
	f := segment.FollowFiles(files, false, segment.FollowOptions{})
	defer f.Close()
	got := ""
	for step := range 4 {
		raw, err := f.Next()
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if got += string(raw); step == 0 {
			must(t, os.Remove(files[0].Path))
			segment.LookAgain(f) // as if it were the next look
		}
	}
	if want := head + "one.log" + head + "two.log"; got != want {
		t.Fatalf("Next returned %q, want %q", got, want)
	}
}
