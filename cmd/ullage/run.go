package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/attach"
	"github.com/ullage/ullage/internal/levels"
	"github.com/ullage/ullage/internal/ship"
)

const runAbout = `ullage run follows the log files in a directory on tmpfs and persists their lines.

Usage:
  ullage run --source DIR --dest DIR [flags]

It waits for the source to appear, follows every file in it that matches, and
keeps going when the destination fails: the backlog then stays on the tmpfs. On
SIGTERM or SIGINT it reads every file to its end, commits, and exits with 0.
A second 'ullage run' on the same destination is refused.

Example:
  ullage run --source /dev/shm/jvm --dest /var/lib/ullage --compress none
`

// gcPercent makes the collector work twice as often as by default: the live
// heap is small beside the queue, which the collector need not scan, and
// resident memory counts for more than its CPU time here.
const gcPercent = 50

// runConfig is everything that `ullage run` can be told.
type runConfig struct {
	ship      ship.Config
	levels    levels.Config
	admin     admin.Config
	logFormat string
	logLevel  string
}

func defaultRunConfig() runConfig {
	return runConfig{ship: ship.DefaultConfig(), levels: levels.DefaultConfig(), admin: admin.DefaultConfig(), logFormat: "text", logLevel: "info"}
}

// flags declares every setting of `ullage run` on fs.
func (c *runConfig) flags(fs *flag.FlagSet) {
	c.ship.Flags(fs)
	c.levels.Flags(fs)
	c.admin.Flags(fs)
	fs.StringVar(&c.logFormat, "log-format", c.logFormat, "`FORMAT` of the sidecar's own log on stderr: text or json")
	fs.StringVar(&c.logLevel, "log-level", c.logLevel, "`LEVEL` from which on the sidecar logs: debug, info, warn, error")
}

func (c *runConfig) validate() []error {
	bad := slices.Concat(c.ship.Validate(), c.levels.Validate(), c.admin.Validate())
	if c.logFormat != "text" && c.logFormat != "json" {
		bad = append(bad, fmt.Errorf("--log-format %q is neither text nor json", c.logFormat))
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		bad = append(bad, fmt.Errorf("--log-level %q is none of debug, info, warn, error", c.logLevel))
	}
	return bad
}

// logger returns the sidecar's own log. The level is valid.
func (c *runConfig) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.logLevel))
	opts := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

func runCmd(ctx context.Context, args []string, e env) int {
	cfg := defaultRunConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.flags(fs)
	code, ok := e.parse(fs, runAbout, args, func() []error { return append(noArgs(fs), cfg.validate()...) })
	if !ok {
		return code
	}
	debug.SetGCPercent(gcPercent)
	if err := runSidecar(ctx, cfg, cfg.logger(e.stderr)); err != nil {
		return e.fail("run", err)
	}
	return exitOK
}

// runSidecar ships until ctx ends and then drains, and meanwhile keeps the
// JVMs' log levels at what is wanted. The admin HTTP goes on until all of it
// is over.
func runSidecar(ctx context.Context, cfg runConfig, log *slog.Logger) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newBuildInfo())
	manager := cfg.manager(reg, log)
	shipper, err := ship.New(cfg.ship, reg, log)
	if err != nil {
		return err
	}
	started := time.Now()
	server, err := admin.New(cfg.admin, reg, shipper.Ready, func() any { return statusOf(cfg, shipper, manager, reg, started) }, log)
	if err != nil {
		return err
	}
	listen := cfg.admin.Listen
	if addr := server.Addr(); addr != nil {
		listen = addr.String() // with the real port
	}
	log.Info("shipping", "source", cfg.ship.Tail.Source, "match", cfg.ship.Tail.Match, "dest", cfg.ship.Dest,
		"compress", cfg.ship.Segment.Compress.String(), "listen", listen, "version", thisBuild().Version)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var serve, work errgroup.Group
	serve.Go(func() error { return server.Run(serving) })
	ctx, cancel := context.WithCancel(ctx)
	work.Go(func() error { return manager.Run(ctx) })
	err = shipper.Run(ctx)
	cancel()
	err = errors.Join(err, work.Wait())
	stopServing()
	return errors.Join(err, serve.Wait())
}

// manager returns what looks after the log levels, and has it see the lines if
// they can matter to it.
func (c *runConfig) manager(reg prometheus.Registerer, log *slog.Logger) *levels.Manager {
	c.levels.Source, c.levels.Match = c.ship.Tail.Source, c.ship.Tail.Match
	c.levels.Known = knownAnnotations()
	m := levels.New(c.levels, reg, log)
	if c.levels.Annotations != "" && c.levels.Attach.Mode != attach.Off {
		c.ship.Tail.OnLine, c.ship.OnCaughtUp = m.Watch().Line, m.Watch().CaughtUp
	}
	return m
}

// knownAnnotations are the annotations, without their prefix, that are not
// live: each flag's, and those that only say how to inject the sidecar.
func knownAnnotations() []string {
	known := []string{"inject", "injected", "container", "xlog", "buffer"}
	cfg := defaultRunConfig()
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	cfg.flags(fs)
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	return known
}

// newBuildInfo is the metric that says what is running.
func newBuildInfo() prometheus.Collector {
	b := thisBuild()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "ullage_build_info",
		Help:        "1, with what the sidecar was built from as labels.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": strings.TrimPrefix(b.Go, "go")},
	})
	g.Set(1)
	return g
}
