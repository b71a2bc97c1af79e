package ship

import (
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

	// reliefBytes is about how much is given back before the other things that a
	// reader has to do get their turn.
	reliefBytes = 4 << 20

	// leastRoomy is the least of a file that is worth a record while there is
	// room: what the record itself takes is then a small part of it. leastTight is
	// the same where lines would be dropped otherwise.
	leastRoomy = 64 << 10
	leastTight = 16 << 10

	// A destination that has taken nothing for stallTime stands still, for now.
	// rateTime is from one look at what is written to the next.
	// JVMs that wrote within writingTime may write again before the next look.
	stallTime   = 250 * time.Millisecond
	rateTime    = 100 * time.Millisecond
	writingTime = time.Second

	// defaultBudget is taken where nothing else bounds the source.
	defaultBudget = 64 << 20

	// minBudget is what is left to the backlog when others fill the tmpfs.
	minBudget = 1 << 20
)

// pressure is how full the source is, and what follows from it. The zero value
// has no pressure, and needs its marks.
type pressure struct {
	spoolAt, discardAt, dropAt float64 // shares of the budget

	spooling   bool // lines are moved into the spool
	discarding bool // lines below the level to keep go
	dropping   bool // all lines go
	refused    bool // but only of streams that the destination refuses
}

// slack is how far below its mark each of them ends, as a share of the budget.
// Little is lost for it, and the JVMs do not reach the mark at once again.
const slack = 1. / 24

// take takes in which share of the budget is in use.
func (p *pressure) take(used float64) {
	past := func(on bool, mark float64) bool { return used > mark || on && used > mark-slack }
	p.spooling = past(p.spooling, p.spoolAt)
	p.discarding = past(p.discarding, p.discardAt)
	p.dropping = past(p.dropping, p.dropAt)
}

// low is the share that is aimed at.
func (p *pressure) low() float64 {
	switch {
	case p.dropping:
		return p.dropAt - slack
	case p.discarding:
		return p.discardAt - slack
	}
	return p.spoolAt - slack
}

// reset forgets what was under pressure.
func (p *pressure) reset() { p.spooling, p.discarding, p.dropping = false, false, false }

// on reports whether anything is to be done.
func (p *pressure) on() bool { return p.spooling || p.discarding || p.dropping }

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
	m.own, m.written = r.src.Weigh()
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
	written int64     // sizes of all source files, then
	own     int64     // their memory
	grew    time.Time // when a look last found that the JVMs wrote
	writing bool      // they did so not long ago
	growing int       // looks in a row that found more in use
}

func (t *rate) take(m usage, now time.Time) {
	if now.Sub(t.looked) < rateTime {
		return
	}
	if m.written > t.written && !t.looked.IsZero() {
		t.grew = now
	}
	t.writing = now.Sub(t.grew) < writingTime
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
	frame := min(r.cfg.frameBytes(), r.queueBytes/2, int(sync)/2)
	r.link.syncBytes.Store(sync)
	r.link.frameBytes.Store(int64(frame))
	r.link.queue.SetWake(frame)
}

// relieve gives memory back as long as the source is too full. It is called while
// the queue has no room, and while streams are refused: otherwise reading is what
// makes room. A destination that takes the other streams is no reason to drop
// lines of those.
func (r *reader) relieve() {
	started := time.Now()
	m := r.measure()
	r.adapt(m.budget)
	behind := r.behind(m) && r.full
	r.press.refused = !behind
	if behind || r.src.Refusing() && r.rate.writing {
		r.relieveUntil(m)
	} else {
		r.press.reset()
	}
	if r.press.on() && r.relieved >= reliefBytes {
		r.reliefAt = time.Time{} // there is more to do
		return
	}
	rest := pressurePace
	if !r.press.on() || r.relieved == 0 {
		// Looking after very many files takes longer, and must not be all we do.
		rest = min(max(rest, 10*time.Since(started)), mostRest)
	}
	r.reliefAt = time.Now().Add(rest)
}

// relieveUntil gives memory back while the marks say so, for a while: moving lines
// that do not compress gives back nothing, however many they are.
func (r *reader) relieveUntil(m usage) {
	r.relieved = 0
	for began := time.Now(); r.relieved < reliefBytes && time.Since(began) < mostRest; m = r.measure() {
		r.press.take(m.used)
		if !r.press.on() {
			return
		}
		freed := r.relieveOnce(m)
		if freed == 0 {
			return
		}
		r.relieved += freed
	}
}

// relieveOnce gives back some memory in the way that costs least: moving lines
// loses none. Only past the last mark, where the JVMs would soon have no room,
// lines that were moved go first, since that is quicker.
func (r *reader) relieveOnce(m usage) (freed int64) {
	relief := tail.Relief{
		Want:    min(max(int64((m.used-r.press.low())*float64(m.budget)), 256<<10), reliefBytes),
		Least:   leastTight,
		Keep:    ul.Level(r.cfg.KeepLevel),
		Allowed: int64(r.press.low() * float64(m.budget)),
		Refused: r.press.refused,
	}
	switch {
	case r.press.dropping:
		freed = r.drop(ul.DropAll, relief, m)
	case r.press.discarding:
		if freed = r.src.Move(relief); freed == 0 {
			freed = r.drop(ul.Discard, relief, m)
		}
	default:
		relief.Least = leastRoomy
		freed = r.src.Move(relief)
	}
	return freed
}

// drop drops lines, and logs that, at most once a minute for each reason.
func (r *reader) drop(why ul.Reason, relief tail.Relief, m usage) (freed int64) {
	if freed = r.src.Drop(why, relief); freed == 0 {
		return 0
	}
	now := time.Now()
	if now.Sub(r.logged[why]) < time.Minute {
		return freed
	}
	r.logged[why] = now
	below := r.cfg.KeepLevel.String()
	if why == ul.DropAll || r.cfg.KeepLevel >= ul.NumLevels {
		below = "all"
	}
	cause := "the destination is slower than the JVMs"
	if relief.Refused {
		cause = "the destination refuses streams"
	}
	r.log.Warn("dropping lines", "why", cause, "below", below,
		"used_percent", int(m.used*100), "budget", settings.Size(m.budget).String(), "source_files_bytes", m.own)
	return freed
}
