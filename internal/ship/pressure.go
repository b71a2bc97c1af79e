package ship

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/settings"
	"github.com/ullage/ullage/internal/tail"
	"github.com/ullage/ullage/internal/ul"
)

const (
	// pressurePace is how often the source is looked at while the queue has no
	// room. A JVM that writes 50 MB/s fills 1 MiB of it in twice that.
	pressurePace = 10 * time.Millisecond

	// mostRest bounds the rest after a look that took long: on a busy machine
	// that is waiting for a processor more often than work.
	mostRest = 10 * pressurePace

	// reliefBytes is about how much is dropped before it is recorded and given
	// back; the other things that a reader has to do wait meanwhile.
	reliefBytes = 4 << 20

	// gapBudget is how much of the budget there is for each gap that may be
	// kept, within bounds. Most gaps give way to text before.
	gapBudget        = 32 << 10
	minGaps, maxGaps = 256, 4 << 10

	// A destination that has taken nothing for stallTime stands still, for now.
	// rateTime is from one look at what is written to the next.
	stallTime = 250 * time.Millisecond
	rateTime  = 100 * time.Millisecond

	// defaultBudget is taken where nothing else bounds the source.
	defaultBudget = 64 << 20

	// minBudget is what is left to the backlog when others fill the tmpfs.
	minBudget = 1 << 20
)

// pressure is how full the source is, and what follows from it. The zero value
// has no pressure, and needs its marks.
type pressure struct {
	discardAt, dropAt float64 // shares of the budget
	discarding        bool    // lines below the level to keep go
	dropping          bool    // all lines go
	refused           bool    // but only of streams that the destination refuses
}

// take takes in which share of the budget is in use. Both marks have
// hysteresis: dropping all ends below the first mark, and discarding once a
// sixth below it.
func (p *pressure) take(used float64) {
	p.dropping = used > p.dropAt || p.dropping && used > p.discardAt
	p.discarding = used > p.discardAt || (p.discarding || p.dropping) && used > p.low()
}

// low is the share that is aimed at.
func (p *pressure) low() float64 { return p.discardAt * 5 / 6 }

// reset forgets what was under pressure.
func (p *pressure) reset() { p.discarding, p.dropping = false, false }

// on reports whether anything is to be dropped.
func (p *pressure) on() bool { return p.discarding || p.dropping }

// reason is the one for which lines are dropped now, as text, or nothing.
func (p *pressure) reason() string {
	switch {
	case p.dropping:
		return ul.DropAll.String()
	case p.discarding:
		return ul.Discard.String()
	}
	return ""
}

// usage is what the source has in use, for the marks.
type usage struct {
	own     int64   // memory of the source files
	used    float64 // share of the budget
	budget  int64
	written int64 // sizes of all source files
}

// measure asks the kernel. What others put on the tmpfs takes the JVM's
// headroom as well, so that the budget is no more than they leave.
func (r *reader) measure() usage {
	u := r.src.Usage()
	m := usage{budget: r.budget(u)}
	m.own, m.written = r.src.Resident()
	if u.Tmpfs && u.Total > 0 {
		others := max(0, u.Total-u.Headroom-m.own)
		m.budget = max(minBudget, min(m.budget, u.Total-others))
	}
	m.used = float64(m.own) / float64(m.budget)
	return m
}

// rate is how source and destination keep up with each other.
type rate struct {
	looked  time.Time
	written int64 // sizes of all source files, then
	own     int64 // their memory
	writing bool  // the JVMs wrote since the look before
	growing int   // looks in a row that found more in use
}

func (t *rate) take(m usage, now time.Time) {
	if now.Sub(t.looked) < rateTime {
		return
	}
	t.writing = m.written > t.written && !t.looked.IsZero()
	if m.own > t.own {
		t.growing++
	} else {
		t.growing = 0
	}
	t.looked, t.written, t.own = now, m.written, m.own
}

// behind reports whether lines have to go: the JVMs write, and the destination
// takes nothing, or less than they write. With a healthy one, a full queue and
// a full source are no reason: they become empty.
func (r *reader) behind(m usage) bool {
	now := time.Now()
	r.rate.take(m, now)
	stalled := now.Sub(time.Unix(0, r.link.progress.Load())) > stallTime
	return r.rate.writing && (stalled || r.rate.growing >= 2 || m.used > r.press.dropAt)
}

// budget is what the backlog may take.
func (r *reader) budget(u tail.Usage) int64 {
	switch {
	case r.cfg.Budget != 0 && (u.Total == 0 || int64(r.cfg.Budget) < u.Total):
		return int64(r.cfg.Budget)
	case unlimited(u):
		return defaultBudget
	}
	return u.Total
}

// unlimited reports whether a file system has no size that anybody chose: none,
// or half of the machine's memory, which is what a tmpfs gets by default.
func unlimited(u tail.Usage) bool {
	var info unix.Sysinfo_t
	if !u.Tmpfs || unix.Sysinfo(&info) != nil {
		return u.Total == 0
	}
	return u.Total == 0 || uint64(u.Total) >= info.Totalram*uint64(info.Unit)/2-1<<20
}

// checkBudget holds --budget to the tmpfs, and warns where nothing bounds it.
func (r *reader) checkBudget(u tail.Usage) error {
	switch {
	case !u.Tmpfs:
		r.log.Warn("source is not on a tmpfs", "source", r.cfg.Tail.Source,
			"hint", "a JVM that writes to it can wait for a disk; mount a tmpfs there")
	case unlimited(u) && r.cfg.Budget == 0:
		r.log.Warn("source has no size limit", "source", r.cfg.Tail.Source, "budget", settings.Size(defaultBudget).String(),
			"hint", "what a JVM writes to a tmpfs counts as its memory, and too much gets it killed; give the tmpfs a size limit, or set --budget")
	case int64(r.cfg.Budget) > u.Total && u.Total > 0:
		return fmt.Errorf("--budget %s is more than the tmpfs %q has, %s: use a smaller budget, or 0 for the size of the tmpfs",
			r.cfg.Budget, r.cfg.Tail.Source, settings.Size(u.Total))
	}
	return nil
}

// adapt brings what depends on the budget up to date: a tmpfs can get another
// size at any time. What is under way to the destination stays on the source
// until it is durable, so that it must be a small part of the budget.
func (r *reader) adapt(budget int64) {
	r.view.setBudget(budget)
	sync := min(int64(r.cfg.SyncBytes), max(64<<10, budget/8))
	r.queueBytes = int(min(int64(r.cfg.Queue), max(64<<10, budget/4)))
	r.maxGaps = int(min(maxGaps, max(minGaps, budget/gapBudget)))
	frame := min(r.cfg.frameBytes(), r.queueBytes/2, int(sync)/2)
	r.link.syncBytes.Store(sync)
	r.link.frameBytes.Store(int64(frame))
	r.link.queue.SetWake(frame)
}

// relieve drops lines as long as the source is too full. It is called while
// the queue has no room, and while streams are refused: otherwise reading, and
// not dropping, is what makes room. A destination that takes the other streams
// is no reason to drop lines of those.
func (r *reader) relieve() {
	started := time.Now()
	m := r.measure()
	r.adapt(m.budget)
	behind := r.behind(m) && r.full
	r.press.refused = !behind
	if behind || r.src.Refusing() && r.rate.writing {
		r.dropUntilRelieved(m)
	} else {
		r.press.reset()
	}
	if r.press.on() && r.relieved >= reliefBytes {
		r.reliefAt = time.Time{} // there is more to drop
		return
	}
	rest := pressurePace
	if !r.press.on() || r.relieved == 0 {
		// Looking after very many files takes longer, and must not be all we do.
		rest = min(max(rest, 10*time.Since(started)), mostRest)
	}
	r.reliefAt = time.Now().Add(rest)
}

// dropUntilRelieved drops lines while the marks say so, for a while.
func (r *reader) dropUntilRelieved(m usage) {
	for r.relieved = 0; r.relieved < reliefBytes; m = r.measure() {
		r.press.take(m.used)
		if !r.press.on() {
			return
		}
		want := int64((m.used - r.press.low()) * float64(m.budget))
		freed := r.drop(min(max(want, 256<<10), reliefBytes), m)
		if freed == 0 {
			return
		}
		r.relieved += freed
	}
}

// drop drops lines of about so many bytes, records that, and gives their
// memory back. Recorded comes first: a crash in between finds lines that are
// still there, and are counted once.
func (r *reader) drop(want int64, m usage) (freed int64) {
	reason := ul.Discard
	// Gaps cost memory, here and in the checkpoint.
	if r.press.dropping || r.src.Gaps() >= r.maxGaps {
		reason = ul.DropAll
	}
	if !r.unrecorded {
		allowed := int64(r.press.low() * float64(m.budget))
		if freed = r.src.Drop(reason, ul.Level(r.cfg.KeepLevel), want, allowed, r.press.refused); freed == 0 {
			return 0
		}
		r.tellDrop(reason, m)
		r.src.Compact(r.maxGaps)
	}
	r.src.ChangedGaps(r.ledger.setGaps)
	if err := r.check.save(r.ledger.state); err != nil && !errors.Is(err, errNoRoom) {
		if !r.unrecorded {
			r.log.Error("recording dropped lines failed", "error", err,
				"hint", "no memory is given back until a retry succeeds")
		}
		r.unrecorded = true
		return 0
	}
	r.unrecorded = false
	r.src.PunchGaps()
	return max(1, freed)
}

// tellDrop logs that lines are dropped, at most once a minute for each reason.
func (r *reader) tellDrop(reason ul.Reason, m usage) {
	now := time.Now()
	if now.Sub(r.told[reason]) < time.Minute {
		return
	}
	r.told[reason] = now
	below := r.cfg.KeepLevel.String()
	if reason == ul.DropAll || r.cfg.KeepLevel >= ul.NumLevels {
		below = "all"
	}
	why := "the destination is slower than the JVMs"
	if r.press.refused {
		why = "the destination refuses streams"
	}
	r.log.Warn("dropping lines", "why", why, "below", below,
		"used_percent", int(m.used*100), "budget", settings.Size(m.budget).String(), "source_files_bytes", m.own)
}
