package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment"
)

// retaining is a configuration in which every commit of 4 KiB seals the segment.
func retaining(bytes settings.Size, age time.Duration) Config {
	return Config{Compress: segment.None, SegmentBytes: 4 * settings.Ki, RetainBytes: bytes, RetainAge: age}
}

// sealOne appends and syncs one segment of exactly 4 KiB.
func sealOne(t *testing.T, str *Stream) segment.Mark {
	t.Helper()
	appendAll(t, str, append(lines(1, 4096)[:4095], '\n'))
	m := sync(t, str)
	if !m.Sealed {
		t.Fatalf("the segment is not sealed: %+v", m)
	}
	return m
}

func namesOf(t *testing.T, dest, stream string) []string {
	t.Helper()
	segs, err := segment.List(filepath.Join(dest, stream))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	var names []string
	for _, s := range segs {
		names = append(names, s.Name)
	}
	return names
}

func (s *testStore) wantGauges(t *testing.T, count int, bytes int64) {
	t.Helper()
	if c, b := testutil.ToFloat64(s.metrics.segments), testutil.ToFloat64(s.metrics.bytes); c != float64(count) || b != float64(bytes) {
		t.Errorf("the gauges are %v segments of %v bytes, want %d of %d", c, b, count, bytes)
	}
}

func TestRetentionByBytesDeletesTheOldestOfAllStreams(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(24*settings.Ki, 0)) // four segments, and two directories
	a, b := freshStream(t, s, "a"), freshStream(t, s, "b")
	var kept []string
	for i := range 10 {
		str := []*Stream{a, b}[i%2]
		time.Sleep(2 * time.Millisecond) // creation times order them across streams
		m := sealOne(t, str)
		must(t, s.Maintain(time.Now()))
		kept = append(kept, m.Segment)
	}
	got := append(namesOf(t, dest, "a"), namesOf(t, dest, "b")...)
	slices.Sort(got)
	want := slices.Sorted(slices.Values(kept[6:]))
	if !slices.Equal(got, want) {
		t.Errorf("the segments %v are left, want %v", got, want)
	}
	s.wantGauges(t, 4, 4*4096)
	if n := testutil.ToFloat64(s.metrics.deleted.WithLabelValues(reasonBytes)); n != 6 {
		t.Errorf("%v segments are counted as deleted, want 6", n)
	}
	must(t, s.scan())
	must(t, s.Maintain(time.Now()))
	s.wantGauges(t, 4, 4*4096) // its ledger matches the disk
}

func TestSegmentThatWasWrittenLastStays(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(1, 0))
	open, ended := freshStream(t, s, "open"), freshStream(t, s, "ended")
	sealOne(t, ended)
	must(t, ended.Close())
	m := sealOne(t, open)
	must(t, s.Maintain(time.Now().Add(time.Hour)))
	if got := namesOf(t, dest, "open"); !slices.Equal(got, []string{m.Segment}) {
		t.Errorf("the open stream has the segments %v, want %s", got, m.Segment)
	}
	if _, err := os.Stat(filepath.Join(dest, "ended")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the ended stream is still there: %v", err)
	}
	must(t, open.Resume(m, 0))
	s.wantGauges(t, 1, 4096)
	// The segment is also kept while the next segment is being written and no mark names the next one yet.
	appendAll(t, open, lines(1, 100))
	must(t, s.Maintain(time.Now().Add(time.Hour)))
	open.Abandon()
	must(t, s.Maintain(time.Now().Add(time.Hour)))
	must(t, open.Resume(m, 1<<20))
}

func TestStreamThatIsNotResumedYetIsLeftAlone(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(0, 0))
	str := freshStream(t, s, "gc")
	sealOne(t, str)
	m := sealOne(t, str)
	must(t, s.Close())
	s = openStore(t, dest, retaining(1, 0))
	str = s.Stream("gc")
	must(t, s.Maintain(time.Now()))
	s.wantGauges(t, 2, 2*4096)
	must(t, str.Resume(m, 0))
	must(t, s.Maintain(time.Now()))
	s.wantGauges(t, 1, 4096)
}

func TestRetentionByAgeGoesByTheLastWrite(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(0, time.Hour))
	str := freshStream(t, s, "gc")
	for range 3 {
		sealOne(t, str)
	}
	must(t, s.Maintain(time.Now().Add(59*time.Minute)))
	s.wantGauges(t, 3, 3*4096)
	must(t, s.Maintain(time.Now().Add(61*time.Minute)))
	if got := namesOf(t, dest, "gc"); len(got) > 0 {
		t.Errorf("the segments %v are left, want none", got)
	}
	if n := testutil.ToFloat64(s.metrics.deleted.WithLabelValues(reasonAge)); n != 3 {
		t.Errorf("%v segments are counted as deleted, want 3", n)
	}
	appendAll(t, str, lines(1, 100))
	if m := sync(t, str); m.Seq() != 4 {
		t.Errorf("the stream continues with number %d, want 4", m.Seq())
	}
}

func TestRetentionOfStreamsOfEarlierProcesses(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(0, time.Hour))
	old := freshStream(t, s, "gc-1")
	m := sealOne(t, old)
	must(t, os.Mkdir(filepath.Join(dest, "lost+found"), 0o750))
	past := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(filepath.Join(dest, "gc-1", m.Segment), past, past))
	must(t, s.Close())
	s = openStore(t, dest, retaining(0, time.Hour))
	must(t, s.Maintain(time.Now()))
	for name, want := range map[string]bool{"gc-1": false, "lost+found": true} {
		if _, err := os.Stat(filepath.Join(dest, name)); (err == nil) != want {
			t.Errorf("%s: Stat returned the error %v, want the directory to be there: %v", name, err, want)
		}
	}
	s.wantGauges(t, 0, 0)
}

func TestRetentionOfMoreSegmentsThanItRemembers(t *testing.T) {
	dest := memory(t)
	const count = 2*windowSegments + 500
	dir := filepath.Join(dest, "gc")
	must(t, os.Mkdir(dir, 0o750))
	start := time.Now().Add(-time.Hour)
	for i := range count {
		name := segment.FileName(start.Add(time.Duration(i)*time.Millisecond), uint64(i+1), segment.None)
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o640))
	}
	s := openStore(t, dest, retaining(11*segment.PageBytes, 0)) // one of them for the directory
	for range count/maxDeletes + 3 {
		must(t, s.Maintain(time.Now()))
		if n := len(s.ledger.oldest); n > 2*windowSegments {
			t.Fatalf("the store remembers %d segments, want at most %d", n, 2*windowSegments)
		}
	}
	s.wantGauges(t, 10, 20)
	names := namesOf(t, dest, "gc")
	if len(names) != 10 {
		t.Fatalf("the segments %v are left, want 10", names)
	}
	if first, _ := segment.ParseName(names[0]); first.Seq != count-9 {
		t.Errorf("the first segment that is left is %s, want number %d", names[0], count-9)
	}
}

func TestSegmentThatCannotBeDeletedKeepsNoOther(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(8*settings.Ki, 0))
	str := freshStream(t, s, "gc")
	var marks []segment.Mark
	for range 4 {
		marks = append(marks, sealOne(t, str))
		time.Sleep(2 * time.Millisecond)
	}
	must(t, s.scan())
	// A directory replaces the segment, because permissions alone do not stop root.
	path := filepath.Join(dest, "gc", marks[0].Segment)
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o750))
	if err := s.Maintain(time.Now()); err == nil {
		t.Fatal("Maintain did not report that a segment cannot be deleted")
	}
	must(t, s.Maintain(time.Now()))
	if got := namesOf(t, dest, "gc"); len(got) != 1 {
		t.Errorf("the segments %v are left, want 1", got)
	}
	must(t, s.Maintain(time.Now().Add(2*rescanAfter)))
	s.wantGauges(t, 1, 4096)
}

func TestMaintainWithNothingToDoIsCheap(t *testing.T) {
	dest := t.TempDir()
	s := openStore(t, dest, retaining(0, time.Hour))
	for i := range 50 {
		str := freshStream(t, s, fmt.Sprintf("gc-%d", i))
		sealOne(t, str)
	}
	now := time.Now()
	must(t, s.Maintain(now))
	// Opening a descriptor would take at least one allocation.
	if n := testing.AllocsPerRun(100, func() { must(t, s.Maintain(now)) }); n > 2 {
		t.Errorf("Maintain made %v allocations, want at most 2", n)
	}
}

// The system clock is set forward by years while there is no sidecar. Segments written
// shortly before are kept, and overdue ones are deleted.
func TestClockFarAheadDeletesNothingThatWasNotDue(t *testing.T) {
	for _, ahead := range []time.Duration{0, 10 * 365 * 24 * time.Hour} {
		dest := t.TempDir()
		s := openStore(t, dest, retaining(0, time.Hour))
		must(t, s.Acquire(t.Context()))
		young, old := sealOne(t, freshStream(t, s, "young")), sealOne(t, freshStream(t, s, "old"))
		s.SetNumber(1)
		must(t, s.Close())
		last := time.Now().Add(-ahead)
		for path, at := range map[string]time.Time{
			numberFile(dest): last,
			filepath.Join(dest, "young", young.Segment): last.Add(-30 * time.Minute),
			filepath.Join(dest, "old", old.Segment):     last.Add(-2 * time.Hour),
		} {
			must(t, os.Chtimes(path, at, at))
		}
		s = openStore(t, dest, retaining(0, time.Hour))
		must(t, s.Acquire(t.Context()))
		for range 2 {
			must(t, s.Maintain(time.Now()))
			if young, old := namesOf(t, dest, "young"), namesOf(t, dest, "old"); len(young) != 1 || len(old) != 0 {
				t.Errorf("with a clock ahead by %s, the young segments are %v and the old ones %v, want 1 young segment and no old one", ahead, young, old)
			}
			s.ledger.forget() // the second scan must find the same
		}
		must(t, s.Maintain(time.Now().Add(31*time.Minute)))
		if left := namesOf(t, dest, "young"); len(left) > 0 {
			t.Errorf("with a clock ahead by %s, %v are left after half an hour, want none", ahead, left)
		}
	}
}

// A step of the system clock changes no age while the process runs, not even after a scan.
func TestStepOfTheClockChangesNoAge(t *testing.T) {
	began := time.Now()
	l := newLedger(began, time.Time{})
	wrote := began.Add(-time.Minute).Round(0)     // as from a file system
	after := func(step time.Duration) time.Time { // the system clock ten minutes later, with a step
		return began.Add(10 * time.Minute).Round(0).Add(step)
	}
	for step, want := range map[time.Duration]time.Duration{0: 11 * time.Minute, time.Hour: 11 * time.Minute, -time.Hour: 0} {
		// The arguments are the time by the system clock and the time since Open by the monotonic clock.
		if got := l.age(wrote, after(step), 10*time.Minute); got != want {
			t.Errorf("after a step of %s, the age is %s, want %s", step, got, want)
		}
	}
}
