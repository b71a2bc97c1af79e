package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// Retention deletes the segments of streams that ended before those of the stream that is still being written.
func TestStreamsThatAreOverGoBeforeTheLivingOne(t *testing.T) {
	for name, age := range map[string]time.Duration{"bytes": 0, "age": time.Hour} {
		t.Run(name, func(t *testing.T) {
			dest := memory(t)
			cfg := retaining(40*settings.Ki, age)
			if age > 0 {
				cfg.RetainBytes = 0
			}
			s := openStore(t, dest, cfg)
			for i := range 20 {
				str := freshStream(t, s, fmt.Sprintf("over-%02d", i))
				if i%2 == 0 {
					sealOne(t, str)
				} else { // even one that is not sealed
					appendAll(t, str, lines(1, 100))
					sync(t, str)
				}
			}
			time.Sleep(2 * time.Millisecond)
			living := freshStream(t, s, "living")
			first := sealOne(t, living)
			now := time.Now()
			if age > 0 {
				now = now.Add(age)
				living.seg.ModTime = now
			}
			must(t, s.Maintain(now))
			if got := namesOf(t, dest, "living"); !slices.Equal(got, []string{first.Segment}) {
				t.Errorf("the living stream has the segments %v, want %s", got, first.Segment)
			}
			over, err := filepath.Glob(filepath.Join(dest, "over-*"))
			must(t, err)
			if want := map[string]int{"bytes": 4, "age": 0}[name]; len(over) != want {
				t.Errorf("the directories %v are left, want %d", over, want)
			}
			used := s.used()
			must(t, s.scan())
			if s.used() != used {
				t.Errorf("the store counts %+v, but the disk has %+v", used, s.used())
			}
		})
	}
}

// A released stream resumes after its segment, whether or not the segment was deleted,
// and the segment's number is never used again.
func TestReleasedStreamResumes(t *testing.T) {
	for name, killed := range map[string]bool{"deleted": false, "killed before it was deleted": true} {
		t.Run(name, func(t *testing.T) {
			dest := t.TempDir()
			s := openStore(t, dest, retaining(0, time.Hour))
			str := freshStream(t, s, "gc")
			before := sealOne(t, str)
			var saved segment.Mark
			err := s.Store.Maintain(time.Now().Add(time.Hour), func(released []*Stream) error {
				saved = released[0].Mark()
				if killed {
					return errors.New("killed")
				}
				return nil
			})
			if (err != nil) != killed || saved != gone(before) {
				t.Fatalf("the saved mark is %+v, error %v; want %+v and an error: %v", saved, err, gone(before), killed)
			}
			if got := namesOf(t, dest, "gc"); (len(got) > 0) != killed {
				t.Errorf("the stream has the segments %v, want some: %v", got, killed)
			}
			must(t, s.Close())
			for range 2 { // uncommitted bytes are cut off
				s = openStore(t, dest, retaining(0, time.Hour))
				str = s.Stream("gc")
				must(t, str.Resume(saved, 1<<20))
				appendAll(t, str, lines(2, 100))
				if killed {
					wantContents(t, dest, "gc", join(append(lines(1, 4096)[:4095], '\n'), lines(2, 100)))
				} else {
					wantContents(t, dest, "gc", lines(2, 100))
				}
				if str.seg.Seq < 2 {
					t.Errorf("the stream continues with %s, want Seq at least 2", str.seg.Name)
				}
				must(t, s.Close())
			}
		})
	}
}

// Retention deletes a newest segment only after the checkpoint has its mark as Gone,
// however often Maintain is called.
func TestReleaseThatCannotBeSavedIsSavedAgain(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(0, time.Hour))
	str := freshStream(t, s, "gc")
	before := sealOne(t, str)
	must(t, s.Maintain(time.Now()))
	later := time.Now().Add(time.Hour)
	for range 3 {
		saves := 0
		err := s.Store.Maintain(later, func([]*Stream) error { saves++; return errors.New("interrupted") })
		if err == nil || saves != 1 {
			t.Errorf("the checkpoint was saved %d times, error %v; want 1 time and an error", saves, err)
		}
		if got := namesOf(t, dest, "gc"); !slices.Equal(got, []string{before.Segment}) {
			t.Fatalf("the stream has the segments %v, want %s", got, before.Segment)
		}
		used := s.used()
		must(t, s.scan())
		if s.used() != used {
			t.Errorf("the store counts %+v, but the disk has %+v", used, s.used())
		}
	}
	appendAll(t, str, lines(2, 4096)) // the stream is still usable
	if m := sync(t, str); m.Seq() != before.Seq()+1 {
		t.Errorf("the stream continues with %+v after %+v, want segment %d", m, before, before.Seq()+1)
	}
	must(t, s.Maintain(time.Now()))
	must(t, s.Maintain(later.Add(time.Hour)))
	if got := namesOf(t, dest, "gc"); len(got) != 0 {
		t.Errorf("the stream has the segments %v, want none", got)
	}
}

// Without a scan, the ledger agrees with the disk, whatever streams do.
func TestLedgerAgreesWithTheDisk(t *testing.T) {
	dest := memory(t)
	s := openStore(t, dest, retaining(200*settings.Ki, 0))
	must(t, s.Maintain(time.Now()))
	for i := range 300 {
		name := fmt.Sprintf("s-%d", i*7%60)
		str := s.Stream(name)
		_, _, err := str.Recover()
		must(t, err)
		for range i % 4 {
			appendAll(t, str, lines(int64(i), 3000))
			sync(t, str)
		}
		if i%5 == 0 { // killed and resumed
			m := str.Mark()
			appendAll(t, str, lines(int64(i), 100))
			str.Abandon()
			must(t, str.Resume(m, 1<<20))
			must(t, s.Maintain(time.Now()))
		}
		must(t, str.Close())
		if fresh := s.ledger.fresh; !fresh {
			t.Fatal("the next Maintain has to scan, want a fresh ledger")
		}
		must(t, s.Maintain(time.Now()))
		if i%20 != 0 {
			continue
		}
		known, window := s.used(), slices.Clone(s.ledger.oldest)
		must(t, s.scan())
		if known != s.used() || len(window) != len(s.ledger.oldest) {
			t.Fatalf("after step %d, the store counts %+v and %d segments, but the disk has %+v and %d", i, known, len(window), s.used(), len(s.ledger.oldest))
		}
		if used := s.used(); used.bytes > 200<<10 {
			t.Fatalf("the destination takes %+v, want bytes at most 200 KiB", used)
		}
	}
}

// Other programs' directories, empty or not, are not removed and do not stop retention.
func TestDirectoriesOfOthersAreLeftAlone(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(12*settings.Ki, 0))
	for _, dir := range []string{"empty", "mounted", "full", "lost+found"} {
		must(t, os.Mkdir(filepath.Join(dest, dir), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(dest, "full", "note.txt"), nil, 0o640))
	mounted := filepath.Join(dest, "mounted")
	if err := unix.Mount("none", mounted, "tmpfs", 0, ""); err != nil {
		t.Log("without a mount point: ", err)
	} else {
		t.Cleanup(func() { must(t, unix.Unmount(mounted, 0)) })
	}
	str := freshStream(t, s, "gc")
	for range 10 {
		sealOne(t, str)
		must(t, s.Maintain(time.Now()))
	}
	if got := namesOf(t, dest, "gc"); len(got) != 2 {
		t.Errorf("the segments %v are left, want two", got)
	}
	for _, dir := range []string{"empty", "mounted", "full/note.txt", "lost+found"} {
		if _, err := os.Stat(filepath.Join(dest, dir)); err != nil {
			t.Error(err)
		}
	}
}

// While the clock was ahead, it put later times into the names of older segments.
func TestRetentionAfterAClockThatWasAhead(t *testing.T) {
	const ahead = 30 * 24 * time.Hour
	for name, c := range map[string]struct {
		bytes settings.Size
		age   time.Duration
		after time.Duration
		over  bool // the stream has ended
		first uint64
	}{
		"by bytes":             {bytes: 25 * segment.PageBytes, first: 16},
		"below the age":        {age: time.Hour, after: 59 * time.Minute, first: 1},
		"above the age":        {age: time.Hour, after: 61 * time.Minute},
		"by bytes, ended":      {bytes: 2 * segment.PageBytes, over: true, first: 9},
		"above the age, ended": {age: time.Hour, after: 61 * time.Minute, over: true},
	} {
		t.Run(name, func(t *testing.T) {
			dest := memory(t)
			dir := filepath.Join(dest, "gc")
			must(t, os.Mkdir(dir, 0o750))
			for i := range 9 {
				at := time.Now().Add(ahead + time.Duration(10-i)*time.Minute) // the clock went back meanwhile
				path := filepath.Join(dir, segment.FileName(at, uint64(i+1), segment.None))
				must(t, os.WriteFile(path, lines(1, 4000)[:4000], 0o640))
				must(t, os.Chtimes(path, at, at))
			}
			s := openStore(t, dest, retaining(c.bytes, c.age))
			if !c.over {
				str := s.Stream("gc")
				_, _, err := str.Recover()
				must(t, err)
				for range 30 {
					sealOne(t, str)
					must(t, s.Maintain(time.Now()))
				}
			}
			must(t, s.Maintain(time.Now()))
			must(t, s.Maintain(time.Now().Add(c.after)))
			segs, err := segment.List(dir)
			if errors.Is(err, os.ErrNotExist) {
				segs, err = nil, nil
			}
			must(t, err)
			if c.first == 0 && len(segs) > 0 || c.first > 0 && (len(segs) == 0 || segs[0].Seq != c.first) {
				t.Errorf("%d segments are left, the first is %+v; want the first to be number %d (0 for no segments)",
					len(segs), segs[:min(1, len(segs))], c.first)
			}
			for i := range segs {
				if segs[i].Seq != segs[0].Seq+uint64(i) {
					t.Fatalf("a segment is missing before %s", segs[i].Name)
				}
			}
		})
	}
}

func TestStreamOfTheNameLostFoundIsRefused(t *testing.T) {
	if segment.ValidStream("lost+found") == nil {
		t.Error("the name is allowed, want an error: retention would ignore the stream")
	}
}
