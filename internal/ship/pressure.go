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

	// mostRest bounds one round of relief, and the rest after a look that took
	// long: on a busy machine such a look mostly waited for a processor.
	mostRest = 10 * pressurePace

	// reliefBytes is about how much is given back before the other things that a
	// reader has to do get their turn.
	reliefBytes = 4 << 20

	// A record takes two to three pages besides its lines, and short blocks compress less.
	// So a block of a file is worth a record from mostLeast on, or from so much as
	// the streams can wait for together in a part of the budget, see least. Where
	// lines would be dropped otherwise, leastLeast is enough.
	mostLeast  = 768 << 10
	leastLeast = 16 << 10
	leastPart  = 4 // of what is in use when spooling begins

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

	at     time.Time // not before is it looked at again
	rate   rate
	freed  int64                    // bytes that the last look gave back
	logged [ul.NumReasons]time.Time // when it was last logged that lines are dropped
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
	own     int64   // memory of the source files and of the spool
	streams int     // that have more than a few pages of it
	used    float64 // share of the budget
	budget  int64
	written int64 // sizes of all source files
}

// measure asks the kernel. What others put on the tmpfs takes the JVM's
// headroom as well, so that the budget is no more than they leave.
func (r *reader) measure() usage {
	u := r.src.Usage()
	m := usage{budget: r.budget(u)}
	weight := r.src.Weigh()
	m.own, m.written, m.streams = weight.Memory, weight.Length, weight.Streams
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
	r.press.rate.take(m, now)
	stalled := now.Sub(time.Unix(0, r.link.progress.Load())) > stallTime
	return r.press.rate.writing && (stalled || r.press.rate.growing >= 2 || m.used > r.press.dropAt)
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
	if behind || r.src.Refusing() && r.press.rate.writing {
		r.relieveUntil(m)
	} else {
		r.press.reset()
	}
	if r.press.on() && r.press.freed >= reliefBytes {
		r.press.at = time.Time{} // there is more to do
		return
	}
	rest := pressurePace
	if !r.press.on() || r.press.freed == 0 {
		// Looking after very many files takes longer, and must not be all we do.
		rest = min(max(rest, 10*time.Since(started)), mostRest)
	}
	r.press.at = time.Now().Add(rest)
}

// relieveUntil gives memory back while the marks say so, for a while: moving lines
// that do not compress gives back nothing, however many they are.
func (r *reader) relieveUntil(m usage) {
	r.press.freed = 0
	for began := time.Now(); r.press.freed < reliefBytes && time.Since(began) < mostRest; m = r.measure() {
		r.press.take(m.used)
		if !r.press.on() {
			return
		}
		freed := r.relieveOnce(m)
		if freed == 0 {
			return
		}
		r.press.freed += freed
	}
}

// relieveOnce gives back some memory in the way that costs least: moving lines
// loses none. Past the last mark, where the JVMs would soon have no room, lines go
// at once, since that is quicker; those that are to be kept go last.
func (r *reader) relieveOnce(m usage) (freed int64) {
	relief := tail.Relief{
		Want:    min(max(int64((m.used-r.press.low())*float64(m.budget)), 256<<10), reliefBytes),
		Least:   r.least(m),
		Keep:    ul.Level(r.cfg.KeepLevel),
		Allowed: int64(r.press.low() * float64(m.budget)),
		Refused: r.press.refused,
	}
	var ways []func() int64
	move := func() int64 { return r.src.Move(relief) }
	discard := func() int64 { return r.drop(ul.Discard, relief, m) }
	dropAll := func() int64 { return r.drop(ul.DropAll, relief, m) }
	switch {
	case r.press.dropping:
		relief.Least = leastLeast
		ways = append(ways, discard, dropAll)
	case r.press.discarding:
		ways = append(ways, move, discard, func() int64 { relief.Least = leastLeast; return move() }, discard)
	default:
		ways = append(ways, move)
	}
	for _, way := range ways {
		if freed = way(); freed > 0 {
			break
		}
	}
	return freed
}

// least is how much of a file is worth a record.
func (r *reader) least(m usage) int64 {
	part := int64(r.press.spoolAt*float64(m.budget)) / leastPart / int64(max(1, m.streams))
	return max(leastLeast, min(part, mostLeast))
}

// drop drops lines, and logs that, at most once a minute for each reason.
func (r *reader) drop(why ul.Reason, relief tail.Relief, m usage) (freed int64) {
	if freed = r.src.Drop(why, relief); freed == 0 {
		return 0
	}
	now := time.Now()
	if now.Sub(r.press.logged[why]) < time.Minute {
		return freed
	}
	r.press.logged[why] = now
	below := r.cfg.KeepLevel.String()
	if why == ul.DropAll || r.cfg.KeepLevel >= ul.NumLevels {
		below = "all"
	}
	cause := "the destination is slower than the JVMs"
	if relief.Refused {
		cause = "the destination refuses streams"
	}
	r.log.Warn("dropping lines", "why", cause, "below", below,
		"used_percent", int(m.used*100), "budget", settings.Size(m.budget).String(), "memory_bytes", m.own)
	return freed
}
