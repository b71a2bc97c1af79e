package ship

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/ship/tail"
)

func TestMarksHaveHysteresis(t *testing.T) {
	p := marks{spoolAt: 0.25, discardAt: 0.6, dropAt: 0.85}
	for i, step := range []struct {
		used                    float64
		spools, discards, drops bool
	}{
		{0.24, false, false, false},
		{0.26, true, false, false},
		{0.22, true, false, false}, // still within the slack below the mark
		{0.20, false, false, false},
		{0.61, true, true, false},
		{0.57, true, true, false},
		{0.55, true, false, false},
		{0.86, true, true, true},
		{0.82, true, true, true},
		{0.80, true, true, false},
		{1.00, true, true, true},
		{0.10, false, false, false},
	} {
		p.take(step.used)
		if p.spooling != step.spools || p.discarding != step.discards || p.dropping != step.drops {
			t.Fatalf("step %d, %v in use: %+v, want %+v", i, step.used, p, step)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		flag   settings.Size
		source tail.Usage
		want   int64
		bad    bool
	}{
		{"the tmpfs has a size", 0, tail.Usage{Tmpfs: true, Total: 64 << 20}, 64 << 20, false},
		{"less than the tmpfs", 16 * settings.Mi, tail.Usage{Tmpfs: true, Total: 64 << 20}, 16 << 20, false},
		{"more than the tmpfs", 65 * settings.Mi, tail.Usage{Tmpfs: true, Total: 64 << 20}, 64 << 20, true},
		{"the tmpfs has no size", 0, tail.Usage{Tmpfs: true}, defaultBudget, false},
		{"the tmpfs has no size, and there is a budget", 32 * settings.Mi, tail.Usage{Tmpfs: true}, 32 << 20, false},
		{"the tmpfs may have all of the memory", 0, tail.Usage{Tmpfs: true, Total: 1 << 50}, defaultBudget, false},
		{"a disk", 0, tail.Usage{Total: 1 << 40}, 1 << 40, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.cfg.Budget = c.flag
			s, _ := b.begun(true)
			budget := s.reader.budget
			if got := budget.of(c.source); got != c.want {
				t.Errorf("the budget is %d, want %d", got, c.want)
			}
			if err := budget.check(c.source); (err != nil) != c.bad {
				t.Errorf("the budget gives the error %v, want an error: %v", err, c.bad)
			}
		})
	}
}

func TestKeepLevelIsALevelOrOff(t *testing.T) {
	k := KeepLevel(ul.Warning)
	for text, want := range map[string]string{"off": "off", "error": "error", "trace": "trace", "": "", "unknown": "", "Warning": "warning"} {
		err := k.Set(text)
		if (err == nil) != (want != "") || err == nil && k.String() != want {
			t.Errorf("%q gives %q, error %v; want %q, where an empty text stands for an error", text, k.String(), err, want)
		}
	}
}

// One stream writes more than the budget, and the other writes little. The small stream
// keeps its lines even above the last mark.
func TestDroppingSparesTheStreamBelowItsShare(t *testing.T) {
	b := newBench(t)
	b.small()
	b.write(b.log("noise.log"), debugLines(0, 40000))
	b.write(b.log("gc.log"), debugLines(0, 2000))
	handed := map[string]int{}
	b.to.Followers.OnGap = func(stream string, gap ul.Gap) { handed[stream] += int(gap.Total()) }
	s, from := b.begun(true)
	s.begins(t, from)
	s.reader.press.marks.dropping = true
	for {
		m := s.reader.budget.measure()
		allowed := int64(s.reader.press.marks.low() * float64(m.budget))
		if s.src.Relief.Drop(ul.DropAll, tail.Relief{Want: 1 << 20, Least: 1, Allowed: allowed}) == 0 {
			break
		}
	}
	if m := s.reader.budget.measure(); m.used > s.reader.press.marks.low()+0.3 {
		t.Errorf("%.2f of the budget is in use, want at most %.2f", m.used, s.reader.press.marks.low()+0.3)
	}
	for s.reader.round(); s.reader.read > 0; s.reader.round() {
		s.appends(t)
	}
	s.commits(t)
	marked, _ := sumOf(b.persisted("noise.log"))
	spared, kept := sumOf(b.persisted("gc.log"))
	if marked == 0 || spared > 0 || kept != 2000 {
		t.Errorf("%d lines of the noisy stream were dropped; of the other stream, %d were dropped and %d persisted; want some, 0 and 2000", marked, spared, kept)
	}
	if handed["noise.log"] != marked || len(handed) != 1 {
		t.Errorf("the gaps that were passed on have %v lines, want %d, all of the noisy stream", handed, marked)
	}
}

// If the sidecar gets too little CPU time, reading is slower than the JVMs although the queue has room. Then lines below
// the keep level are dropped above the last mark, before the tmpfs is full. Below that mark, nothing is dropped, because
// reading may still catch up. Neither is anything while the source empties and has spare room, as after a start that finds
// it nearly full.
func TestSlowReadingDropsLinesBeforeTheJVMsHaveNoRoom(t *testing.T) {
	for _, c := range []struct {
		name  string
		used  float64
		more  int64 // memory in use a moment ago, less what is in use now
		ago   time.Duration
		drops bool
	}{
		{"below the last mark", 0.7, 0, stallTime, false},
		{"above it", 0.86, 0, stallTime, true},
		{"above it, while the source grows", 0.86, -64 << 10, stallTime, true},
		{"above it, while the source empties", 0.86, 64 << 10, stallTime, false},
		{"above it, and the source emptied long ago", 0.86, 64 << 10, time.Minute, true},
		{"more than the budget", 1.1, -64 << 10, stallTime, true},
		{"more than the budget, while the source empties", 1.1, 64 << 10, stallTime, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, w, s := pressed(t, 64*settings.Mi)
			for text := debugLines(0, 1000); s.reader.budget.measure().used < c.used; {
				b.write(w, text)
			}
			press := s.reader.press
			press.relieve(false) // the first of two looks
			b.write(w, lines(0, 1))
			now := time.Now()
			press.rate.looked, press.rate.began = now.Add(-rateTime), now.Add(-time.Hour)
			press.rate.last = sample{at: now} // so that the second look leaves the sample before it
			press.rate.before = sample{at: now.Add(-c.ago), own: s.reader.budget.measure().own + c.more}
			s.link.progress.Store(now.UnixNano())
			press.relieve(false)
			if m := s.reader.budget.measure(); m.used < c.used != c.drops {
				t.Errorf("%.2f of the budget is in use, %.2f before; want lines dropped: %t", m.used, c.used, c.drops)
			}
		})
	}
}

// A source that empties needs spare room, too, because a JVM may suddenly write much.
func TestASourceEmptiesOnlyWithSpareRoom(t *testing.T) {
	now := time.Now()
	r := rate{began: now.Add(-time.Hour), before: sample{at: now.Add(-stallTime), own: 2 << 20}}
	for free, want := range map[int64]bool{spareRoom: false, spareRoom + 1: true} {
		if got := r.empties(usage{own: 1 << 20, free: free}, now); got != want {
			t.Errorf("with %d bytes free, the source empties: %t, want %t", free, got, want)
		}
	}
}

// However full the source is, relief ends below the last mark.
func TestReliefEndsBelowTheLastMark(t *testing.T) {
	b, w, s := pressed(t, settings.Mi)
	press := s.reader.press
	press.relieve(false) // the first of two looks
	b.write(w, debugLines(0, 40000))
	before := s.reader.budget.measure().used
	for range 100 {
		b.write(w, lines(0, 1))
		press.rate.looked = time.Now().Add(-rateTime)
		press.relieve(false)
	}
	if m := s.reader.budget.measure(); m.used > press.marks.dropAt {
		t.Errorf("%.2f of the budget is in use, %.2f before lines were dropped; want at most %.2f", m.used, before, press.marks.dropAt)
	}
}

// While no JVM writes, reading makes room, however little there is. The sidecar's own marks, such as that of a
// drain, are not a JVM's writes.
func TestAMarkOfTheSidecarDropsNoLines(t *testing.T) {
	b := newBench(t)
	b.small()
	b.write(b.log("gc.log"), debugLines(0, 40000))
	marks := b.log(mark.Stream)
	s, from := b.begun(true)
	s.begins(t, from)
	press := s.reader.press
	before := s.reader.budget.measure()
	press.relieve(false) // the first of two looks
	for range 10 {
		press.rate.looked = time.Now().Add(-rateTime)
		press.relieve(false)
		b.write(marks, "[2026-11-29T08:00:00.000+0000][info][ullage] draining\n")
	}
	if m := s.reader.budget.measure(); before.used < press.marks.dropAt || m.used < before.used || press.marks.on() {
		t.Errorf("%.2f of the budget is in use, %.2f before the marks, lines were moved or dropped: %t; want at least %.2f before, no less after, and false", m.used, before.used, press.marks.on(), press.marks.dropAt)
	}
}

// Lines to keep are compressed before any of them is dropped, also above the last mark, unless the JVMs would soon have
// no room. In a flood of events, most lines are lines to keep, because a full ring refuses events below the keep level.
func TestLinesToKeepAreCompressedBeforeTheyAreDropped(t *testing.T) {
	for _, c := range []struct {
		name  string
		used  float64
		drops bool
	}{
		{"above the last mark", 0.87, false},
		{"hardly any room", 0.97, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, w, s := pressed(t, settings.Mi)
			n := 0
			for ; s.reader.budget.measure().used < c.used; n += 10 {
				b.write(w, strings.ReplaceAll(debugLines(n, n+10), "[debug]", "[warning]"))
			}
			press := s.reader.press
			m := s.reader.budget.measure()
			for press.marks.take(m.used); press.marks.dropping; press.marks.take(m.used) {
				if press.relieveOnce(m) == 0 {
					t.Fatalf("nothing is freed with %.2f of the budget in use, want at most %.2f", m.used, press.marks.low())
				}
				m = s.reader.budget.measure()
			}
			for s.reader.round(); s.reader.read > 0; s.reader.round() {
				s.appends(t)
			}
			s.commits(t)
			if marked, kept := sumOf(b.persisted("gc.log")); marked+kept != n || marked > 0 != c.drops {
				t.Errorf("%d lines were dropped and %d persisted, want %d in all, some dropped: %t", marked, kept, n, c.drops)
			}
		})
	}
}

// Pressure begins at a mark and ends a little below it. In between, lines to keep are not dropped even if nothing else
// frees memory.
func TestLinesToKeepAreNotDroppedBelowTheLastMark(t *testing.T) {
	b, w, s := pressed(t, 4*settings.Mi)
	line := make([]byte, 100)
	n := 0
	for ; s.reader.budget.measure().used < 0.84; n++ {
		for i := range line { // random letters hardly compress
			line[i] = byte('a' + rand.IntN(26))
		}
		b.write(w, fmt.Sprintf("[%d.%03ds][warning][gc] %s\n", n/1000, n%1000, line))
	}
	press := s.reader.press
	press.marks.dropping = true
	for range 100 {
		m := s.reader.budget.measure()
		if press.marks.take(m.used); press.relieveOnce(m) == 0 {
			break
		}
	}
	for s.reader.round(); s.reader.read > 0; s.reader.round() {
		s.appends(t)
	}
	s.commits(t)
	if marked, kept := sumOf(b.persisted("gc.log")); marked > 0 || kept != n {
		t.Errorf("%d lines were dropped and %d persisted, want 0 and %d", marked, kept, n)
	}
}

// The status shows that lines of all levels are dropped only if that has just happened. Above the last mark, dropping
// lines to keep may have been avoided.
func TestReasonIsThatOfTheLinesThatAreDroppedNow(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name    string
		marks   marks
		lastAll time.Time
		want    string
	}{
		{"no pressure", marks{}, now, ""},
		{"above the second mark", marks{discarding: true}, now, ul.Discard.String()},
		{"above the last mark, others are dropped", marks{discarding: true, dropping: true}, time.Time{}, ul.Discard.String()},
		{"above the last mark, all are dropped", marks{discarding: true, dropping: true}, now, ul.DropAll.String()},
		{"above the last mark, all were dropped before", marks{discarding: true, dropping: true}, now.Add(-time.Hour), ul.Discard.String()},
	} {
		if got := (&pressure{marks: c.marks, lastAll: c.lastAll}).reason(); got != c.want {
			t.Errorf("%s: the reason is %q, want %q", c.name, got, c.want)
		}
	}
}

// A budget smaller than the tmpfs is used up while most of the tmpfs is free. The status must
// show the used part of the budget, since that part decides when lines are dropped.
func TestTheUsedPartOfTheBudgetIsShownWhateverTheFileSystemHasFree(t *testing.T) {
	b := newBench(t)
	b.small()
	b.write(b.log("gc.log"), debugLines(0, 40000))
	s, from := b.begun(true)
	s.begins(t, from)
	m := s.reader.budget.measure()
	s.reader.budget.adapt(m.budget, m.spool)
	s.reader.view.update(s.src)
	st := statusOf(s)
	if st.BudgetUsedBytes < 4*st.BudgetBytes || st.BudgetUsedBytes != m.own || st.HeadroomBytes < st.BudgetBytes {
		t.Errorf("%d bytes of %d are shown as used, with %d free in the file system; want %d", st.BudgetUsedBytes, st.BudgetBytes, st.HeadroomBytes, m.own)
	}
}

// New files are seen even if the queue is full and measuring the pressure takes long.
func TestNewFilesAreSeenWhileTheQueueIsFull(t *testing.T) {
	for _, c := range []struct {
		name             string
		relief, rotation time.Duration // from now
		most             time.Duration
	}{
		{"relief goes on", 0, -time.Hour, 0},
		{"at rest", time.Hour, -time.Hour, pressurePace},
		{"relief is due soon", time.Millisecond, -time.Hour, time.Millisecond},
		{"at rest, files come and go", time.Hour, -time.Millisecond, hurryPace},
	} {
		now := time.Now()
		r := &reader{full: true, press: &pressure{at: now.Add(c.relief)}, load: load{rotated: now.Add(c.rotation)}}
		if pace := r.paceFull(); pace > c.most {
			t.Errorf("%s: the reader waits %s, want at most %s", c.name, pace, c.most)
		}
	}
}

// Lines that do not compress take as much memory in the spool as in the file. Moving all of
// them takes long, so it must not be done in one go.
func TestReaderIsNotHeldByLinesThatDoNotCompress(t *testing.T) {
	b := newBench(t)
	b.cfg.Budget = 600 * settings.Mi
	w := b.log("gc.log")
	line := make([]byte, 1<<20)
	for range 256 {
		for i := 0; i < len(line); i += 8 {
			binary.LittleEndian.PutUint64(line[i:], rand.Uint64()|0x8080808080808080)
		}
		for i := 100; i < len(line); i += 100 {
			line[i] = '\n'
		}
		b.write(w, string(line))
	}
	s, _ := b.begun(false)
	s.reader.press.relieveUntil(s.reader.budget.measure())
	if u := s.src.Relief.Usage(); u.Spooled == 0 || u.Spooled > u.Backlog/10*9 {
		t.Errorf("%d of %d bytes were moved in one go, want some, and at most nine tenths", u.Spooled, u.Backlog)
	}
}

// If the segments use the compression of the spool, moved lines are passed on to them in
// compressed form. In any case, the persisted lines are the written ones.
func TestMovedLinesArePersistedAsTheyWere(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		b := newBench(t)
		b.small()
		b.cfg.Segment.Compress = how
		want := debugLines(0, 20000) + lines(20000, 20010)
		b.write(b.log("gc.log"), want)
		s, from := b.begun(true)
		s.begins(t, from)
		s.reader.round() // fills the queue
		for s.reader.budget.measure(); s.src.Relief.Move(tail.Relief{Want: 1 << 30, Least: 1, Keep: ul.Warning}) > 0; {
		}
		frames := 0
		for s.appends(t); ; s.appends(t) {
			if s.reader.round(); s.link.queue.Bytes() == 0 {
				break
			}
			for _, c := range s.link.queue.Peek(nil, 1<<30) {
				if c.Meta.Frame > 0 {
					frames++
				}
			}
		}
		s.commits(t)
		if got := b.persisted("gc.log"); got != want {
			t.Errorf("%s: %d bytes were persisted, want %d", how, len(got), len(want))
		}
		if (frames > 0) != (how == segment.Zstd) {
			t.Errorf("%s: %d frames were handed on compressed, want some: %t", how, frames, how == segment.Zstd)
		}
	}
}

// Lines are dropped because the destination is full. The log must not blame the
// destination's speed.
func TestDroppingLinesIsLoggedWithTheFailureOfTheDestination(t *testing.T) {
	for want, failure := range map[string]error{
		`why="the destination fails: no space left on device"`: unix.ENOSPC,
		`why="the destination is slower than the JVMs"`:        nil,
	} {
		b := newBench(t)
		b.small()
		b.write(b.log("gc.log"), debugLines(0, 20000))
		s, _ := b.begun(false)
		var log bytes.Buffer
		s.reader.press.log = slog.New(slog.NewTextHandler(&log, nil))
		s.link.health.setFailure(failure, time.Time{})
		if s.drops(ul.Discard, 256<<10) == 0 {
			t.Fatal("nothing was dropped")
		}
		if got := log.String(); strings.Count(got, `msg="dropping lines"`) != 1 || !strings.Contains(got, want) {
			t.Errorf("logged\n%swant one warning with %s", got, want)
		}
	}
}
