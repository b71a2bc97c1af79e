package ship

import (
	"log/slog"
	"time"

	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/position"
	"github.com/ullage/ullage/internal/ship/tail"
)

const (
	// pressurePace is the time between two checks of the source while the queue has no
	// room. A JVM that writes 50 MB/s fills 1 MiB of the source in twice that time.
	pressurePace = 10 * time.Millisecond

	// mostRest bounds one round of relief, and the pause after a check that took long: on a
	// busy machine, such a check mostly waited for a processor.
	mostRest = 10 * pressurePace

	// reliefBytes is about how much is freed before the reader's other work gets its turn.
	reliefBytes = 4 << 20

	// A record takes two to three pages in addition to its lines, and short blocks compress less.
	// So a block of a file is worth a record if it has mostLeast bytes. Fewer are enough if waiting
	// for that many in every stream would take too much of the budget; see least. If lines would
	// otherwise be dropped, leastLeast is enough.
	mostLeast  = 768 << 10
	leastLeast = 16 << 10
	leastPart  = 4 // all streams share 1/leastPart of the memory in use when spooling begins, see least

	// A destination that has accepted nothing for stallTime is treated as stalled for now.
	// rateTime is the interval at which the amount written is measured. JVMs that have written
	// within writingTime may write again before the next check.
	stallTime   = 250 * time.Millisecond
	lastTime    = time.Second // how long after the last drop of lines of all levels the status still reports it
	rateTime    = 100 * time.Millisecond
	writingTime = time.Second

	// While the source empties above the last mark, the file system must have spareRoom free: a JVM may suddenly write
	// 50 MB/s, and the next check is pressurePace later. A budget that is smaller than the file system may be exceeded
	// meanwhile, as after a start that finds more than that.
	spareRoom = 4 << 20
)

// pressure decides when memory of the source is freed before its lines are durable, and how
// much.
type pressure struct {
	cfg    Config
	log    *slog.Logger
	link   *link
	src    *tail.Reliever
	budget *budget

	marks   marks
	refused bool // only lines of refused streams are dropped
	late    bool // the queue has room: if the source is full, reading is too slow

	admitting bool      // room is made for a JVM that found none, see admits
	admitAt   time.Time // the earliest time to begin that again

	at      time.Time // the earliest time of the next check
	rate    rate
	freed   int64                        // bytes that the last check freed
	lastAll time.Time                    // when lines of all levels were last dropped
	yielded retry.Limiter                // limits the log about held lines that were given up
	logged  [ul.NumReasons]retry.Limiter // limit the log about dropped lines
}

func newPressure(cfg Config, log *slog.Logger, l *link, src *tail.Reliever, b *budget) *pressure {
	percent := func(mark int) float64 { return float64(mark) / 100 }
	return &pressure{cfg: cfg, log: log, link: l, src: src, budget: b,
		marks: marks{spoolAt: percent(cfg.SpoolAt), discardAt: percent(cfg.DiscardAt), dropAt: percent(cfg.DropAt)}}
}

// rate measures whether the destination keeps up with the source.
type rate struct {
	looked  time.Time
	written int64     // sizes of the JVMs' files at the last check
	own     int64     // memory of the source files and the spool at the last check
	grew    time.Time // when a check last found that the JVMs wrote
	writing bool      // the JVMs wrote recently
	growing int       // number of consecutive checks that found more memory in use

	freed        int64     // the memory that moving and dropping lines has freed so far
	began        time.Time // the time of the first check, which is soon after a start that finds much
	last, before sample    // the latest sample, and the one before it
}

// sample is what a check found. Samples are stallTime apart.
type sample struct {
	at         time.Time
	own, freed int64
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
	if t.began.IsZero() {
		t.began = now
	}
	if now.Sub(t.last.at) >= stallTime {
		t.before, t.last = t.last, sample{now, m.own, t.freed}
	}
}

// empties reports whether the source takes less memory than a moment ago, apart from what was freed by moving and
// dropping lines, and has spare room. What exceeds the budget must be gone within about a minute. If the checks are
// rare, because there is too little CPU time, the moment is too long ago to say so. In the first moment, nothing may be
// durable yet, so only the room decides.
func (t *rate) empties(m usage, now time.Time) bool {
	const moment, gone = 4 * stallTime, time.Minute
	excess := max(0, m.own-m.budget)
	less := now.Sub(t.before.at) < moment && m.own+t.freed-t.before.freed+excess/int64(gone/stallTime) < t.before.own
	return (less || now.Sub(t.began) < moment) && m.free > spareRoom
}

// lags reports whether memory must be freed: the JVMs write, and the destination accepts
// nothing, or less than they write. A full queue and a full source are not enough: a
// healthy destination empties them. If the queue has room, reading makes room in the source,
// unless reading itself is too slow: above the last mark, the JVMs would soon have no room, unless
// the source empties.
func (p *pressure) lags(m usage) bool {
	now := time.Now()
	p.rate.take(m, now)
	stalled := p.stalled(now)
	last := m.used > p.marks.dropAt && (stalled || !p.rate.empties(m, now))
	return p.rate.writing && (last || !p.late && (stalled || p.rate.growing >= 2))
}

// stalled reports whether the destination is treated as stalled.
func (p *pressure) stalled(now time.Time) bool {
	return now.Sub(time.Unix(0, p.link.progress.Load())) > stallTime
}

// admits reports whether room is made for a JVM that finds none and therefore cannot show that it writes: before this
// process started, the JVM has filled the tmpfs, and now the destination is stalled, or refuses its stream. Whether the
// JVM wants to write is not known, so no lines are dropped for it. That goes on down to the last mark, even if the JVM
// writes into the new room: lines are dropped only if it fills the room faster than lines are moved. If the spool has no
// reserved memory, as on a tmpfs that was full before its first sidecar, nothing can be moved.
func (p *pressure) admits(m usage) bool {
	now := time.Now()
	switch {
	case !p.stalled(now) && !p.src.Refusing():
		p.admitting = false
	case p.admitting:
		p.admitting = m.used > p.marks.dropAt-slack && m.free > spareRoom/4
	case m.free < position.PageSize && !p.rate.writing && now.After(p.admitAt):
		p.admitting, p.admitAt = p.src.Written(), now.Add(time.Second)
	}
	return p.admitting
}

// admit moves lines. While it frees little, admits does not continue.
func (p *pressure) admit(m usage) {
	p.freed = p.src.Move(tail.Relief{Want: reliefBytes, Least: p.least(m), Keep: ul.Level(p.cfg.KeepLevel), Refused: !p.stalled(time.Now())})
}

// relieve frees memory as long as the source is too full. It is called while the queue has no
// room (full is then true), while there is more to read, and while streams are refused. While the
// destination accepts the other streams, their lines are not dropped.
func (p *pressure) relieve(full bool) {
	started := time.Now()
	m := p.budget.measure()
	p.budget.adapt(m.budget, m.spool)
	p.late, p.freed = !full, 0
	lags := p.lags(m)
	p.refused = !lags
	switch {
	case p.admits(m):
		p.admit(m)
	case lags, p.src.Refusing() && p.rate.writing:
		p.relieveUntil(m)
	case full, p.src.Refusing():
		p.marks.reset()
	}
	p.rate.freed += p.freed
	if p.freed >= reliefBytes {
		p.at = time.Time{} // there is more to do
		return
	}
	rest := pressurePace
	if p.freed == 0 {
		// With very many files, a check takes longer. It must leave time for other work.
		rest = min(max(rest, 10*time.Since(started)), mostRest)
	}
	p.at = time.Now().Add(rest)
}

// yield gives up the lines that are held in hindsight before any other line is dropped.
func (p *pressure) yield(m usage) {
	held := p.budget.held
	if held == nil || !p.marks.discarding && !p.marks.dropping || held.Stats().Bytes == 0 {
		return
	}
	bytes := held.Yield()
	if p.yielded.Allow(time.Now()) {
		// messages.md#hindsight: The tmpfs is so full that lines would soon be dropped. Lines that
		// were held in hindsight until now cannot be saved.
		p.log.Warn("held lines deleted to free the tmpfs", "memory_bytes", bytes, "used_percent", int(m.used*100),
			"hint", "the tmpfs is full; lines from before now cannot be saved in hindsight")
	}
}

// relieveUntil frees memory as long as the marks demand it, but for a limited time: moving lines
// that do not compress frees nothing, however many lines are moved.
func (p *pressure) relieveUntil(m usage) {
	for began := time.Now(); p.freed < reliefBytes && time.Since(began) < mostRest; m = p.budget.measure() {
		p.marks.take(m.used)
		if !p.marks.on() {
			return
		}
		p.yield(m)
		freed := p.relieveOnce(m)
		if freed == 0 {
			return
		}
		p.freed += freed
	}
}

// relieveOnce frees some memory at the lowest cost: moving lines loses none. Above the last
// mark, the JVMs would soon have no room, so lines are dropped at once, which is quicker. Lines
// to keep are dropped last: only above that mark, and only if no block of them could be compressed
// or there is no time to compress one.
func (p *pressure) relieveOnce(m usage) (freed int64) {
	relief := tail.Relief{
		Want:    min(max(int64((m.used-p.marks.low())*float64(m.budget)), 256<<10), reliefBytes),
		Least:   p.least(m),
		Keep:    ul.Level(p.cfg.KeepLevel),
		Allowed: int64(p.marks.low() * float64(m.budget)),
		Refused: p.refused,
	}
	var ways []func() int64
	move := func() int64 { return p.src.Move(relief) }
	discard := func() int64 { return p.drop(ul.Discard, relief, m) }
	dropAll := func() int64 { return p.drop(ul.DropAll, relief, m) }
	switch {
	case p.marks.dropping:
		relief.Least = leastLeast
		ways = append(ways, discard)
		if m.used < p.marks.urgent() {
			ways = append(ways, func() int64 { // one block, because the source may soon be fuller
				block := relief
				block.Want = 1
				return p.src.Move(block)
			})
		}
		if m.used > p.marks.dropAt {
			ways = append(ways, dropAll)
		}
	case p.marks.discarding:
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

// reason returns why lines are dropped now, as text, or "" if no lines are dropped.
func (p *pressure) reason() string {
	switch {
	case p.marks.dropping && time.Since(p.lastAll) < lastTime:
		return ul.DropAll.String()
	case p.marks.discarding:
		return ul.Discard.String()
	}
	return ""
}

// least returns how many bytes of a file are worth a record.
func (p *pressure) least(m usage) int64 {
	part := int64(p.marks.spoolAt*float64(m.budget)) / leastPart / int64(max(1, m.streams))
	return max(leastLeast, min(part, mostLeast))
}

// drop drops lines and logs that at most once a minute for each reason.
func (p *pressure) drop(why ul.Reason, relief tail.Relief, m usage) (freed int64) {
	if freed = p.src.Drop(why, relief); freed == 0 {
		return 0
	}
	if why == ul.DropAll {
		p.lastAll = time.Now()
	}
	if !p.logged[why].Allow(time.Now()) {
		return freed
	}
	below := p.cfg.KeepLevel.String()
	if why == ul.DropAll || p.cfg.KeepLevel >= ul.NumLevels {
		below = "all"
	}
	cause := "the destination is slower than the JVMs"
	if p.late {
		cause = "the sidecar gets too little CPU time"
	} else if failure := p.link.health.current(); failure != nil {
		cause = "the destination fails: " + failure.Error()
	}
	if relief.Refused {
		cause = "the destination refuses streams"
	}
	// messages.md#pressure: `why` names the cause, and `below` the level below which lines are
	// dropped. See [When the destination stalls](how-it-works.md#when-the-destination-stalls).
	// Logged at most once a minute for each threshold.
	p.log.Warn("dropping lines", "why", cause, "below", below,
		"used_percent", int(m.used*100), "used_bytes", m.own, "budget_bytes", m.budget)
	return freed
}
