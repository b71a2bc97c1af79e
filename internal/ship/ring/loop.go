package ring

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/kernel"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/ship/position"
)

// Run takes events out of rings until ctx ends. Then it takes out the remaining events, but only for a
// short time. It calls ending once it has looked at each ring one more time after the end of ctx. From
// then on, each ring that still has events has its text open for writing.
func (r *Rings) Run(ctx context.Context, ending func()) {
	timer := kernel.NewTimer(0)
	defer timer.Stop()
	var ended time.Time
	done := ctx.Done()
	for pause := time.Duration(0); ; {
		if r.wait(timer, pause, done) {
			done, ended = nil, time.Now()
		}
		now := time.Now()
		over := !ended.IsZero()
		pause = r.round(now, over)
		if over {
			ending()
			ending = func() {}
		}
		if over && (r.idle() || now.Sub(ended) > lastWords) {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.drains {
		r.part(d.drain)
		_ = d.raise(loggers.Levels{}) // nothing is raised until the next process knows which levels are wanted
	}
	r.leave()
}

// wait waits for a pause, for a requested listing, or for done, and reports whether done was closed. A pause of
// 0 means that there is more to take. In that case, wait sets no timer: after a timer, the goroutine might have
// to wait for a processor.
func (r *Rings) wait(timer *kernel.Timer, pause time.Duration, done <-chan struct{}) bool {
	if pause == 0 {
		select {
		case <-done:
			return true
		case <-r.woken:
			r.ask()
		default:
		}
		return false
	}
	timer.Reset(pause)
	select {
	case <-done:
		return true
	case <-r.woken:
		r.ask()
	case <-timer.C:
	}
	return false
}

// part lets tail remove a text whose last step is finished: it saves a journal entry that no longer names the
// text. The text of an unfinished step stays open until the process ends, so that tail keeps it for the next process.
func (r *Rings) part(d *drain) {
	switch {
	case d.text == nil, d.journal == nil: // nothing was appended
	case d.owed:
		r.kept = append(r.kept, d.text)
		d.text = nil
	default:
		e := d.next()
		e.text, e.base, e.end = position.Identity{}, 0, 0
		_ = d.journal.save(&e) // if this fails, the next process finds that the text is missing, and counts that
	}
}

// idle reports whether no JVM can write another event.
func (r *Rings) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reason := range r.refused {
		if reason == reasonTooMany {
			return false // the ring has not had its turn yet
		}
	}
	return len(r.drains) == 0
}

// ask makes a listing due.
func (r *Rings) ask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.asked = true
}

// round takes one step of each ring, and returns when the next round is due. If all is set, it does everything at
// once: it also lists the source and asks whether JVMs are gone.
func (r *Rings) round(now time.Time, all bool) (pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.work == nil {
		return noPace
	}
	if all || len(r.drains) > 0 && now.Sub(r.seen.ticked) >= tickInterval {
		r.seen.ticked = now
		r.tick(now)
	}
	pause = noPace
	switch rest := r.seen.after.Sub(now); {
	case all, r.seen.asked && rest <= 0:
		r.list(now)
	case r.seen.asked:
		pause = rest
	}
	for n, d := range r.drains {
		pause = min(pause, r.drain(n, d, now))
	}
	r.metrics.cuts.report(now)
	return pause
}

// drain takes one step of a ring, and returns when the next step is due.
func (r *Rings) drain(n name, d *running, now time.Time) time.Duration {
	if now.Before(d.after) {
		return d.after.Sub(now)
	}
	if d.failed {
		if d.gone {
			r.remove(n, d, now)
		}
		return errorPace
	}
	var taken uint64
	err := d.text.checkRoom(r.work.source, r.budget.Load(), r.taken)
	if err == nil {
		taken, err = d.step(now)
	}
	if d.note(r, err, now); err != nil {
		return d.after.Sub(now)
	}
	switch {
	case taken >= blockBytes/2:
		d.busy = now
		return 0
	case taken > 0:
		d.busy = now
	case d.over():
		r.remove(n, d, now)
		return errorPace
	}
	if taken > d.file.capacity/32 {
		return floodPace
	}
	return paceBehind(now.Sub(d.busy))
}

// taken returns how much of the budget is known to be taken: by the spool and by the texts of all rings.
func (r *Rings) taken() int64 {
	bytes := r.spool.Load()
	for _, d := range r.drains {
		bytes += d.text.memory()
	}
	return bytes
}

// floodPace is the time until the next look at a ring that a flood of events fills. At 100 MB/s, half of 4 MiB is
// full after 20 ms. So a drain may be late by most of that time, for instance because the kernel runs other
// threads.
const floodPace = 2 * time.Millisecond

// paceBehind returns the time until the next look at a ring whose last event was the given time ago. The look itself
// costs 2 µs, but waking up the process costs a hundred times as much.
func paceBehind(event time.Duration) time.Duration {
	switch {
	case event < 100*time.Millisecond:
		return 5 * time.Millisecond
	case event < time.Second:
		return 20 * time.Millisecond
	case event < 10*time.Second:
		return 50 * time.Millisecond
	}
	return 200 * time.Millisecond
}

// note records the error of a step, and gives up a ring that cannot be read any further.
func (d *running) note(r *Rings, err error, now time.Time) {
	d.why = err
	if err == nil {
		return
	}
	reason := reasonOf(err)
	d.after = now.Add(errorPause)
	if reason == reasonRoom {
		d.after = now.Add(roomPause)
	}
	first := !d.logged[reason]
	d.logged[reason] = true
	switch reason {
	case reasonSize, reasonSparse, reasonCursor:
		d.failed = true
		_ = d.file.setFlag(abandonedAt, 1) // otherwise the JVM would find its ring full
	case reasonStuck, reasonWord:
	default:
		if !first {
			return // the reason has already been counted and logged
		}
	}
	r.metrics.errors.WithLabelValues(reason).Inc()
	if first {
		// messages.md#events: `reason` is explained in [events.md](events.md#files). Logged once
		// for each ring and reason. With `room`, free memory of the tmpfs; the sidecar tries again.
		r.log.Warn("reading events from a ring failed", "ring", d.name.ring(), "reason", reason, "error", err)
	}
}

// remove ends a drain whose ring is finished.
func (r *Rings) remove(n name, d *running, now time.Time) {
	if err := d.remove(); err != nil {
		d.note(r, err, now)
		return
	}
	r.end(n)
	r.seen.asked = true // another ring may now get its turn
}

// tick asks whether JVMs are gone and checks the files of the rings.
func (r *Rings) tick(now time.Time) {
	for n, d := range r.drains {
		if !d.gone {
			known := d.file.lease == nil
			if d.gone = d.file.writerless(); known && d.file.lease != nil {
				r.unanswered(n, d.file.lease)
			}
		}
		if err := errors.Join(d.file.checkSize(), d.file.checkMemory()); err != nil && !d.failed {
			d.note(r, err, now)
		}
		if err := d.raise(r.raised); err != nil {
			d.note(r, err, now)
		}
		d.checkText()
		if d.failed && !d.named() {
			r.end(n)
		}
	}
}

// unanswered records that the kernel does not show whether a ring's JVM is gone. Such a ring is read but never
// removed. Without this warning, the problem would first show when the JVM is restarted and finds too many
// rings.
func (r *Rings) unanswered(n name, why error) {
	r.metrics.errors.WithLabelValues(reasonLease).Inc()
	// messages.md#events: The sidecar does not run as the JVM's user, so the kernel does not
	// answer. The ring is read but never removed: after many restarts of the JVM there are too many
	// rings. Run the sidecar as the JVM's user.
	r.log.Warn("checking whether a ring's JVM is gone failed", "ring", n.ring(), "reason", reasonLease, "error", why,
		"hint", "run the sidecar as the JVM's user: until then the ring is read but never removed")
}

// checkText closes a text that was unlinked. Package tail reads the old file to its end, but after a restart,
// new lines in it would stay unread.
func (d *drain) checkText() {
	if d.text == nil || d.owed {
		return
	}
	if _, links, err := d.text.stat(); err == nil && links == 0 {
		d.text.close()
		d.text = nil
	}
}

// named reports whether the ring still has its name.
func (d *drain) named() bool {
	var st unix.Stat_t
	return unix.Fstatat(int(d.source.Fd()), d.name.ring(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Ino == d.file.id.Ino
}
