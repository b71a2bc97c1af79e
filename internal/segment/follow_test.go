package segment

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// followed is a stream that a test writes, and what a Follower has read of it.
type followed struct {
	t       testing.TB
	dest    string
	cfg     Config
	store   *testStore
	f       *Follower
	opt     FollowOptions
	resumes bool // before each look, by its saved position
	got     bytes.Buffer
	want    string
	errs    []error // since they were looked at last
}

func newFollowed(t testing.TB, how Compression) *followed {
	d := &followed{t: t, dest: t.TempDir(), cfg: configOf(how)}
	d.store = openStore(t, d.dest, d.cfg)
	d.open(FollowOptions{})
	t.Cleanup(func() { must(t, d.f.Close()) })
	return d
}

func (d *followed) dir() string { return filepath.Join(d.dest, "gc.log") }

func (d *followed) open(opt FollowOptions) {
	d.t.Helper()
	d.opt = opt
	f, err := OpenFollower(d.dir(), opt)
	must(d.t, err)
	d.f = f
}

// resume goes on with another Follower.
func (d *followed) resume() {
	d.t.Helper()
	saved, err := json.Marshal(d.f.Position())
	must(d.t, err)
	must(d.t, d.f.Close())
	d.opt.From = Position{}
	must(d.t, json.Unmarshal(saved, &d.opt.From))
	d.open(d.opt)
}

// restart is what a new sidecar does: it cuts the stream back to the mark.
func (d *followed) restart(m Mark) *Stream {
	d.t.Helper()
	must(d.t, d.store.Close())
	d.store = openStore(d.t, d.dest, d.cfg)
	s := d.store.Stream("gc.log")
	must(d.t, s.Resume(m, Unbounded))
	return s
}

// look reads until there is no more for now.
func (d *followed) look() {
	d.t.Helper()
	if d.resumes {
		d.resume()
	}
	for steps := 0; ; steps++ {
		if steps > 1<<20 {
			d.t.Fatal("no end")
		}
		raw, err := d.f.Next()
		d.got.Write(raw)
		switch {
		case err == io.EOF:
			return
		case err == nil && len(raw) == 0:
			d.t.Fatal("nothing, without an error")
		case err != nil:
			d.errs = append(d.errs, err)
			var read *ReadError
			var torn *TornError
			if errors.As(err, &read) || errors.As(err, &torn) {
				return
			}
		}
	}
}

// expect looks for text, and for nothing else, behind what was expected before.
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

func texts(t testing.TB, s *Stream, frames ...string) {
	t.Helper()
	for _, raw := range frames {
		must(t, s.Append([]byte(raw)))
	}
}

func (d *followed) newest() string {
	d.t.Helper()
	segs, err := List(d.dir())
	must(d.t, err)
	if len(segs) == 0 {
		d.t.Fatal("no segments")
	}
	return segs[len(segs)-1].Path
}

// eachFollowed runs a test for every compression, with one Follower and with one
// that resumes from a saved position at each look.
func eachFollowed(t *testing.T, run func(t *testing.T, d *followed)) {
	eachCompression(t, func(t *testing.T, how Compression) {
		for name, resumes := range map[string]bool{"one": false, "resumed": true} {
			t.Run(name, func(t *testing.T) {
				d := newFollowed(t, how)
				d.resumes = resumes
				run(t, d)
			})
		}
	})
}

// A restart of the sidecar cuts what is not committed and writes it again, in
// other frames. Whoever follows must see each line once.
func TestFollowAcrossARestartHandsOutEachByteOnce(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		d.expect("1\n")
		texts(t, s, "2\n", "3\n")
		d.expect("2\n3\n")
		// Cut, and seen so.
		s = d.restart(mark)
		d.expect("")
		texts(t, s, "2\n3\n4\n")
		d.expect("4\n")
		// Cut, and longer than before when that is seen: only what stands there
		// can tell.
		s = d.restart(mark)
		long := "7\n" + strings.Repeat("long ", 100) + "\n"
		texts(t, s, "2\n3\n", "4\n5\n", "6\n", long)
		d.expect("5\n6\n" + long)
		// Everything, as if there had been no commit.
		s = d.restart(Mark{})
		d.expectErrors()
		texts(t, s, "1\n2\n", "3\n4\n5\n6\n"+long+"8\n")
		d.expect("8\n")
	})
}

func TestFollowIntoNewSegmentsThatARestartDeletes(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		d.expect("1\n")
		mark.Sealed = true
		for _, step := range []string{"2\n", "3\n", "4\n"} {
			s = d.restart(mark)
			texts(t, s, step)
			d.expect(step)
			s = d.restart(mark) // deleted, with all that is in it
			texts(t, s, step+"and ", "more\n")
			d.expect("and more\n")
			mark = sync(t, s)
			mark.Sealed = true
		}
		// The segment before grows again instead.
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

// The segment before was cut as well, and is sealed now: what was cut from it
// comes again in a new segment, before what was in the deleted one.
func TestFollowWhereARestartCutsASegmentAndSealsIt(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(Mark{})
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

func TestFollowPastRetention(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		d.expect("1\n")
		old := d.newest()
		mark.Sealed = true
		s = d.restart(mark)
		texts(t, s, "2\n")
		must(t, os.Remove(old))
		d.expect("2\n")
		if !d.resumes { // which cannot know that it had read all
			d.expectErrors()
		}
		// The stream ends and is deleted as a whole, and later comes back under the
		// same numbers, with the same beginning.
		must(t, os.RemoveAll(d.dir()))
		texts(t, d.restart(Mark{}), "1\n")
		d.expect("1\n")
	})
}

// Many logs begin with the same lines. A segment that retention deleted does not
// come again, so nothing of the next one is passed over.
func TestFollowPastRetentionIntoASegmentWithTheSameBeginning(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		head := strings.Repeat("[0.001s][info][gc] Using G1\n", 20)
		s := d.restart(Mark{})
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
		segs, err := List(d.dir())
		must(t, err)
		for _, seg := range segs[:2] {
			must(t, os.Remove(seg.Path))
		}
		d.expect(head + "two\n")
	})
}

// A follower that was away for long must know what it missed.
func TestFollowCountsWhatRetentionDeletedUnread(t *testing.T) {
	eachCompression(t, func(t *testing.T, how Compression) {
		d := newFollowed(t, how)
		var s *Stream
		mark := Mark{}
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
		d.opt.From = d.f.Position()
		var gone []string
		for _, text := range []string{"2\n", "3\n", "4\n"} {
			gone = append(gone, add(text))
		}
		add("5\n")
		for _, path := range append(gone[:2], first) {
			must(t, os.Remove(path))
		}
		d.open(d.opt)
		d.expect("4\n5\n")
		d.expectErrors(&GoneError{Path: first, Offset: size, Numbers: 2})
	})
}

// The segments of one look, of which one is deleted before its turn.
func TestFollowToldOfASegmentThatIsDeletedBeforeItsTurn(t *testing.T) {
	d := newFollowed(t, None)
	mark := Mark{}
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
	d.expectErrors(&GoneError{Path: paths[1], Size: 2})
}

// A segment to which nothing was added for long is closed: a destination may hold
// many streams that ended.
func TestFollowClosesWhatIsIdle(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		idle := func() {
			t.Helper()
			must(t, os.Chtimes(d.newest(), time.Time{}, time.Now().Add(-2*followIdle)))
			d.expect("")
			if d.f.reader != nil {
				t.Fatal("still open")
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

// A frame that is being written is not damage, unless nobody is writing.
func TestFollowWaitsForTheEndOfAFrame(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		if d.cfg.Compress == None {
			t.Skip("it has no frames")
		}
		s := d.restart(Mark{})
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
		once, err := OpenFollower(d.dir(), FollowOptions{Once: true})
		must(t, err)
		defer once.Close()
		raw, err := once.Next()
		if string(raw) != "1\n" {
			t.Fatalf("%q, %v", raw, err)
		}
		for range 2 {
			var torn *TornError
			if _, err := once.Next(); !errors.As(err, &torn) || torn.Offset != mark.Offset {
				t.Fatalf("%v, want an incomplete frame at %d", err, mark.Offset)
			}
		}
	})
}

func TestFollowGoesOnBehindDamage(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		if d.cfg.Compress == None {
			t.Skip("it has no frames")
		}
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		from := sync(t, s).Offset
		texts(t, s, "2\n")
		to := sync(t, s).Offset
		texts(t, s, "3\n")
		mark := sync(t, s)
		edit(t, d.newest(), func(b []byte) []byte { b[to-1] ^= 1; return b })
		d.expect("1\n3\n")
		var bad *DamageError
		if len(d.errs) != 1 || !errors.As(d.errs[0], &bad) || bad.From != from || bad.To != to || bad.Path != d.newest() {
			t.Fatalf("errors %v, want bytes %d-%d", d.errs, from, to-1)
		}
		d.errs = nil
		// What is read again is not told again.
		texts(t, s, "4\n")
		d.expect("4\n")
		texts(t, d.restart(mark), "4\n5\n")
		d.expect("5\n")
		d.expectErrors()
	})
}

// An error of reading loses nothing, unless the user gives the segment up.
func TestFollowTriesAgainWhatCannotBeOpened(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		d.look()
		if len(d.errs) != 1 || !errors.Is(d.errs[0], fs.ErrNotExist) {
			t.Fatalf("errors %v, want one of a missing directory", d.errs)
		}
		d.errs = nil
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		mark.Sealed = true
		bad := d.newest()
		texts(t, d.restart(mark), "2\n")
		must(t, os.Rename(bad, bad+".away"))
		files := FollowFiles([]Info{{Path: bad, Name: filepath.Base(bad)}, {Path: d.newest(), Name: filepath.Base(d.newest())}}, false, FollowOptions{})
		defer files.Close()
		if _, err := files.Next(); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v, want one of a missing file", err)
		}
		files.Skip()
		if raw, err := files.Next(); string(raw) != "2\n" {
			t.Fatalf("%q, %v behind what was given up", raw, err)
		}
		must(t, os.Rename(bad+".away", bad))
		d.expect("1\n2\n")
		d.expectErrors()
	})
}

// A volume may be away for a while, and come back.
func TestFollowOfAStreamThatWasAway(t *testing.T) {
	eachFollowed(t, func(t *testing.T, d *followed) {
		s := d.restart(Mark{})
		texts(t, s, "1\n")
		mark := sync(t, s)
		mark.Sealed = true
		s = d.restart(mark)
		texts(t, s, "2\n")
		d.expect("1\n2\n")
		must(t, os.Rename(d.dir(), d.dir()+".away"))
		d.look()
		d.look()
		if d.f.reader != nil {
			t.Fatal("still open: the file system gets no space back")
		}
		must(t, os.Rename(d.dir()+".away", d.dir()))
		texts(t, s, "3\n")
		d.expect("3\n")
	})
}

func TestFollowSincePassesOverWhatWasCompleteBefore(t *testing.T) {
	d := newFollowed(t, Zstd)
	mark := Mark{}
	begin := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 2*followAhead + 10 {
		s := d.restart(mark)
		texts(t, s, string(rune('a'+i%26)))
		mark = sync(t, s)
		mark.Sealed = true
		seg, _ := ParseName(mark.Segment)
		mark.Segment = segmentName(begin.Add(time.Duration(i)*time.Hour), seg.Seq, Zstd)
		must(t, os.Rename(filepath.Join(d.dir(), seg.Name), filepath.Join(d.dir(), mark.Segment)))
	}
	n := 2*followAhead + 7
	d.open(FollowOptions{Since: begin.Add(time.Duration(n)*time.Hour + time.Minute)})
	var want string
	for i := n; i < n+3; i++ {
		want += string(rune('a' + i%26))
	}
	d.expect(want)
	d.expectErrors()
}

func TestPositionThatCannotBeIsRefused(t *testing.T) {
	name := "20261120T100000.000Z-000002.log"
	for what, p := range map[string]Position{
		"not a segment":          {Place: Place{Segment: "../../etc/passwd"}},
		"negative offset":        {Place: Place{Segment: name, Offset: -1}},
		"negative raw bytes":     {Place: Place{Segment: name, Raw: -1}},
		"check before the start": {Place: Place{Segment: name, Check: []byte("x")}},
		"head too long":          {Place: Place{Segment: name, Head: make([]byte, headBytes+1)}},
		"repeat out of range":    {Place: Place{Segment: name}, Cut: Repeat{Raw: 1 << 62}},
		"before is behind":       {Place: Place{Segment: name}, Before: Place{Segment: "20261120T100000.000Z-000003.log"}},
	} {
		if _, err := OpenFollower(t.TempDir(), FollowOptions{From: p}); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestRepeatedBytesAreStrippedOnlyIfTheyRepeat(t *testing.T) {
	past := func(text string) Repeat {
		return Repeat{Raw: int64(len(text)), Head: []byte(text[:min(len(text), 3)])}
	}
	for name, c := range map[string]struct {
		cut, deleted Repeat
		raw          []string
		want         string
	}{
		"cut back":                  {past("abcdef"), Repeat{}, []string{"ab", "cd", "ef", "gh"}, "gh"},
		"into a new segment":        {Repeat{}, past("abcdef"), []string{"abcde", "fgh"}, "gh"},
		"both":                      {past("abcdef"), past("ghi"), []string{"abcdefghijk"}, "jk"},
		"retention":                 {Repeat{}, past("abcdef"), []string{"xyz", "abcdef"}, "xyzabcdef"},
		"another file of that name": {past("abcdef"), Repeat{}, []string{"xyz"}, "xyz"},
		"cut, then retention":       {past("abc"), past("def"), []string{"abcx", "def"}, "xdef"},
	} {
		r := repeat{cut: c.cut, deleted: c.deleted}
		got := ""
		for _, raw := range c.raw {
			got += string(r.strip([]byte(raw)))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
