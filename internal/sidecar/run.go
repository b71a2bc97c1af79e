package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/ship"
)

// Run ships until ctx ends and then drains. Until ctx ends, it also keeps the log levels of the
// JVMs as requested. The admin HTTP runs until the drain is over. busy, which may be nil, is called
// with true while there is much to do; see [ship.Outlets].
func Run(ctx context.Context, cfg Config, of build.Info, busy func(bool), log *slog.Logger) error {
	p, err := assemble(cfg, of, log)
	if err != nil {
		return err
	}
	if cfg.Shown != nil {
		cfg.Shown(p.answers())
	}
	p.begin()
	return p.run(ctx, p.connect(busy))
}

// begin logs the start and switches the process to batch scheduling.
func (p *parts) begin() {
	listen := p.cfg.Admin.Listen
	if addr := p.server.Addr(); addr != nil {
		listen = addr.String() // with the real port
	}
	p.log.Info("starting", "source", p.cfg.Ship.Tail.Source, "match", p.cfg.Ship.Tail.Match, "dest", p.cfg.Ship.Dest,
		"compress", p.cfg.Ship.Segment.Compress.String(), "listen", listen, "version", p.of.Version)
	if err := batch(); err != nil {
		// messages.md#the-source: The kernel or a seccomp profile refuses `sched_setattr`. A JVM on
		// the same processors may be interrupted more often; everything else works.
		p.log.Warn("batch scheduling failed", "error", err, "hint", "a JVM on the same processors may be interrupted more often; everything else works")
	}
}

// run runs all parts until ctx ends, and then drains: first the ends of JVMs and the events of
// rings are added to the source, then the source is drained, and then the sinks. The HTTP server,
// which shows all of this, stops last.
func (p *parts) run(ctx context.Context, to ship.Outlets) error {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var serve, work errgroup.Group
	serve.Go(func() error { return p.server.Run(serving) })

	ctx, cancel := context.WithCancel(ctx)
	shipped, allShipped := context.WithCancel(context.WithoutCancel(ctx))
	looked, endLooking := context.WithCancel(context.WithoutCancel(ctx)) // looked ends after the last look at the rings
	released, endAdopting := context.WithCancel(context.WithoutCancel(ctx))
	work.Go(func() error {
		defer endAdopting()
		return p.ours(ctx, func(ctx context.Context) error { return p.levels.Run(ctx, endAdopting) })()
	})
	work.Go(func() error { defer endLooking(); return p.ours(ctx, p.events(endLooking))() })
	work.Go(func() error { defer close(p.marking.settled); return p.ours(ctx, p.census)() })
	// The sinks wait for their turn until everything is shipped, not only until ctx ends: a drain
	// that began before the source was ours also ships lines, which the sinks must get.
	work.Go(p.ours(shipped, func(context.Context) error { return p.feed(ctx, shipped) }))
	if p.insight != nil {
		work.Go(func() error { p.insight.Run(ctx); return nil })
	}
	work.Go(func() error { p.cfg.yield(ctx, cancel, p.log); return nil })
	work.Go(func() error { giveBack(ctx); return nil })

	shipping, stop := p.marking.before(ctx, released.Done(), looked.Done())
	err := p.shipper.Run(shipping, to)
	stop()
	allShipped()
	cancel()
	err = errors.Join(err, work.Wait())
	stopServing()
	return errors.Join(err, serve.Wait())
}

// ours returns a function that runs a part once the source is ours, unless ctx ends before that.
// Like the lines of the source, the levels, the events of rings and the census belong to its owner.
func (p *parts) ours(ctx context.Context, run func(context.Context) error) func() error {
	return func() error {
		if !p.shipper.AwaitTurn(ctx) {
			return nil
		}
		return run(ctx)
	}
}

// events returns the function that runs the rings. It calls looked after the last look at them.
func (p *parts) events(looked func()) func(context.Context) error {
	return func(ctx context.Context) error { p.rings.Run(ctx, looked); return nil }
}

// census watches the JVMs.
func (p *parts) census(ctx context.Context) error { p.jvms.Run(ctx); return nil }

// feed runs the sinks until everything is shipped, and then until the sinks have everything or
// the drain timeout is over. The timeout begins when ctx ends.
func (p *parts) feed(ctx, shipped context.Context) error {
	stop, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.cfg.Ship.DrainTimeout, cut) })()
	return p.sinks.Run(shipped, stop)
}
