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

// New opens the destination of a valid cfg and returns a Shipper for it. It
// fails if the destination cannot be written to. The source may be missing.
func New(cfg Config, reg prometheus.Registerer, log *slog.Logger) (*Shipper, error) {
	store, err := segment.Open(cfg.Dest, cfg.Segment, reg, log)
	if err != nil {
		return nil, fmt.Errorf("open destination: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(cfg.Dest, &st); err == nil && st.Type == unix.TMPFS_MAGIC {
		log.Warn("the destination is on a tmpfs: what is persisted there is gone with the node", "dest", cfg.Dest)
	}
	cfg.Tail.LineLimit = cfg.lineLimit()
	s := &Shipper{cfg: cfg, log: log, store: store, view: &view{}}
	s.link = newLink(cfg)
	s.metrics = newMetrics(reg, s.link, s.view)
	s.src = tail.New(cfg.Tail, reg, log)
	s.ledger = newLedger()
	s.check = newCheckpoint(store.Key())
	s.writer = newWriter(cfg, s.link, store, s.ledger, s.check, s.metrics, log)
	s.reader = &reader{cfg: cfg, log: log, link: s.link, src: s.src, ledger: s.ledger, check: s.check, view: s.view}
	return s, nil
}

// Run ships until ctx ends, then drains: it reads every file to its end,
// commits, and returns nil. If that takes longer than DrainTimeout it returns
// an error that says what is left; a call into the destination that does not
// return is then left behind, and the process should exit.
func (s *Shipper) Run(ctx context.Context) error {
	if err := s.reader.waitForSource(ctx); err != nil {
		return errors.Join(s.view.unreadable(), s.store.Close())
	}
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() {
		s.log.Info("draining", "timeout", s.cfg.DrainTimeout.String())
		time.AfterFunc(s.cfg.DrainTimeout, cancel)
	})
	done := make(chan error, 1)
	go func() { done <- s.loops(ctx, stop, cancel) }()
	select {
	case err := <-done:
		return s.end(err)
	case <-stop.Done():
	}
	// The loops end at once, unless the destination holds the writer.
	select {
	case err := <-done:
		return s.end(err)
	case <-time.After(time.Second):
	}
	if s.drained.Load() {
		return nil
	}
	return s.undrained("a call into the destination has not returned")
}

// loops restores, then runs both loops until the reader is done.
func (s *Shipper) loops(ctx, stop context.Context, cancel func()) error {
	if err := s.restore(stop); err != nil {
		return err
	}
	s.view.setRestored()
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
	return errors.Join(err, s.store.Close())
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

// Ready returns why lines do not become durable now, or nil when they do.
func (s *Shipper) Ready() error {
	s.link.mu.Lock()
	failure := s.link.failure
	s.link.mu.Unlock()
	if failure != nil {
		return failure
	}
	return s.view.notReady()
}
