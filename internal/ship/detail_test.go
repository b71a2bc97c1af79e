package ship

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/base/statedir"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/segment/store"
	"github.com/ullage/ullage/internal/ship/checkpoint"
	"github.com/ullage/ullage/internal/ship/tail"
)

const detailStream = "gc.log" + naming.DetailSuffix

// withholding is a bench that persists lines at info and above.
func withholding(t testing.TB) *bench {
	b := newBench(t)
	b.cfg.PersistLevel = ul.Info
	return b
}

// mixed returns lines at info and at debug. Some records have a second line.
func mixed(from, to int) string {
	var s strings.Builder
	for i := from; i < to; i++ {
		level := "debug"
		if i%3 == 0 {
			level = "info"
		}
		fmt.Fprintf(&s, "[%d.%03ds][%s][gc,heap] line %d\n", i/1000, i%1000, level, i)
		if i%10 == 7 {
			fmt.Fprintf(&s, "\tfurther line of the %s record %d\n", level, i)
		}
	}
	return s.String()
}

// apart splits lines according to the persist level.
func apart(text string) (persisted, withheld string) {
	var p, w strings.Builder
	to := &p
	for line := range strings.Lines(text) {
		if strings.Contains(line, "info") {
			to = &p
		} else if strings.Contains(line, "debug") {
			to = &w
		}
		to.WriteString(line)
	}
	return p.String(), w.String()
}

// counted returns the numbers of withheld lines that are in the checkpoint, by level.
func counted(b *bench) checkpoint.Levels {
	b.t.Helper()
	durable, err := store.Open(b.cfg.Dest, b.cfg.Segment, nil, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer durable.Close()
	dir, err := os.Open(b.path(statedir.Name))
	if err != nil {
		b.t.Fatal(err)
	}
	defer dir.Close()
	c := checkpoint.New()
	c.SetKey(durable.Key(), durable.Number())
	c.Attach(dir)
	defer c.Attach(nil)
	if found := c.Load(); !found.Marked {
		b.t.Fatalf("no valid checkpoint: %+v", found)
	}
	return c.Withheld.Total()
}

// holdsTo fails the test unless each line of text was persisted or counted as withheld,
// according to its level, and exactly the lines of saved were saved.
func holdsTo(b *bench, text, saved string) {
	b.t.Helper()
	persisted, withheld := apart(text)
	if d := cmp.Diff(strings.Split(persisted, "\n"), strings.Split(b.persisted("gc.log"), "\n")); d != "" {
		b.t.Errorf("persisted (-want +got):\n%s", d)
	}
	if d := cmp.Diff(strings.Split(saved, "\n"), strings.Split(b.persisted(detailStream), "\n")); d != "" {
		b.t.Errorf("saved (-want +got):\n%s", d)
	}
	if got, want := counted(b), (checkpoint.Levels{ul.Debug: uint64(strings.Count(withheld, "\n"))}); got != want {
		b.t.Errorf("%v lines were counted as withheld, want %v", got, want)
	}
}

func TestLinesBelowThePersistLevelAreCountedAndSavedOnDemand(t *testing.T) {
	for _, how := range []segment.Compression{segment.Zstd, segment.None} {
		t.Run(how.String(), func(t *testing.T) {
			b := withholding(t)
			b.cfg.Segment.Compress = how
			before, during := mixed(0, 2000), mixed(2000, 2500)
			b.appendTo("gc.log", before)
			b.start()
			persisted, withheld := apart(before)
			b.eventually("the lines at info and above are persisted", func() bool { return b.persisted("gc.log") == persisted })
			if got := b.persisted(detailStream); got != "" {
				t.Fatalf("without a trigger, the lines %q were saved, want none", got)
			}
			saving, err := b.ship.Save()
			if err != nil || !saving.Began || saving.Bytes == 0 || time.Until(saving.Until) < b.cfg.Hindsight/2 {
				t.Fatalf("the save is %+v, error %v; want one that has begun, has bytes and lasts for at least %s", saving, err, b.cfg.Hindsight/2)
			}
			b.eventually("the held lines are saved", func() bool { return b.persisted(detailStream) == withheld })
			if again, err := b.ship.Save(); err != nil || again.Began {
				t.Errorf("the second save is %+v, error %v, want Began false", again, err)
			}
			b.appendTo("gc.log", during)
			b.drain()
			_, saved := apart(before + during)
			holdsTo(b, before+during, saved)
			n := float64(strings.Count(saved, "\n"))
			m := b.ship.metrics
			for name, got := range map[string]float64{
				"withheld": testutil.ToFloat64(m.withheldLines.WithLabelValues("gc.log", "debug")),
				"saved":    testutil.ToFloat64(m.savedLines.WithLabelValues("debug")),
			} {
				if got != n {
					t.Errorf("%s: %g lines were counted, want %g", name, got, n)
				}
			}
			if got, want := testutil.ToFloat64(m.persistedLines.WithLabelValues("gc.log", "info")), float64(strings.Count(before+during, "\n"))-n; got != want {
				t.Errorf("%g lines were counted as persisted, want %g", got, want)
			}
		})
	}
}

func TestWhatIsHeldIsBoundedAndEnds(t *testing.T) {
	b := withholding(t)
	b.cfg.Hindsight, b.cfg.Budget = 20*time.Millisecond, settings.Mi // forty rounds take longer than the window
	b.start()
	written := 0
	for i := range 40 {
		lines := mixed(i*1000, i*1000+1000)
		_, withheld := apart(lines)
		written += strings.Count(withheld, "\n")
		b.appendTo("gc.log", lines)
		// Wait for all of it: lines that are read later than the window after Save would
		// not be saved.
		b.eventually("everything is committed", func() bool {
			return testutil.ToFloat64(b.ship.metrics.withheldLines.WithLabelValues("gc.log", "debug")) == float64(written)
		})
		if held := b.ship.detail.held.Stats(); held.Bytes > 128<<10 {
			t.Fatalf("%d bytes are held, want at most 128 KiB", held.Bytes)
		}
	}
	if _, err := b.ship.Save(); err != nil {
		t.Fatal(err)
	}
	b.drain()
	if got := b.persisted(detailStream); strings.Contains(got, "line 1\n") {
		t.Error("lines from before the window were saved")
	}
	if _, withheld := apart(mixed(0, 40000)); !strings.HasSuffix(withheld, b.persisted(detailStream)) {
		t.Error("the saved lines are not the last withheld lines")
	}
}

// run is a Shipper whose steps a test runs one by one.
type run struct {
	*bench
	*Shipper
}

// reads reads until there is nothing more, and at least once.
func (r run) reads() {
	r.t.Helper()
	// On a busy machine, the event of the write may arrive late.
	r.eventually("something is read", func() bool { r.rounds(); return r.link.queue.Bytes() > 0 })
}

// Whenever the sidecar is killed, each line is persisted or counted as withheld, and each line
// to save is saved once.
func TestAKillAtAnyMomentLeavesWithheldLinesExact(t *testing.T) {
	first, second, third := mixed(0, 400), mixed(400, 700), mixed(700, 900)
	steps := []struct {
		name string
		do   func(r run)
	}{
		{"read", func(r run) { r.appendTo("gc.log", first); r.reads() }},
		{"append", func(r run) { r.appends(r.t) }},
		{"sync", func(r run) { r.syncs() }},
		{"commit", func(r run) { r.Shipper.commits(r.t) }},
		{"trigger", func(r run) { triggers(r.Shipper) }},
		{"read more", func(r run) { r.appendTo("gc.log", second); r.reads() }},
		{"append more", func(r run) { r.appends(r.t) }},
		{"save", func(r run) { r.saveDetails(r.t) }},
		{"sync what was saved", func(r run) { r.syncs() }},
		{"commit what was saved", func(r run) { r.Shipper.commits(r.t) }},
		{"save more", func(r run) { r.saveDetails(r.t) }},
		{"sync more", func(r run) { r.syncs() }},
		{"commit more", func(r run) { r.Shipper.commits(r.t) }},
	}
	const triggered = 4
	for last, step := range steps {
		t.Run("after "+step.name, func(t *testing.T) {
			b := withholding(t)
			s, from := b.begun(true)
			s.begins(t, from)
			for _, step := range steps[:last+1] {
				step.do(run{b, s})
			}
			s.killed()
			text := first
			if last > triggered {
				text += second
			}
			b.appendTo("gc.log", third)
			text += third
			b.start()
			b.drain()
			_, saved := apart(text)
			if last < triggered {
				saved = ""
			}
			holdsTo(b, text, saved)
		})
	}
}

// rounds reads everything that is there.
func (s *Shipper) rounds() {
	s.src.Tick()
	for s.reader.more = true; s.reader.more; {
		s.reader.round()
	}
}

// syncs makes the appended bytes durable, which is the first step of a commit, and does no more.
func (s *Shipper) syncs() {
	for _, st := range s.writer.streams {
		if st.bytes > 0 {
			_, _ = st.segments.Sync()
		}
	}
}

func triggers(s *Shipper) {
	if _, err := s.Save(); err == nil {
		s.writer.detail.begin()
		_ = s.writer.saveCheckpoint(context.Background())
	}
}

func (s *Shipper) saveDetails(t testing.TB) {
	t.Helper()
	if saved, err := s.writer.saveHeld(t.Context()); !saved || err != nil {
		t.Fatalf("saveHeld returned %v, %v; want true and no error", saved, err)
	}
}

// Under pressure, lines go through the spool. They are still withheld, and markers stay in
// their stream.
func TestLinesOutOfTheSpoolAreWithheld(t *testing.T) {
	b := withholding(t)
	b.small()
	b.cfg.KeepLevel = KeepLevel(ul.Info)
	s, from := b.begun(true)
	var text strings.Builder
	for i := range 300 {
		text.WriteString(debugLines(i*100, i*100+70) + lines(i*100+70, i*100+100))
	}
	b.appendTo("gc.log", text.String())
	s.begins(t, from)
	s.src.Tick()
	s.reader.round()
	if dropped, moved := s.drops(ul.Discard, 256<<10), s.src.Relief.Move(tail.Relief{Want: 256 << 10, Least: 1, Keep: ul.Info}); dropped == 0 || moved == 0 {
		t.Fatalf("dropping freed %d bytes, and moving freed %d; want more than 0 each", dropped, moved)
	}
	for s.link.queue.Bytes() > 0 {
		s.appends(t)
		s.commits(t)
		s.rounds()
	}
	s.killed()
	b.start()
	b.drain()
	marked, persisted := b.sum()
	all := strings.Count(text.String(), "\n")
	if got := int(counted(b)[ul.Debug]); got == 0 || got+persisted+marked != all || marked == 0 || persisted != all*3/10 {
		t.Errorf("%d lines were withheld, %d persisted and %d dropped; want %d in all, %d persisted, and some of each", got, persisted, marked, all, all*3/10)
	}
	if strings.Contains(b.persisted("gc.log"), "[debug]") {
		t.Error("lines below the level were persisted")
	}
}
