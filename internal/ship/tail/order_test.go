package tail

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/ship/source"
)

func TestRotationBetweenTheListingAndTheLookKeepsTheOrder(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "1\n2\n")
	names, err := r.src.dir.dir.Readdirnames(512)
	if err != nil {
		t.Fatal(err)
	}
	f = r.rotate(f, "gc.log", "gc.log.0")
	r.write(f, "3\n4\n")
	for _, name := range names {
		if name != statedir.Name {
			r.src.Scanner.see(name)
		}
	}
	drain := func() {
		for n, c, ok := r.src.Reader.Next(r.area); ok; n, c, ok = r.src.Reader.Next(r.area) {
			name := c.File.Stream()
			if r.got[name] == nil {
				r.got[name] = &strings.Builder{}
			}
			r.got[name].Write(r.area[:n])
		}
	}
	drain()
	r.read()
	r.want("gc.log", "1\n2\n3\n4\n")
}

// TestRotationsAtAnyMomentOfScansKeepTheOrder rotates as fast as it can while scans run one
// after another, so that rotations occur at every moment of a scan.
func TestRotationsAtAnyMomentOfScansKeepTheOrder(t *testing.T) {
	r := newRig(t)
	for i := range 50 { // makes a listing take longer
		r.writer(fmt.Sprintf("other-%d.log", i))
	}
	var want strings.Builder
	var writing sync.WaitGroup
	done := make(chan struct{})
	writing.Go(func() {
		defer close(done)
		f := r.writer("gc.log")
		for i := range 3000 {
			line := fmt.Sprintf("line %d\n", i)
			want.WriteString(line)
			r.write(f, line)
			if i%3 == 2 {
				f = r.rotate(f, "gc.log", fmt.Sprintf("gc.log.%d", i/3))
			}
		}
	})
	for end := false; !end; {
		select {
		case <-done:
			end = true
		default:
		}
		r.read()
	}
	writing.Wait()
	r.read()
	r.read()
	r.want("gc.log", want.String())
}

// If the clock is set back between two rotations, the newer file has the earlier time of
// birth. The files of this test are created in that wrong order.
func TestNamesTellTheOrderAlsoWhenTheClockWentBack(t *testing.T) {
	r := newRig(t)
	r.put("gc.log", "3\n4\n")
	r.put("gc.log.0", "1\n2\n")
	r.read()
	r.want("gc.log", "1\n2\n3\n4\n")
}

func TestFileThatIsSeenLaterIsTheNewerOneWheneverItWasBorn(t *testing.T) {
	for _, c := range []struct {
		name    string
		restart bool
	}{{"by one process", false}, {"by two", true}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.put("born first", "3\n4\n")
			f := r.writer("gc.log")
			r.write(f, "1\n")
			r.read()
			r.commit()
			r.write(f, "2\n")
			f.Close()
			for _, move := range [][2]string{{"gc.log", "gc.log.0"}, {"born first", "gc.log.1"}} {
				if err := os.Rename(r.path(move[0]), r.path(move[1])); err != nil {
					t.Fatal(err)
				}
			}
			r.put("gc.log", "5\n")
			if c.restart {
				r.restart()
			}
			r.read()
			r.want("gc.log", "1\n2\n3\n4\n5\n")
		})
	}
}

// A file that a scan skips may be older than the files that the scan finds.
func TestFileThatHadToWaitHasItsPlaceByAge(t *testing.T) {
	r := newRig(t)
	r.put("gc.log.0", "1\n")
	if err := os.Link(r.path("gc.log.0"), r.path("second name")); err != nil {
		t.Fatal(err)
	}
	r.put("gc.log.1", "2\n")
	r.src.Scanner.Scan()
	os.Remove(r.path("second name"))
	r.read()
	r.want("gc.log", "1\n2\n")
}

func TestAgeOfFiles(t *testing.T) {
	file := func(ino uint64, born, written int64) *unix.Statx_t {
		st := &unix.Statx_t{Ino: ino, Mtime: unix.StatxTimestamp{Sec: written}}
		if born != 0 {
			st.Mask, st.Btime.Sec = unix.STATX_BTIME, born
		}
		return st
	}
	for _, c := range []struct {
		name       string
		older, new *unix.Statx_t
		countsUp   bool
	}{
		{"by time of birth", file(9, 1, 5), file(8, 2, 4), false},
		{"by the last write, where no birth is kept", file(9, 0, 4), file(8, 0, 5), false},
		{"by inode number on a tmpfs, whatever the clock says", file(8, 2, 5), file(9, 1, 4), true},
	} {
		if source.Age(c.older, c.countsUp) >= source.Age(c.new, c.countsUp) {
			t.Errorf("%s: Age is %d for the older file and %d for the newer one, want a higher value for the newer one", c.name, source.Age(c.older, c.countsUp), source.Age(c.new, c.countsUp))
		}
	}
	for release, want := range map[string]bool{"5.9.0": true, "5.8.18-generic": false, "6.1": true, "10.0-rc1": true, "4.18.0-553.el8": false, "5.15-x": true, "odd": false} {
		if got := releaseAtLeast(release, 5, 9); got != want {
			t.Errorf("release %q is at least 5.9: %v, want %v", release, got, want)
		}
	}
}

// TestInodesOfATmpfsCountUp checks the property of the kernel that source.Age relies on.
func TestInodesOfATmpfsCountUp(t *testing.T) {
	r := newRig(t)
	if !r.src.dir.countsUp {
		t.Skip("needs a tmpfs, and Linux 5.9 or newer")
	}
	type created struct {
		before, after time.Time
		ino           uint64
	}
	var all [4][]created
	var creating sync.WaitGroup
	for i := range all {
		creating.Go(func() {
			for n := range 300 {
				before := time.Now()
				r.writer(fmt.Sprintf("%d-%d", i, n)).Close()
				after := time.Now()
				var st unix.Stat_t
				if err := unix.Stat(r.path(fmt.Sprintf("%d-%d", i, n)), &st); err != nil {
					t.Error(err)
				}
				all[i] = append(all[i], created{before, after, st.Ino})
			}
		})
	}
	creating.Wait()
	for _, a := range all[0] {
		for _, others := range all {
			for _, b := range others {
				if a.after.Before(b.before) && a.ino >= b.ino {
					t.Fatalf("inode %d was created before inode %d, want a smaller number than that", a.ino, b.ino)
				}
			}
		}
	}
}
