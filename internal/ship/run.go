package ship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/retry"
	"github.com/ullage/ullage/internal/line/mark"
	"github.com/ullage/ullage/internal/segment/store"
)

// Run ships until ctx ends, and reports events to the outlets. Then it drains: it reads every file to its
// end, commits, and returns nil. The source may be missing at first. Run fails at the start if the
// destination cannot be written to, unless its volume is full, or if the budget is larger than the source.
//
// A drain is over only once the destination has confirmed every claim of the checkpoint about lines that are
// still in the source. If draining takes longer than DrainTimeout, Run returns an error with the number of
// bytes left. A call into the destination may still be blocked then, so the process should exit.
func (s *Shipper) Run(ctx context.Context, to Outlets) error {
	connect(s, to)
	if err := s.reader.waitForSource(ctx); err != nil {
		s.src.Close()
		if ctx.Err() != nil {
			return s.view.unreadable()
		}
		return err
	}
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// A failed start ends before ctx and drains nothing.
	drains := context.AfterFunc(ctx, func() {
		s.log.Info("draining", "timeout", s.cfg.DrainTimeout.String())
		time.AfterFunc(s.cfg.DrainTimeout, cancel)
	})
	defer drains()
	go func() { s.ended <- s.work(ctx, stop, cancel) }()
	select {
	case err := <-s.ended:
		return s.end(err)
	case <-stop.Done():
	}
	// The loops end at once unless the destination blocks the writer.
	select {
	case err := <-s.ended:
		return s.end(err)
	case <-time.After(250 * time.Millisecond):
	}
	if s.drained.Load() {
		return nil
	}
	return s.undrained("a call into the destination has not returned")
}

// answerTime is how long a start waits for the destination. After that, the sidecar reads and
// relieves the source without it, since JVMs continue to write. After silentTime, the sidecar
// logs that the destination does not answer.
const (
	answerTime = 50 * time.Millisecond
	silentTime = time.Second
)

// errNoAnswer is the reason why nothing becomes durable after silentTime.
var errNoAnswer = errors.New("the destination has not answered since the start")

// opened is the destination's answer.
type opened struct {
	store *store.Store
	err   error
}

// open opens the destination. It may never return. A destination that was never used needs space
// for its own files and has no segments that retention could delete. So on a full volume, open
// waits for space until stop ends.
func (s *Shipper) open(stop context.Context) opened {
	s.to.destination(s.cfg.Dest)
	durable, err := store.Open(s.cfg.Dest, s.cfg.Segment, s.reg, s.log)
	for backoff := newBackoff(); errorKind(err) == fullError; {
		pause := backoff.Next()
		s.metrics.destinationErrors.WithLabelValues(fullError).Inc()
		s.link.health.failed(err, time.Time{}, s.log, s.cfg.Dest, pause)
		if err := retry.Sleep(stop, pause); err != nil {
			return opened{err: err}
		}
		durable, err = store.Open(s.cfg.Dest, s.cfg.Segment, s.reg, s.log)
	}
	if err != nil {
		return opened{err: err}
	}
	s.to.destination(s.cfg.Dest)
	durable.KeepFor(s.to.Followers.Needed, s.to.Followers.Deleted)
	var st unix.Statfs_t
	if err := unix.Statfs(s.cfg.Dest, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
		// messages.md#the-destination: Persisted lines are lost when the node restarts. Give
		// `--dest` a disk.
		s.log.Warn("destination is on a tmpfs", "dest", s.cfg.Dest, "hint", "persisted lines are lost when the node restarts")
	}
	return opened{store: durable}
}

// work opens the destination, restores the source, and then runs both loops until the reader is done.
func (s *Shipper) work(ctx, stop context.Context, cancel func()) error {
	answer, keyed, err := s.ask(stop)
	if err != nil {
		return err
	}
	from, err := s.restore(keyed)
	if err != nil {
		return err
	}
	var loops errgroup.Group
	var failed error // the writer's error, which causes any later error of the reader
	loops.Go(func() error {
		defer cancel()
		err := s.reader.run(ctx, stop)
		s.drained.Store(err == nil)
		return err
	})
	loops.Go(func() error {
		// stop never has its own cause, so its error is Canceled, whatever ends ctx.
		if err := s.write(stop, answer, from); !errors.Is(err, context.Canceled) {
			failed = err
			cancel()
		}
		return nil
	})
	if err := loops.Wait(); failed == nil {
		return err
	}
	return failed
}

// ask starts to open the destination and waits a moment for the answer. keyed means that the
// answer, and with it the key, has arrived.
func (s *Shipper) ask(stop context.Context) (answer chan opened, keyed bool, err error) {
	answer = make(chan opened, 1)
	go func() { answer <- s.open(stop) }()
	select {
	case a := <-answer:
		if a.err != nil {
			return nil, false, a.err
		}
		s.store.Store(a.store)
		s.check.SetKey(a.store.Key(), a.store.Number())
		s.link.progress.Store(time.Now().UnixNano())
		answer <- a
		return answer, true, nil
	case <-time.After(answerTime):
		return answer, false, nil
	}
}

// write waits for the destination and runs the writer. It fails if the destination cannot
// be written to at the start.
func (s *Shipper) write(stop context.Context, answer <-chan opened, from start) error {
	silenced, silent := make(chan struct{}), false
	silence := time.AfterFunc(silentTime, func() {
		defer close(silenced)
		if s.link.health.current() != nil {
			return // open has already given a reason: the volume is full
		}
		silent = true
		s.link.health.setFailure(errNoAnswer, time.Time{})
		// messages.md#the-destination: A call into the destination has not returned for a second
		// after the start. Look at the disk, or the server of the volume.
		s.log.Warn("destination does not answer", "dest", s.cfg.Dest,
			"hint", "reading continues without it; lines are dropped when the source fills up")
	})
	defer silence.Stop()
	a := s.await(answer)
	if a.err != nil {
		return a.err
	}
	s.store.Store(a.store)
	if !from.keyed {
		s.link.progress.Store(time.Now().UnixNano())
		from = s.unseal(from)
	}
	s.writer = newWriter(s.cfg, s.to, s.link, a.store, s.check, s.detail, s.view, s.metrics, s.log)
	if err := (&placing{s.writer, from}).begin(stop); err != nil {
		return err
	}
	s.log.Info("shipping", "source", s.cfg.Tail.Source, "dest", s.cfg.Dest)
	if !silence.Stop() {
		<-silenced
		s.link.health.setFailure(nil, time.Time{})
		if silent {
			// messages.md#the-destination: The call that had not returned has returned.
			s.log.Info("destination answers again")
		}
	}
	return s.writer.run(stop)
}

// await waits for the destination. If the reader drains meanwhile, it is done only if no line
// depends on the destination: nothing is queued, and the checkpoint does not claim that lines
// in the source are durable. Such a claim may refer to another destination, which becomes known
// only once this destination has answered.
func (s *Shipper) await(answer <-chan opened) opened {
	for {
		select {
		case a := <-answer:
			return a
		case asked := <-s.link.flush:
			if asked.claims || s.link.queue.Bytes() > 0 {
				a := <-answer
				s.link.flush <- asked
				return a
			}
			s.link.flushed <- struct{}{}
		}
	}
}

// end closes everything once the loops have ended.
func (s *Shipper) end(err error) error {
	if errors.Is(err, context.Canceled) {
		err = s.undrained("the drain timeout is over")
	}
	if err == nil {
		s.log.Info("drained")
		err = errors.Join(s.view.unreadable(), s.unpersisted())
	}
	s.src.Close()
	s.check.Attach(nil)
	s.link.news.setDir(nil)
	if s.detail.held != nil {
		s.detail.held.Close()
	}
	if durable := s.store.Load(); durable != nil {
		err = errors.Join(err, durable.Close())
	}
	return err
}

// unpersisted returns an error if lines stay in the source because the destination refuses
// their stream. Otherwise it returns nil.
func (s *Shipper) unpersisted() error {
	var st admin.Status
	s.Show(&st)
	for _, st := range st.Streams {
		if st.Refused != "" && st.BacklogBytes > 0 {
			return fmt.Errorf("%d bytes of stream %q are not durable; they stay in %q for the next start: %w", st.BacklogBytes, st.Name, s.cfg.Tail.Source, s.link.health.refusal())
		}
	}
	return nil
}

// undrained returns an error with the number of bytes left in the source. It returns nil if
// only marks are left: the sidecar wrote them itself, so they are not a reason to fail.
func (s *Shipper) undrained(why string) error {
	var st admin.Status
	s.view.show(&st)
	left := st.BacklogBytes - backlogOfMarks(st)
	unconfirmed := s.view.unconfirmed()
	if left == 0 && st.BacklogBytes > 0 && !unconfirmed {
		// messages.md#the-source: The drain ended before the sidecar's own marks were durable.
		// Every line of the JVMs is durable. The next start ships the marks.
		s.log.Warn("marks were not shipped", "bytes", st.BacklogBytes, "reason", why)
		return nil
	}
	if failure := s.link.health.current(); failure != nil {
		why += "; " + failure.Error()
	}
	what := fmt.Sprintf("%d bytes of %q are not durable", left, s.cfg.Tail.Source)
	if unconfirmed {
		what += ", and the destination has not confirmed what the checkpoint claims to be durable"
	}
	return fmt.Errorf("not drained within %s: %s; these bytes stay in the source for the next start: %s", s.cfg.DrainTimeout, what, why)
}

func backlogOfMarks(st admin.Status) int64 {
	for _, stream := range st.Streams {
		if stream.Name == mark.Stream {
			return stream.BacklogBytes
		}
	}
	return 0
}
