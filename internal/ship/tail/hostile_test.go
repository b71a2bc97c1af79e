package tail

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/source"
)

func TestWhatIsNoRegularFileInTheDirectoryIsNotFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.log")
	if err := os.WriteFile(outside, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(t testing.TB, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		reason string
		make   func(t testing.TB, r *rig)
	}{
		{ignoreSymlink, func(t testing.TB, r *rig) { must(t, os.Symlink(outside, r.path("x.log"))) }},
		{ignoreSymlink, func(t testing.TB, r *rig) { must(t, os.Symlink("nowhere", r.path("x.log"))) }},
		{ignoreSpecial, func(t testing.TB, r *rig) { must(t, unix.Mkfifo(r.path("x.log"), 0o666)) }},
		{ignoreSpecial, func(t testing.TB, r *rig) {
			l, err := net.Listen("unix", r.path("x.log"))
			must(t, err)
			r.t.Cleanup(func() { l.Close() })
		}},
		{ignoreDirectory, func(t testing.TB, r *rig) { must(t, os.Mkdir(r.path("x.log"), 0o777)) }},
		{ignoreLinks, func(t testing.TB, r *rig) {
			must(t, os.WriteFile(r.path("other"), []byte("x\n"), 0o666))
			must(t, os.Link(r.path("other"), r.path("x.log")))
		}},
		{ignoreName, func(t testing.TB, r *rig) { must(t, os.WriteFile(r.path("a\nb.log"), []byte("x\n"), 0o666)) }},
		{ignoreName, func(t testing.TB, r *rig) { must(t, os.WriteFile(r.path("..x.log"), []byte("x\n"), 0o666)) }},
		{ignoreName, func(t testing.TB, r *rig) { must(t, os.WriteFile(r.path("\xff.log"), []byte("x\n"), 0o666)) }},
		{ignoreName, func(t testing.TB, r *rig) {
			must(t, os.WriteFile(r.path(strings.Repeat("n", 220)+".log"), []byte("x\n"), 0o666))
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := newRig(t)
			r.put("honest.log", "line\n")
			c.make(t, r)
			r.read()
			r.want("honest.log", "line\n")
			if len(r.got) != 1 {
				t.Errorf("the streams are %v, want one", r.got)
			}
			if got := r.src.Stats().Ignored; len(got) != 1 || got[c.reason] != 1 {
				t.Errorf("the ignored files are %v, want 1 for %q", got, c.reason)
			}
		})
	}
}

func TestEveryByteValueGoesThroughUnchanged(t *testing.T) {
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	text := strings.Repeat(all.String()+"\n", 1000)
	r := newRig(t)
	r.put("gc.log", text)
	r.read()
	r.want("gc.log", text)
}

func TestZerosThatWereWrittenAreBytesLikeOthers(t *testing.T) {
	text := strings.Repeat("\x00", 300<<10) + "\nline\n"
	r := newRig(t)
	r.put("gc.log", text)
	r.read()
	r.want("gc.log", text)
}

func TestHolesAreSteppedOver(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "before\n")
	for _, size := range []int64{1 << 20, 1 << 40} {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		r.write(f, "line\n")
		r.read()
	}
	// The zeros between the line and the hole, in the same page, are part of the file. No byte
	// of the hole itself is handed on.
	got := r.got["gc.log"].String()
	if !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "line\n") || len(got) > 3*position.PageSize {
		t.Fatalf(`%s was read; want "before\n" first, "line\n" last, and at most %d bytes`, abbreviate(got), 3*position.PageSize)
	}
	if n := strings.Count(strings.ReplaceAll(got, "\x00", ""), "line\n"); n != 2 {
		t.Errorf("%d lines after holes, want 2: %s", n, abbreviate(got))
	}
}

func TestFileThatIsOneHoleIsFinished(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	if err := f.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for range 4 {
		r.read()
		r.commit()
	}
	if names := r.names(); len(names) != 0 {
		t.Errorf("these files should be gone: %v", names)
	}
}

func TestDirectoryThatIsReplacedIsNoticed(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "old\n")
	r.read()
	if r.src.CloseGone() {
		t.Fatal("the directory is treated as gone, but is still there")
	}
	if err := os.Rename(r.dir, r.dir+".moved"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(r.dir + ".moved") })
	if !r.src.CloseGone() {
		t.Fatal("a missing directory was not noticed")
	}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.src.Open(); err != nil {
		t.Fatal(err)
	}
	r.write(f, "last of the old\n") // the old file is still held by the source
	f.Close()
	r.put("gc.log", "new\n")
	r.read()
	r.want("gc.log", "old\nlast of the old\nnew\n")
}

func TestMoreFilesThanMayBeHeldTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("opens 2,048 files")
	}
	r := newRig(t)
	for i := range source.MaxFiles + 10 {
		r.put(fmt.Sprintf("jvm-%d.log", i), "line\n")
	}
	r.read()
	if got := r.src.Stats().Ignored[IgnoredTooMany]; got != 10 {
		t.Fatalf("%d files wait, want 10", got)
	}
	for range 3 {
		r.commit()
	}
	r.read()
	if got := len(r.got); got != source.MaxFiles+10 {
		t.Fatalf("%d streams were read, want %d", got, source.MaxFiles+10)
	}
}

func TestFileThatGetsASecondNameIsStillOneFile(t *testing.T) {
	r := newRig(t)
	f := r.writer("gc.log")
	r.write(f, "one\n")
	r.read()
	if err := os.Link(r.path("gc.log"), r.path("other.log")); err != nil {
		t.Fatal(err)
	}
	r.write(f, "two\n")
	r.read()
	f.Close()
	for range 8 {
		r.commit()
		r.read()
	}
	r.want("gc.log", "one\ntwo\n")
	if len(r.got) != 1 {
		t.Errorf("the streams are %v, want one", r.got)
	}
	if names := r.names(); len(names) != 0 {
		t.Errorf("these files should be gone: %v", names)
	}
}

func TestScansOfManyFilesLeaveTimeForOtherThings(t *testing.T) {
	runtime.LockOSThread() // the CPU time of a scan is measured for its thread
	defer runtime.UnlockOSThread()
	r := newRig(t)
	step := time.Duration(0)
	r.src.env.now = func() time.Time { r.now = r.now.Add(step); return r.now }
	step = 10 * time.Millisecond // each call of the clock seems to take this long
	r.put("a.log", "")
	r.src.listing.stale = true
	if found, err := r.src.Scanner.Scan(); err != nil || found != 1 {
		t.Fatalf("the scan found %d files, error %v, want 1", found, err)
	}
	step = 0
	r.put("b.log", "")
	r.src.listing.stale = true
	if found, _ := r.src.Scanner.Scan(); found != 0 || !r.src.Scanner.Stale() {
		t.Fatalf("a second scan found %d files at once; want none, and a scan that is due", found)
	}
	r.now = r.now.Add(time.Second)
	if found, _ := r.src.Scanner.Scan(); found != 1 || r.src.Scanner.Stale() {
		t.Fatalf("a later scan found %d files; want 1, and no scan that is due", found)
	}
}
