package ship

import (
	"fmt"
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/ship/hindsight"
	"github.com/ullage/ullage/internal/ship/tail"
)

const (
	// defaultBudget is used if nothing else limits the source.
	defaultBudget = 64 << 20

	// minBudget is the smallest budget, even if other files fill the tmpfs.
	minBudget = 1 << 20
)

// budget decides how much of the source the backlog may take. It sets the bounds that depend on
// that.
type budget struct {
	cfg  Config
	log  *slog.Logger
	link *link
	view *view
	src  *tail.Reliever
	held *hindsight.Log            // nil: withheld lines are not held
	room func(budget, spool int64) // see [Outlets.Room]

	queueBytes int // the most bytes that may be queued
}

// usage is how much memory of the source is in use. It is compared with the marks.
type usage struct {
	own     int64   // memory of the source files and the spool
	spool   int64   // the part of own that the spool takes
	streams int     // number of streams that take more than a few pages of own
	used    float64 // share of the budget
	budget  int64
	written int64 // sizes of the JVMs' files
	free    int64 // bytes that the file system has free, or of the budget if the file system has no limit
}

// measure asks the kernel. Other files on the tmpfs also use the JVM's headroom, so the
// budget is at most the space that they leave.
func (b *budget) measure() usage {
	u := b.src.Usage()
	m := usage{budget: b.of(u), free: u.Headroom}
	weight := b.src.Weigh()
	m.own, m.spool, m.written, m.streams = weight.Memory, weight.Spool, weight.Length, weight.Streams
	if u.Tmpfs && u.Total > 0 {
		others := max(0, u.Total-u.Headroom-m.own)
		m.budget = max(minBudget, min(m.budget, u.Total-others))
	}
	if u.Total == 0 {
		m.free = max(0, m.budget-m.own)
	}
	m.used = float64(m.own) / float64(m.budget)
	return m
}

// heldBytes returns how much of a budget held lines may use, compressed.
func heldBytes(budget int64) int64 { return max(64<<10, budget/8) }

// of returns the budget in bytes.
func (b *budget) of(u tail.Usage) int64 {
	switch {
	case b.cfg.Budget != 0 && (u.Total == 0 || int64(b.cfg.Budget) < u.Total):
		return int64(b.cfg.Budget)
	case unlimited(u):
		return defaultBudget
	}
	return u.Total
}

// unlimited reports whether the size of a file system was not chosen on purpose: there is no
// limit, or the limit is the default of a tmpfs, half of the machine's memory.
func unlimited(u tail.Usage) bool {
	var info unix.Sysinfo_t
	if !u.Tmpfs || unix.Sysinfo(&info) != nil {
		return u.Total == 0
	}
	return u.Total == 0 || uint64(u.Total) >= info.Totalram*uint64(info.Unit)/2-1<<20
}

// check compares --budget with the size of the tmpfs, and warns if nothing limits the
// source.
func (b *budget) check(u tail.Usage) error {
	switch {
	case !u.Tmpfs:
		// messages.md#the-source: The JVM's writes can wait for a disk again. Mount a tmpfs there.
		b.log.Warn("source is not on a tmpfs", "source", b.cfg.Tail.Source,
			"hint", "a JVM that writes to it can wait for a disk; mount a tmpfs there")
	case unlimited(u) && b.cfg.Budget == 0:
		// messages.md#the-source: The tmpfs has no limit, or the default limit of half of the
		// machine's memory. The kernel may kill the JVM for what it writes there. Give the tmpfs a
		// size limit, or set `--budget`; until then ullage uses a budget of 64 MiB.
		b.log.Warn("source has no size limit", "source", b.cfg.Tail.Source, "budget", settings.Size(defaultBudget).String(),
			"hint", "what a JVM writes to a tmpfs counts as its memory, and the JVM is killed if that is too much; give the tmpfs a size limit, or set --budget")
	case int64(b.cfg.Budget) > u.Total && u.Total > 0:
		return fmt.Errorf("--budget %s is more than the size of the tmpfs %q, %s: use a smaller budget, or 0 for the size of the tmpfs",
			b.cfg.Budget, b.cfg.Tail.Source, settings.Size(u.Total))
	}
	return nil
}

// adapt updates the bounds that depend on the budget, since a tmpfs can be resized at any
// time. Lines on their way to the destination stay in the source until they are durable, so
// they must take only a small part of the budget. The texts of rings may use the part of the
// budget that the spool leaves.
func (b *budget) adapt(bytes, spool int64) {
	b.view.setBudget(bytes)
	if b.room != nil {
		b.room(bytes, spool)
	}
	sync := min(int64(b.cfg.SyncBytes), max(64<<10, bytes/8))
	b.queueBytes = int(min(int64(b.cfg.Queue), max(64<<10, bytes/4)))
	frame := min(b.cfg.frameBytes(), b.queueBytes/2, int(sync)/2)
	b.link.syncBytes.Store(sync)
	b.link.setFrame(b.cfg, frame)
	if b.held != nil {
		b.held.SetLimit(heldBytes(bytes))
	}
}
