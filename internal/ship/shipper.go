package ship

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/segment"
	"github.com/ullage/ullage/internal/tail"
)

// Shipper ships one source directory to one destination. Create it with
// [New], then call [Shipper.Run] once.
type Shipper struct {
	cfg     Config
	log     *slog.Logger
	reg     prometheus.Registerer
	metrics *metrics
	view    *view

	src    *tail.Source
	store  *segment.Store
	link   *link
	ledger *ledger
	check  *checkpoint
	reader *reader
	writer *writer

	drained atomic.Bool // everything was committed
}

// New returns a Shipper for a valid cfg. It touches neither the source nor the
// destination: [Shipper.Run] does.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) *Shipper {
	cfg.Tail.LineLimit = cfg.lineLimit()
	s := &Shipper{cfg: cfg, log: log, reg: reg, view: &view{}}
	s.link = newLink(cfg)
	s.metrics = newMetrics(reg, s.link, s.view)
	s.src = tail.New(cfg.Tail, reg, log)
	s.ledger = newLedger()
	s.check = newCheckpoint()
	s.reader = &reader{cfg: cfg, log: log, link: s.link, src: s.src, ledger: s.ledger, check: s.check, view: s.view,
		press: pressure{discardAt: float64(cfg.DiscardAt) / 100, dropAt: float64(cfg.DropAt) / 100}}
	return s
}

// Run ships until ctx ends, then drains: it reads every file to its end,
// commits, and returns nil. The source may be missing at first. It fails if the
// destination cannot be written to at the start, and if the budget is more than
// the source has.
//
// If draining takes longer than DrainTimeout it returns an error that says what
// is left; a call into the destination that does not return is then left
// behind, and the process should exit.
func (s *Shipper) Run(ctx context.Context) error {
	if err := s.reader.waitForSource(ctx); err != nil {
		s.src.Close()
		if ctx.Err() != nil {
			return s.view.unreadable()
		}
		return err
	}
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() {
		s.log.Info("draining", "timeout", s.cfg.DrainTimeout.String())
		time.AfterFunc(s.cfg.DrainTimeout, cancel)
	})
	done := make(chan error, 1)
	go func() { done <- s.work(ctx, stop, cancel) }()
	select {
	case err := <-done:
		return s.end(err)
	case <-stop.Done():
	}
	// The loops end at once, unless the destination holds the writer.
	select {
	case err := <-done:
		return s.end(err)
	case <-time.After(250 * time.Millisecond):
	}
	if s.drained.Load() {
		return nil
	}
	return s.undrained("a call into the destination has not returned")
}

// open opens the destination. It may never return.
func (s *Shipper) open() error {
	store, err := segment.Open(s.cfg.Dest, s.cfg.Segment, s.reg, s.log)
	if err != nil {
		return fmt.Errorf("open destination: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(s.cfg.Dest, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
		s.log.Warn("the destination is on a tmpfs: what is persisted there is gone with the node", "dest", s.cfg.Dest)
	}
	s.store = store
	s.link.progress.Store(time.Now().UnixNano())
	s.check.setKey(store.Key())
	s.writer = newWriter(s.cfg, s.link, store, s.ledger, s.check, s.view, s.metrics, s.log)
	s.writer.cpu = newGovernor(float64(s.cfg.CPU))
	return nil
}

// work opens the destination and restores, then runs both loops until the
// reader is done.
func (s *Shipper) work(ctx, stop context.Context, cancel func()) error {
	if err := s.open(); err != nil {
		return err
	}
	if err := s.restore(stop); err != nil {
		return err
	}
	var g errgroup.Group
	g.Go(func() error {
		defer cancel()
		err := s.reader.run(ctx, stop)
		s.drained.Store(err == nil)
		return err
	})
	g.Go(func() error {
		if err := s.writer.run(stop); !errors.Is(err, context.Canceled) {
			cancel()
			return err
		}
		return nil
	})
	return g.Wait()
}

// end closes everything once the loops are over.
func (s *Shipper) end(err error) error {
	if errors.Is(err, context.Canceled) {
		err = s.undrained("the drain timeout is over")
	}
	if err == nil {
		s.log.Info("drained")
		err = s.view.unreadable()
	}
	s.src.Close()
	s.check.attach(nil)
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

// undrained says what is left of the source.
func (s *Shipper) undrained(why string) error {
	st := s.Stats()
	if st.Failure != "" {
		why += "; " + st.Failure
	}
	return fmt.Errorf("not drained within %s: %d bytes of %q are not durable, they stay there for the next start: %s",
		s.cfg.DrainTimeout, st.Usage.Backlog, s.cfg.Tail.Source, why)
}

// stallLag is for how long, beyond what the settings ask for, lines may wait
// before that is a stall.
const stallLag = 5 * time.Second

// Ready returns why lines do not become durable now, or nil when they do.
func (s *Shipper) Ready() error {
	s.link.mu.Lock()
	failure := s.link.failure
	s.link.mu.Unlock()
	if failure != nil {
		return failure
	}
	if err := s.view.notReady(); err != nil {
		return err
	}
	if lag := s.link.lag(time.Now()); lag > stallLag+2*s.cfg.SyncInterval {
		return fmt.Errorf("the destination stalls: a line has been waiting for it for %s", lag.Round(time.Second))
	}
	return nil
}
