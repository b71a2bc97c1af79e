package tail

import (
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
)

// The files of these tests change at the worst moment.

func TestRewindIntoAFileThatWasWrittenAgain(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, strings.Repeat("old and committed\n", 100))
	r.read()
	r.commit()
	r.write(f, strings.Repeat("old and not committed\n", 100))
	r.read()
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	fresh := strings.Repeat("of the next JVM\n", 1000)
	r.write(f, fresh)
	r.got = map[string]*strings.Builder{}
	r.src.Start.Rewind()
	r.read()
	r.want("gc.log", fresh)
}

func TestRewindOverAHoleStepsOverItAgain(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	r.commit()
	if err := f.Truncate(1 << 24); err != nil {
		t.Fatal(err)
	}
	r.write(f, strings.Repeat("\x00", 3000)+"two\n")
	r.read()
	r.got = map[string]*strings.Builder{}
	r.src.Start.Rewind()
	r.read()
	if n := r.got["gc.log"].Len(); n > 3*position.PageSize {
		t.Errorf("%d bytes were read twice, want at most %d", n, 3*position.PageSize)
	}
}

func TestHoleThatIsPunchedWhileItIsLookedAt(t *testing.T) {
	r := newRig(t)
	f, err := os.OpenFile(r.path("gc.log"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	var puncher sync.WaitGroup
	stop := make(chan struct{})
	puncher.Go(func() {
		defer f.Close()
		zeros := make([]byte, 64<<10)
		for {
			select {
			case <-stop:
				return
			default:
			}
			f.WriteAt(zeros, 0)
			unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 64<<10)
		}
	})
	for range 3000 {
		for _, f := range r.src.table.Files {
			r.src.table.Renew(f)
		}
		r.read()
		r.got = map[string]*strings.Builder{}
	}
	close(stop)
	puncher.Wait()
}

func TestPositionIsKeptWhileTheFileHides(t *testing.T) {
	for _, c := range []struct{ name, hide, show string }{
		{"by a second name", "link", "unlink"},
		{"under a name that does not match", "move", "move back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Reclaim = ReclaimNone })
			r.put("gc.log", "one\ntwo\n")
			r.read()
			r.commit()
			if c.hide == "link" {
				os.Link(r.path("gc.log"), r.path("backup"))
				r.restart()
				os.Remove(r.path("backup"))
			} else {
				os.Rename(r.path("gc.log"), r.path("backup"))
				for range 4 {
					r.read()
					r.commit()
				}
				os.Rename(r.path("backup"), r.path("gc.log"))
			}
			r.read()
			r.want("gc.log", "one\ntwo\n")
		})
	}
}

// TestHolesOfAnySizeCostNothing would run for years if a hole were read or punched piece by
// piece.
func TestHolesOfAnySizeCostNothing(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	if err := f.Truncate(1 << 62); err != nil {
		t.Fatal(err)
	}
	r.src.Scanner.Scan()
	if found, err := r.src.Start.Align("gc.log", []byte("nowhere\n")); found || err != nil {
		t.Fatalf("Align returned %v, %v; want false and no error", found, err)
	}
	r.write(f, "two\n")
	r.read()
	r.commit()
	if got := r.got["gc.log"].String(); !strings.HasPrefix(got, "one\n") || !strings.HasSuffix(got, "two\n") {
		t.Fatalf("the lines %s were read, want \"one\\n\" at its start and \"two\\n\" at its end", abbreviate(got))
	}
}

// TestSameBytesAtThePositionOfAnotherContent rewrites a log so that it has the same bytes
// at the read position as the earlier log.
func TestSameBytesAtThePositionOfAnotherContent(t *testing.T) {
	for _, c := range []struct {
		name string
		look func(r *rig)
	}{
		{"read", func(r *rig) { r.read() }},
		{"committed once more", func(r *rig) { r.commit(); r.read() }},
		{"rewound", func(r *rig) { r.src.Start.Rewind(); r.read() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			same := strings.Repeat("the same bytes in both\n", 10)
			before := strings.Repeat("old line\n", 3000) + same
			after := strings.Repeat("new line\n", 3000) + same
			f := r.writer("gc.log")
			r.write(f, before)
			r.read()
			r.commit()
			if err := f.Truncate(0); err != nil {
				t.Fatal(err)
			}
			r.write(f, after)
			c.look(r)
			r.want("gc.log", before+after)
		})
	}
}
