package segment_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
)

// A frame that is being written is not damage, unless there is no writer.
func TestFollowWaitsForTheEndOfAFrame(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		if d.cfg.Compress == segment.None {
			t.Skip("a segment without compression has no frames")
		}
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		texts(t, s, "2\n")
		path := d.newest()
		whole, err := os.ReadFile(path)
		must(t, err)
		must(t, os.Truncate(path, int64(len(whole)-1)))
		d.expect("1\n")
		d.expectErrors()
		must(t, os.WriteFile(path, whole, 0))
		d.expect("2\n")
		must(t, os.Truncate(path, int64(len(whole)-1)))
		once, err := segment.OpenFollower(d.dir(), segment.FollowOptions{Once: true})
		must(t, err)
		defer once.Close()
		raw, err := once.Next()
		if string(raw) != "1\n" {
			t.Fatalf("read %q, error %v, want \"1\\n\"", raw, err)
		}
		for range 2 {
			var torn *segment.TornError
			if _, err := once.Next(); !errors.As(err, &torn) || torn.Offset != mark.Offset {
				t.Fatalf("the error is %v, want an incomplete frame at %d", err, mark.Offset)
			}
		}
	})
}

func TestFollowGoesOnBehindDamage(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		if d.cfg.Compress == segment.None {
			t.Skip("a segment without compression has no frames")
		}
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		from := sync(t, s).Offset
		texts(t, s, "2\n")
		to := sync(t, s).Offset
		texts(t, s, "3\n")
		mark := sync(t, s)
		edit(t, d.newest(), func(b []byte) []byte { b[to-1] ^= 1; return b })
		d.expect("1\n3\n")
		var bad *segment.DamageError
		if len(d.errs) != 1 || !errors.As(d.errs[0], &bad) || bad.From != from || bad.To != to || bad.Path != d.newest() {
			t.Fatalf("the errors are %v, want one for bytes %d-%d", d.errs, from, to-1)
		}
		d.errs = nil
		// The second read does not return the damage again.
		texts(t, s, "4\n")
		d.expect("4\n")
		texts(t, d.restart(mark), "4\n5\n")
		d.expect("5\n")
		d.expectErrors()
	})
}

// A read error loses nothing unless the caller skips the segment.
func TestFollowTriesAgainWhatCannotBeOpened(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		d.look()
		if len(d.errs) != 1 || !errors.Is(d.errs[0], fs.ErrNotExist) {
			t.Fatalf("errors %v, want one for a missing directory", d.errs)
		}
		d.errs = nil
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		mark.Sealed = true
		bad := d.newest()
		texts(t, d.restart(mark), "2\n")
		must(t, os.Rename(bad, bad+".away"))
		files := segment.FollowFiles([]segment.Info{{Path: bad, Name: filepath.Base(bad)}, {Path: d.newest(), Name: filepath.Base(d.newest())}}, false, segment.FollowOptions{})
		defer files.Close()
		if _, err := files.Next(); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the error is %v, want the error of a missing file", err)
		}
		files.Skip()
		if raw, err := files.Next(); string(raw) != "2\n" {
			t.Fatalf("after the skipped file, Next returned %q, error %v, want \"2\\n\"", raw, err)
		}
		must(t, os.Rename(bad+".away", bad))
		d.expect("1\n2\n")
		d.expectErrors()
	})
}

// Another program that can write to the volume replaces a segment with a link after a look has
// found the segment and before it is opened.
func TestFollowThroughNoLinkThatTakesASegmentsPlace(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		texts(t, d.restart(segment.Mark{}), "1\n")
		secret := filepath.Join(t.TempDir(), filepath.Base(d.newest()))
		must(t, os.Rename(d.newest(), secret))
		listed := segment.Info{Stream: filepath.Base(d.dir()), Path: filepath.Join(d.dir(), filepath.Base(secret)), Name: filepath.Base(secret)}
		must(t, os.Symlink(secret, listed.Path))
		f, err := segment.OpenFollower(d.dir(), segment.FollowOptions{Once: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := segment.OpenFound(f, listed); !errors.Is(err, unix.ELOOP) {
			t.Errorf("a link in place of a segment: %v, want %v", err, unix.ELOOP)
		}
		named, err := segment.OpenReader(listed.Path)
		if err != nil {
			t.Fatalf("a link that a user names is refused, want it opened: %v", err)
		}
		named.Close()
	})
}

// A volume can disappear for a while and come back.
func TestFollowOfAStreamThatWasAway(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		mark.Sealed = true
		s = d.restart(mark)
		texts(t, s, "2\n")
		d.expect("1\n2\n")
		must(t, os.Rename(d.dir(), d.dir()+".away"))
		d.look()
		d.look()
		if segment.IsOpen(d.f) {
			t.Fatal("a segment of the moved directory is still open: the file system cannot free its space")
		}
		must(t, os.Rename(d.dir()+".away", d.dir()))
		texts(t, s, "3\n")
		d.expect("3\n")
	})
}
