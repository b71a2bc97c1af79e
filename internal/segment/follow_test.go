package segment_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/seek"
	"github.com/ullage/ullage/internal/segment/store"
)

// followed is a stream that a test writes, and the bytes that a Follower has read from it.
type followed struct {
	t       testing.TB
	dest    string
	cfg     store.Config
	store   *store.Store
	f       *segment.Follower
	opt     segment.FollowOptions
	closes  bool // whether each look closes the open segment first
	rewinds bool // whether look rewinds after each frame, so that it reads each frame twice
	got     bytes.Buffer
	want    string
	errs    []error // since they were last checked
}

func newFollowed(t testing.TB, how segment.Compression) *followed {
	d := &followed{t: t, dest: t.TempDir(), cfg: configOf(how)}
	d.store = openStore(t, d.dest, d.cfg)
	d.open(segment.FollowOptions{})
	t.Cleanup(func() { must(t, d.f.Close()) })
	return d
}

func (d *followed) dir() string { return filepath.Join(d.dest, "gc.log") }

func (d *followed) open(opt segment.FollowOptions) {
	d.t.Helper()
	d.opt = opt
	f, err := segment.OpenFollower(d.dir(), opt)
	must(d.t, err)
	d.f = f
}

// restart is what a new sidecar does: it cuts the stream back to the mark.
func (d *followed) restart(m segment.Mark) *store.Stream {
	d.t.Helper()
	must(d.t, d.store.Close())
	d.store = openStore(d.t, d.dest, d.cfg)
	s := d.store.Stream("gc.log")
	must(d.t, s.Resume(m, store.Unbounded))
	return s
}

// look reads until Next returns io.EOF.
func (d *followed) look() {
	d.t.Helper()
	if d.closes {
		must(d.t, d.f.Close())
	}
	for steps := 0; ; steps++ {
		if steps > 1<<20 {
			d.t.Fatal("Next never returned io.EOF")
		}
		raw, err := d.f.Next()
		if d.rewinds && err == nil {
			first := bytes.Clone(raw)
			d.f.Rewind()
			d.f.Rewind() // does nothing more
			if raw, err = d.f.Next(); err != nil || !bytes.Equal(raw, first) {
				d.t.Fatalf("after Rewind, Next returned %q, error %v; before, it returned %q", raw, err, first)
			}
		}
		d.got.Write(raw)
		switch {
		case err == io.EOF:
			return
		case err == nil && len(raw) == 0:
			d.t.Fatal("no bytes and no error")
		case err != nil:
			d.errs = append(d.errs, err)
			var read *segment.ReadError
			var torn *segment.TornError
			if errors.As(err, &read) || errors.As(err, &torn) {
				return
			}
		}
	}
}

// expect makes the Follower look, and fails unless it reads exactly text.
func (d *followed) expect(text string) {
	d.t.Helper()
	d.look()
	d.want += text
	if got := d.got.String(); got != d.want {
		d.t.Fatalf("read\n%q, want\n%q\nerrors %v", got, d.want, d.errs)
	}
}

func (d *followed) expectErrors(want ...error) {
	d.t.Helper()
	if !slices.EqualFunc(d.errs, want, func(a, b error) bool { return a.Error() == b.Error() }) {
		d.t.Fatalf("errors %v, want %v", d.errs, want)
	}
	d.errs = nil
}

func texts(t testing.TB, s *store.Stream, frames ...string) {
	t.Helper()
	for _, raw := range frames {
		must(t, s.Append([]byte(raw)))
	}
}

func (d *followed) newest() string {
	d.t.Helper()
	segs, err := segment.List(d.dir())
	must(d.t, err)
	if len(segs) == 0 {
		d.t.Fatal("there are no segments")
	}
	return segs[len(segs)-1].Path
}

// eachFollowed runs a test for every compression with three kinds of Follower: one keeps its segment open, one opens it
// again at each look, and one reads each frame twice.
func eachFollowed(t *testing.T, run func(t *testing.T, d *followed)) {
	eachCompression(t, func(t *testing.T, how segment.Compression) {
		for _, name := range []string{"open", "closed", "rewound"} {
			t.Run(name, func(t *testing.T) {
				d := newFollowed(t, how)
				d.closes, d.rewinds = name == "closed", name == "rewound"
				run(t, d)
			})
		}
	})
}

// A restart of the sidecar cuts uncommitted bytes and writes them again in other frames. A
// follower must see each line once.
func TestFollowAcrossARestartHandsOutEachByteOnce(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		d.expect("1\n")
		texts(t, s, "2\n", "3\n")
		d.expect("2\n3\n")
		// The cut is seen while the segment is still shorter.
		s = d.restart(mark)
		d.expect("")
		texts(t, s, "2\n3\n4\n")
		d.expect("4\n")
		// By the time the follower looks, the cut segment is longer than before: only its content shows the cut.
		s = d.restart(mark)
		long := "7\n" + strings.Repeat("long ", 100) + "\n"
		texts(t, s, "2\n3\n", "4\n5\n", "6\n", long)
		d.expect("5\n6\n" + long)
		// Everything is cut, as if nothing had been committed.
		s = d.restart(segment.Mark{})
		d.expectErrors()
		texts(t, s, "1\n2\n", "3\n4\n5\n6\n"+long+"8\n")
		d.expect("8\n")
	})
}

func TestFollowIntoNewSegmentsThatARestartDeletes(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		d.expect("1\n")
		mark.Sealed = true
		for _, step := range []string{"2\n", "3\n", "4\n"} {
			s = d.restart(mark)
			texts(t, s, step)
			d.expect(step)
			s = d.restart(mark) // the segment is deleted with its lines
			texts(t, s, step+"and ", "more\n")
			d.expect("and more\n")
			mark = sync(t, s)
			mark.Sealed = true
		}
		// The previous segment grows again instead.
		unsealed := mark
		unsealed.Sealed = false
		s = d.restart(mark)
		texts(t, s, "5\n")
		d.expect("5\n")
		s = d.restart(unsealed)
		texts(t, s, "5\n6\n")
		d.expect("6\n")
		d.expectErrors()
	})
}

// The previous segment was also cut and is now sealed. The writer appends the bytes that were cut from it to a new
// segment, followed by the bytes of the deleted segment.
func TestFollowWhereARestartCutsASegmentAndSealsIt(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		texts(t, s, "2\n")
		second := sync(t, s)
		second.Sealed = true
		s = d.restart(second)
		texts(t, s, "3\n")
		d.expect("1\n2\n3\n")
		mark.Sealed = true
		s = d.restart(mark)
		texts(t, s, "2\n", "3\n", "4\n")
		d.expect("4\n")
		d.expectErrors()
	})
}

// A follower closes a segment that has not grown for a long time: a destination may hold
// many streams that ended.
func TestFollowClosesWhatIsIdle(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		idle := func() {
			t.Helper()
			must(t, os.Chtimes(d.newest(), time.Time{}, time.Now().Add(-2*segment.FollowIdle)))
			d.expect("")
			if segment.IsOpen(d.f) {
				t.Fatal("an idle segment is still open")
			}
		}
		d.expect("1\n")
		idle()
		texts(t, s, "2\n")
		d.expect("2\n")
		idle()
		texts(t, d.restart(mark), "2\n3\n")
		d.expect("3\n")
		d.expectErrors()
	})
}

func TestFollowSincePassesOverWhatWasCompleteBefore(t *testing.T) {
	d := newFollowed(t, segment.Zstd)
	mark := segment.Mark{}
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 2*segment.FollowAhead + 10 {
		s := d.restart(mark)
		texts(t, s, string(rune('a'+i%26)))
		mark = sync(t, s)
		mark.Sealed = true
		seg, _ := segment.ParseName(mark.Segment)
		mark.Segment = segment.FileName(begin.Add(time.Duration(i)*time.Hour), seg.Seq, segment.Zstd)
		must(t, os.Rename(filepath.Join(d.dir(), seg.Name), filepath.Join(d.dir(), mark.Segment)))
	}
	n := 2*segment.FollowAhead + 7
	d.open(segment.FollowOptions{Since: begin.Add(time.Duration(n)*time.Hour + time.Minute)})
	var want string
	for i := n; i < n+3; i++ {
		want += string(rune('a' + i%26))
	}
	d.expect(want)
	d.expectErrors()
}

// The clock was set back by 20 minutes while a segment was written. The next segment began before Since, but the seek
// file shows that the first one has later lines.
func TestFollowSinceReadsASegmentInWhichTheClockWasSetBack(t *testing.T) {
	d := newFollowed(t, segment.Zstd)
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	mark := segment.Mark{}
	for i, minute := range []int{0, 11} {
		s := d.restart(mark)
		texts(t, s, string(rune('a'+i)))
		mark = sync(t, s)
		mark.Sealed = true
		seg, _ := segment.ParseName(mark.Segment)
		mark.Segment = segment.FileName(begin.Add(time.Duration(minute)*time.Minute), seg.Seq, segment.Zstd)
		must(t, os.Rename(filepath.Join(d.dir(), seg.Name), filepath.Join(d.dir(), mark.Segment)))
	}
	entry := seek.Entry{Seq: 1, Start: begin.UnixMilli(), Offset: 1, Time: begin.Add(30 * time.Minute).UnixMilli()}
	must(t, os.WriteFile(filepath.Join(d.dir(), seek.Name), entry.Append(nil), 0o600))
	d.open(segment.FollowOptions{Since: begin.Add(20 * time.Minute), Seek: seek.Read(d.dir(), seek.MaxBytes)})
	d.expect("ab")
	d.expectErrors()
}

// Under pressure, a marker and the lines after a drop can replace the lines that a restart cut.
func TestLinesThatReplaceWhatARestartCut(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(segment.Mark{})
		long := strings.Repeat("a committed line\n", 40)
		texts(t, s, long)
		mark := sync(t, s)
		d.expect(long)
		texts(t, s, "one\n", "two\n", "three, which is longer than all\n")
		d.expect("one\ntwo\nthree, which is longer than all\n")
		s = d.restart(mark)
		texts(t, s, "a marker\n", "four\n", "five\n", "six\n", "seven, longer again than all of that\n")
		d.expect("a marker\nfour\nfive\nsix\nseven, longer again than all of that\n")
		sync(t, s)
		d.expectErrors()
	})
}
