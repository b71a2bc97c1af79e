package ship

import (
	"context"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ullage/ullage/internal/base/kernel"
)

const (
	// After a round of reading, events are left in the kernel for a while: most of them merge
	// there, and one wake-up serves many lines. The pause is shorter while much is being written, and
	// while files appear and disappear: a JVM that rotates small files soon overwrites an archive,
	// and lines in it that were not read are lost. At such times, the reader does not wait for
	// events, each of which wakes two threads: it checks the directory and the files from which it
	// has read. As long as lines flow, events get a turn only now and then, for other files. Once
	// many lines flow, the source is not watched, so the kernel generates no events; see attend.
	calmPace   = 20 * time.Millisecond
	eventPace  = 100 * time.Millisecond
	hurryPace  = 2 * time.Millisecond
	hurryBytes = 64 << 10

	roundBytes = 1 << 20 // bytes to read before other work gets its turn
	maxEvents  = 4096    // events to handle at once

	offerTime = 50 * time.Microsecond // how long the watcher has to offer another event

	showInterval = 100 * time.Millisecond
)

// run reads until ctx ends, and then until everything is committed or stop ends.
func (r *reader) run(ctx, stop context.Context) error {
	poll := kernel.NewTicker(pollInterval)
	defer poll.Stop()
	r.poll, r.pace = poll, kernel.NewTimer(time.Hour)
	defer r.pace.Stop()
	defer r.view.update(r.src)
	for {
		r.round()
		now := time.Now()
		r.load.see(r.full || r.more || r.hurried(), now)
		r.load.flow.see(r.read, now)
		r.attend(now)
		if (r.full || r.more || r.src.Relief.Refusing()) && !now.Before(r.press.at) {
			r.press.relieve(r.full)
		}
		r.show()
		if r.drain.on && !r.more && !r.full && !r.drain.asked && !r.src.Scanner.Stale() && r.finished() {
			r.drain.asked = true
			r.link.flush <- flush{claims: r.src.Start.Claims()}
		}
		if drained, err := r.wait(ctx, stop); drained || err != nil {
			return err
		}
	}
}

// round scans the directory if that is due, and reads until there is nothing more, the
// queue is full, or it is time for other work.
func (r *reader) round() {
	found, err := r.src.Scanner.Scan()
	if err != nil {
		// messages.md#the-source: The next poll, within a second, tries again.
		r.log.Warn("scanning the source failed", "error", err, "hint", "the next poll tries again")
	}
	if found > 0 {
		r.load.rotated = time.Now()
	}
	r.read, r.more, r.full = 0, false, false
	if r.link.queue.Bytes() == 0 && r.link.oldest.Load() == 0 {
		r.link.progress.Store(time.Now().UnixNano()) // there was nothing for the destination to accept
	}
	for r.read < roundBytes {
		if r.link.queue.Bytes() >= r.budget.queueBytes {
			r.full = true
			return
		}
		area := r.link.queue.Reserve(r.src.Reader.Area())
		if area == nil {
			r.full = true
			return
		}
		now := time.Now()
		n, c, ok := r.src.Reader.Next(area)
		if !ok {
			if r.to.CaughtUp != nil {
				r.to.CaughtUp()
			}
			r.caught.with(now, r.src.Scanner.Stale())
			return
		}
		c.Since = r.caught.up
		r.link.queue.Push(n, c)
		r.read += n
	}
	r.more = true
}

// wait waits for one of a reader's events and handles it.
func (r *reader) wait(ctx, stop context.Context) (drained bool, err error) {
	var (
		space <-chan struct{}
		pace  <-chan time.Time
		more  <-chan struct{}
		end   = ctx.Done()
	)
	events, failures := r.src.Watcher.Events()
	switch {
	case r.full:
		space = r.link.queue.Space()
		events, pace = nil, r.pace.C
		r.pace.Reset(r.paceFull())
	case r.more:
		more = always
	case r.drain.on && !r.drain.asked:
		pace = r.pace.C
		r.pace.Reset(calmPace)
	case r.read > 0, r.src.Scanner.Stale(), r.eventful, r.src.Watcher.Suspended():
		events, pace = nil, r.pace.C
		r.pace.Reset(r.paceNow())
	}
	if r.drain.on {
		end = nil
	}
	select {
	case <-stop.Done():
		return false, stop.Err()
	case <-end:
		r.drain.on, r.drain.since = true, time.Now()
		r.src.Drain()
	case ev := <-events:
		r.handled = time.Now()
		r.take(ev)
		r.eventful = r.src.Relief.Refusing()
	case err := <-failures:
		r.src.Watcher.HandleError(err)
	case <-r.poll.C:
		r.tick()
	case <-r.link.replies.wake:
		r.settle()
	case done := <-r.link.catchUp:
		r.caught.asked = append(r.caught.asked, done)
		r.src.Watcher.LookAgain()
	case request := <-r.link.rewind:
		request.done <- r.rewind(request)
	case <-r.link.flushed:
		r.settle()
		r.settle() // closes files that have just lost their names
		if r.drain.asked && r.drain.goesOn(r.src.Drain()) {
			r.drain.asked = false
		}
		return r.drain.asked, nil
	case <-space:
	case <-more:
	case <-pace:
		r.eventful = false
		now := time.Now()
		if r.full || now.Sub(r.handled) >= eventPace {
			r.handled = now
			r.takeWaiting()
		}
		r.look(now)
	}
	return false, nil
}

// look checks, without events, what there is to scan and to read.
func (r *reader) look(now time.Time) {
	r.load.looked = now
	r.src.Watcher.Poll()
}

// attend decides whether the JVMs' writes generate events. While lines flow, they generate none: the
// reader does not wait for events then, and each event would slow down the write that causes it.
// While there is a backlog, there may be no pause after which the reader looks for rotations, so
// attend looks for them.
func (r *reader) attend(now time.Time) {
	watcher, flow := r.src.Watcher, &r.load.flow
	switch quiet := flow.quiet(now); {
	case r.full, !quiet && (flow.steady || r.hurried()):
		watcher.Suspend()
	case quiet && !flow.steady:
		watcher.Resume()
	}
	if (r.more || r.full) && watcher.Suspended() && now.Sub(r.load.looked) >= hurryPace {
		r.look(now)
	}
}

// lastWords is how long draining waits for writers to end. At the end of a pod's grace
// period, the kubelet kills the JVM and the sidecar at the same moment, and the JVM may
// write a little longer.
const lastWords = 500 * time.Millisecond

// finished reports whether draining has read everything. When no process writes any more, one
// more round reads the lines that were written just before. run does not call finished while a
// due scan has yet to take place, because the scan may find files.
func (r *reader) finished() bool {
	if r.drain.silent {
		return true
	}
	r.drain.silent = time.Since(r.drain.since) >= lastWords || !r.src.Relief.Written()
	if r.drain.silent && r.to.Finished != nil {
		r.to.Finished()
	}
	r.src.Drain()
	return false
}

// always is a channel that is always ready.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (r *reader) paceNow() time.Duration {
	switch {
	case r.hurried(), r.src.Scanner.Stale():
		return hurryPace
	case r.src.Watcher.Suspended() && r.load.flow.quiet(time.Now()):
		return eventPace
	}
	return calmPace
}

// hurried reports whether much is being written, or files appear and disappear.
func (r *reader) hurried() bool {
	return r.read >= hurryBytes || time.Since(r.load.rotated) < time.Second
}

// paceFull returns how long the reader waits while the queue has no room. New files must be
// seen even if nothing can be read and checking the pressure takes a long time.
func (r *reader) paceFull() time.Duration {
	pace := pressurePace
	if time.Since(r.load.rotated) < time.Second {
		pace = hurryPace
	}
	return max(0, min(pace, time.Until(r.press.at)))
}

// take handles an event and the events that are waiting after it.
func (r *reader) take(ev fsnotify.Event) {
	r.src.Watcher.Handle(ev)
	r.takeWaiting()
}

// takeWaiting handles the events that are waiting. The goroutine of the watcher offers one event at a time, so it gets a
// moment to offer the next: otherwise a changed annotation waits for as many turns as there are events before it.
func (r *reader) takeWaiting() {
	events, _ := r.src.Watcher.Events()
	offered := time.Now()
	for n := 0; n < maxEvents; {
		select {
		case ev := <-events:
			r.src.Watcher.Handle(ev)
			n++
			offered = time.Now()
		default:
			if n == 0 || time.Since(offered) >= offerTime {
				return
			}
			runtime.Gosched()
		}
	}
}

// settle reclaims committed bytes. It reclaims nothing until the destination has confirmed the
// checkpoint: with a checkpoint of another destination, it would unlink the only copy of a
// finished log.
func (r *reader) settle() {
	r.takeCommitted()
	if !r.view.isRestored() {
		return
	}
	r.link.news.setFiles(r.src.Reclaimer.Reclaim())
}

// show updates the view of the source, but not too often.
func (r *reader) show() {
	if now := time.Now(); now.Sub(r.shown) >= showInterval {
		r.shown = now
		r.view.update(r.src)
		r.view.setDropping(r.press.reason())
	}
}

// tick is the slow poll.
func (r *reader) tick() {
	if r.src.CloseGone() {
		// messages.md#the-source: Also logged for `SOURCE/.ullage` and the file `owner` in it. Open
		// files of the old directory are read to their end.
		r.log.Warn("source directory was replaced or removed", "source", r.cfg.Tail.Source,
			"hint", "perhaps only its .ullage was; open files of the old directory are read to their end")
	}
	if r.src.Dir() == nil {
		_ = r.open() // open has logged the first failure
	}
	r.src.Tick()
	r.load.flow.tick()
	r.settle()
	if r.src.Dir() != nil && !r.full && !r.src.Relief.Refusing() {
		m := r.budget.measure()
		r.budget.adapt(m.budget, m.spool)
		r.press.marks.reset()
	}
}
