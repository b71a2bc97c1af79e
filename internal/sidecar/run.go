package sidecar

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/jvm/census"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/segment/owner"
	"github.com/ullage/ullage/internal/ship/ring"
	"github.com/ullage/ullage/internal/ship/tail"
)

// Run ships until ctx ends and then drains, and meanwhile keeps the
// JVMs' log levels at what is wanted. The admin HTTP goes on until all of it
// is over.
func Run(ctx context.Context, cfg Config, of build.Info, log *slog.Logger) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), of.Metric("ullage_build_info"))
	marking := cfg.marking(log)
	rings := ring.New(reg, log)
	cfg.Ship.OnSource, cfg.Ship.Tail.OnRing = rings.Open, rings.Wake
	saving := newSaving(marking.journal, log)
	triggers := saving.triggers(&cfg, reg)
	cfg.levels()
	loop := levels.New(cfg.Levels, triggers, levels.Outlets{AppLevel: rings.Raise, Mark: marking.journal.Add, Save: saving.save}, reg, log)
	jvms := cfg.observe(triggers, reg, log)
	roster := census.New(cfg.Levels.Config, marking.journal.Add, reg, log)
	marking.ofSource(&cfg, of, roster)
	sinks, err := cfg.sinks(reg, log)
	if err != nil {
		return err
	}
	events := &recent{}
	cfg.Ship.Followers.OnGap = events.gap
	var server *admin.Server
	cfg.Ship.OnDestination = func(dir string) { listenFor(dir, server) } // once the shipper runs
	shipper := saving.ship(&cfg, reg, log)
	started := time.Now()
	cfg.Admin.Connections = tail.Connections()
	server, err = admin.New(cfg.Admin, reg, admin.Answers{
		Ready: func() error { return cmp.Or(shipper.Ready(), sinks.Ready()) },
		Status: func() any {
			st := statusOf(cfg, of, shipper, sinks, loop, roster.Files(), reg, started)
			st.Rings = ringsOf(rings.Status())
			return st
		},
		Recent: func() admin.Recent { return events.answer(jvms) },
	}, log)
	if err != nil {
		return err
	}
	cfg.begin(server, of, log)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var serve, work errgroup.Group
	serve.Go(func() error { return server.Run(serving) })
	ctx, cancel := context.WithCancel(ctx)
	work.Go(func() error { // the levels belong to the owner of the source, as its lines do
		if !shipper.AwaitTurn(ctx) {
			return nil
		}
		return loop.Run(ctx)
	})
	looked, endLooking := context.WithCancel(context.Background())
	work.Go(func() error { // events belong to the owner as well
		defer endLooking()
		if shipper.AwaitTurn(ctx) {
			rings.Run(ctx, endLooking)
		}
		return nil
	})
	work.Go(func() error { marking.watch(ctx, shipper, roster); return nil })
	if jvms != nil {
		work.Go(func() error { jvms.Run(ctx); return nil })
	}
	work.Go(func() error { cfg.yield(ctx, cancel, log); return nil })
	work.Go(func() error { giveBack(ctx); return nil })
	shipped, done := context.WithCancel(context.WithoutCancel(ctx))
	work.Go(func() error {
		if !shipper.AwaitTurn(ctx) {
			return nil
		}
		return cfg.feed(ctx, sinks, shipped)
	})
	shipping, stop := marking.before(ctx, looked.Done())
	err = shipper.Run(shipping)
	stop()
	done()
	cancel()
	err = errors.Join(err, work.Wait())
	stopServing()
	return errors.Join(err, serve.Wait())
}

// listenFor lets readers of the durable copy in dir ask the sidecar. Whoever opens the
// destination reports why it does not exist.
func listenFor(dir string, server *admin.Server) {
	if addr, err := owner.Address(dir); err == nil {
		server.ListenAt(addr)
	}
}

// begin logs the start, and takes the scheduling policy of a sidecar.
func (c *Config) begin(server *admin.Server, of build.Info, log *slog.Logger) {
	listen := c.Admin.Listen
	if addr := server.Addr(); addr != nil {
		listen = addr.String() // with the real port
	}
	log.Info("starting", "source", c.Ship.Tail.Source, "match", c.Ship.Tail.Match, "dest", c.Ship.Dest,
		"compress", c.Ship.Segment.Compress.String(), "listen", listen, "version", of.Version)
	if err := batch(); err != nil {
		log.Warn("batch scheduling failed", "error", err, "hint", "a JVM on the same processors may be interrupted more often; all else works")
	}
}

// levels completes the settings of the levels by those of others.
func (c *Config) levels() {
	c.Levels.Source, c.Levels.Match = c.Ship.Tail.Source, c.Ship.Tail.Match
	c.Levels.Known = knownAnnotations()
}
