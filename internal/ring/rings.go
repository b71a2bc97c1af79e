package ring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/statedir"
)

const (
	// A busy ring is looked at every busyPace, and another one every idlePace: 60 % of
	// 2 MiB are full after 12 ms at 100 MB/s. Without a ring there is only the question
	// whether the directory has changed.
	busyPace = 5 * time.Millisecond
	idlePace = 20 * time.Millisecond
	noPace   = 500 * time.Millisecond
	busyTime = 100 * time.Millisecond // for which a ring counts as busy behind its last event

	// Whether a JVM is gone is asked once in a tick. The directory is listed then, too.
	tickInterval = time.Second

	// lastWords is for how long Run goes on behind the end of its context while a ring has a writer. Draining
	// waits a little longer for what comes of that.
	lastWords = 400 * time.Millisecond

	// maxRings are read at a time. A JVM begins none where there are eight.
	maxRings = 16

	// Descriptors is how many files rings may have open: of each the ring, twice, the text and the journal.
	Descriptors = 4 * maxRings

	maxFound   = 1024             // names of rings that are looked at in one listing
	newbornAge = 10 * time.Second // an unfinished ring that is older, and has no writer, is removed
	errorPause = 100 * time.Millisecond
)

// Rings takes the rings of one source out. Create it with [New]. Run, Open and Status may be
// called at the same time.
type Rings struct {
	log     *slog.Logger
	metrics *metrics
	calls   *calls

	mu     sync.Mutex
	work   *workspace // nil: no source is open
	drains map[name]*running
	seen   changes

	refused map[name]string // reasons why rings could not be opened, as of the last listing
	logged  map[string]bool // those that are in the log
}

// running is a drain, and when it is its turn.
type running struct {
	*drain
	busy   time.Time       // it had an event last
	after  time.Time       // not before, since there was an error
	failed bool            // it is not read any more, and waits until its JVM is gone
	why    error           // the last error. Nil: the last step had none
	logged map[string]bool // reasons that are in the log
}

// changes is what was last seen of the source directory.
type changes struct {
	modified unix.Timespec
	after    time.Time // not listed before
	ticked   time.Time
}

// New returns a Rings without a source.
func New(reg prometheus.Registerer, log *slog.Logger) *Rings {
	return &Rings{log: log, metrics: newMetrics(reg), calls: &calls{}, drains: map[name]*running{}, logged: map[string]bool{}}
}

// Open begins with the rings of a source, and leaves those of an earlier one: it takes the directory and
// its state directory, which it does not keep. Before it returns it has opened the texts that an
// earlier process has left unfinished, for the sake of who reads them next.
func (r *Rings) Open(source, state *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
	w := &workspace{calls: r.calls, metrics: r.metrics}
	var err1, err2 error
	w.source, err1 = duplicate(source)
	w.state, err2 = duplicate(state)
	if err := errors.Join(err1, err2); err != nil {
		r.log.Warn("opening the source for events failed", "error", err, "hint", "no events are read")
		return
	}
	r.work = w
	r.removeJournals()
	r.list(time.Now())
}

func duplicate(dir *os.File) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s again: %w", dir.Name(), err)
	}
	return os.NewFile(uintptr(fd), dir.Name()), nil
}

// leave closes everything.
func (r *Rings) leave() {
	for n := range r.drains {
		r.end(n)
	}
	if r.work != nil {
		r.work.source.Close()
		r.work.state.Close()
		r.work = nil
	}
	r.seen = changes{}
}

func (r *Rings) end(n name) {
	r.drains[n].close()
	delete(r.drains, n)
	r.gauge()
}

func (r *Rings) gauge() {
	var bytes uint64
	for _, d := range r.drains {
		bytes += d.file.capacity
	}
	r.metrics.rings.Set(float64(len(r.drains)))
	r.metrics.bytes.Set(float64(bytes))
}

// Run takes events out of rings until ctx ends, and then what the rings still hold, for a little while at
// most.
func (r *Rings) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var ended time.Time
	done := ctx.Done()
	for {
		select {
		case <-done:
			done, ended = nil, time.Now()
		case <-timer.C:
		}
		now := time.Now()
		over := !ended.IsZero()
		pause := r.round(now, over)
		if over && (r.idle() || now.Sub(ended) > lastWords) {
			break
		}
		timer.Reset(pause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave()
}

// idle reports whether no JVM can write another event.
func (r *Rings) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reason := range r.refused {
		if reason == reasonTooMany {
			return false // it has its turn
		}
	}
	return len(r.drains) == 0
}

// round takes one step of each ring, and returns when the next round is due. Ask says that
// JVMs may be gone.
func (r *Rings) round(now time.Time, ask bool) (pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.work == nil {
		return noPace
	}
	if tick := now.Sub(r.seen.ticked) >= tickInterval; tick || ask {
		r.seen.ticked = now
		r.tick(now)
		r.list(now)
	} else if r.changed() && !now.Before(r.seen.after) {
		r.list(now)
	}
	pause = idlePace
	if len(r.drains) == 0 {
		pause = noPace
	}
	for n, d := range r.drains {
		pause = min(pause, r.drain(n, d, now))
	}
	return pause
}

// drain takes a step of one ring, and returns when the next one is due.
func (r *Rings) drain(n name, d *running, now time.Time) time.Duration {
	if now.Before(d.after) {
		return idlePace
	}
	if d.failed {
		if d.gone {
			r.remove(n, d, now)
		}
		return idlePace
	}
	taken, err := d.step(now)
	if d.note(r, err, now); err != nil {
		return idlePace
	}
	switch {
	case taken >= blockBytes/2:
		d.busy = now
		return 0
	case taken > 0:
		d.busy = now
	case d.over():
		r.remove(n, d, now)
		return idlePace
	}
	if now.Sub(d.busy) < busyTime {
		return busyPace
	}
	return idlePace
}

// note keeps the error of a step, and gives a ring up that cannot be read on.
func (d *running) note(r *Rings, err error, now time.Time) {
	d.why = err
	if err == nil {
		return
	}
	reason := reasonOf(err)
	d.after = now.Add(errorPause)
	first := !d.logged[reason]
	d.logged[reason] = true
	switch reason {
	case reasonSize, reasonSparse, reasonCursor:
		d.failed = true
		_ = d.file.setFlag(abandonedAt, 1) // else the JVM finds its ring full
	case reasonStuck, reasonWord:
	default:
		if !first {
			return // it is the same trouble
		}
	}
	r.metrics.errors.WithLabelValues(reason).Inc()
	if first {
		r.log.Warn("taking events out of a ring failed", "ring", d.name.ring(), "reason", reason, "error", err)
	}
}

// remove ends a drain whose ring is over.
func (r *Rings) remove(n name, d *running, now time.Time) {
	if err := d.remove(); err != nil {
		d.note(r, err, now)
		return
	}
	r.end(n)
	r.seen.modified = unix.Timespec{}
}

// tick asks whether JVMs are gone, and looks at what may have happened to the files.
func (r *Rings) tick(now time.Time) {
	for n, d := range r.drains {
		if !d.gone {
			d.gone = d.file.writerless()
		}
		if err := errors.Join(d.file.checkSize(), d.file.checkMemory()); err != nil && !d.failed {
			d.note(r, err, now)
		}
		d.checkText()
		if !d.named() && (d.gone || d.failed) {
			r.end(n)
		}
	}
}

// checkText leaves a text that somebody has unlinked: tail reads it to its end, and nobody would after
// a restart.
func (d *drain) checkText() {
	if d.text == nil || d.owed {
		return
	}
	if _, links, err := d.text.stat(); err == nil && links == 0 {
		d.text.close()
		d.text = nil
	}
}

// named reports whether the ring has its name.
func (d *drain) named() bool {
	var st unix.Stat_t
	return unix.Fstatat(int(d.source.Fd()), d.name.ring(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Ino == d.file.id.Ino
}

// changed reports whether a name was made or removed in the source since it was last listed.
func (r *Rings) changed() bool {
	var st unix.Stat_t
	return unix.Fstat(int(r.work.source.Fd()), &st) == nil && st.Mtim != r.seen.modified
}

// list opens the rings that are new, from the oldest to the newest.
func (r *Rings) list(now time.Time) {
	var st unix.Stat_t
	if unix.Fstat(int(r.work.source.Fd()), &st) == nil {
		r.seen.modified = st.Mtim
	}
	var found []name
	eachName(r.work.source, func(file string) {
		if n, ok := parseName(file, ringSuffix); ok && r.drains[n] == nil && len(found) < maxFound {
			found = append(found, n)
		} else if strings.HasPrefix(file, "."+ringPrefix) && strings.HasSuffix(file, ringSuffix+unfinished) {
			r.removeNewborn(file, now)
		}
	})
	slices.SortFunc(found, name.compare)
	before := r.refused
	r.refused = map[name]string{}
	for _, n := range found {
		if len(r.drains) >= maxRings {
			r.refuse(n, because(reasonTooMany, "%d rings are read already", maxRings), before)
			continue
		}
		d, err := openDrain(r.work, n)
		if err != nil {
			r.refuse(n, err, before)
			continue
		}
		r.drains[n] = &running{drain: d, logged: map[string]bool{}}
	}
	r.gauge()
	r.seen.after = now.Add(10 * time.Since(now))
}

// refuse counts a ring that is not read. Each listing tries it again.
func (r *Rings) refuse(n name, err error, before map[name]string) {
	if errors.Is(err, fs.ErrNotExist) {
		return // it is gone already
	}
	reason := reasonOf(err)
	r.refused[n] = reason
	if before[n] == reason {
		return
	}
	r.metrics.errors.WithLabelValues(reason).Inc()
	if !r.logged[reason] {
		r.logged[reason] = true
		r.log.Warn("ring is not read", "ring", n.ring(), "reason", reason, "error", err,
			"hint", "further rings with this reason are only counted")
	}
}

// eachName calls each with the names in a directory, of which there may be any number.
func eachName(dir *os.File, each func(string)) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return
	}
	for {
		names, err := dir.Readdirnames(512)
		for _, n := range names {
			each(n)
		}
		if err != nil {
			return
		}
	}
}

// removeNewborn removes what a JVM has left that was killed before its ring was complete.
func (r *Rings) removeNewborn(file string, now time.Time) {
	f, err := statedir.OpenFile(r.work.source, file, unix.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || now.Sub(info.ModTime()) < newbornAge {
		return
	}
	if unwritten(int(f.Fd())) {
		_ = unix.Unlinkat(int(r.work.source.Fd()), file, 0)
	}
}

// removeJournals removes journals whose ring is gone: their texts are complete.
func (r *Rings) removeJournals() {
	eachName(r.work.state, func(file string) {
		n, ok := parseName(file, journalSuffix)
		if !ok {
			return
		}
		var st unix.Stat_t
		if unix.Fstatat(int(r.work.source.Fd()), n.ring(), &st, unix.AT_SYMLINK_NOFOLLOW) == unix.ENOENT {
			_ = unix.Unlinkat(int(r.work.state.Fd()), file, 0)
		}
	})
}

// Status is how a ring is doing. Sizes are in bytes.
type Status struct {
	Name      string // of the ring's file
	PID       int64  // as the JVM sees it
	Capacity  int64
	Used      int64 // claimed, and not given back
	Abandoned bool
	Gone      bool   // its JVM is, so that the ring is read to its end
	Problem   string // why it is not read now. Empty: it is
}

// Status returns the rings by name.
func (r *Rings) Status() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Status
	for _, n := range slices.SortedFunc(maps.Keys(r.drains), name.compare) {
		d := r.drains[n]
		st := Status{Name: n.ring(), PID: d.file.pid, Capacity: int64(d.file.capacity), Abandoned: d.last.abandoned, Gone: d.gone}
		if d.control.tail > d.last.pos {
			st.Used = int64(d.control.tail - d.last.pos)
		}
		if d.why != nil {
			st.Problem = d.why.Error()
		}
		all = append(all, st)
	}
	return all
}
