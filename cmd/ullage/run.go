package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/admin"
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
	admin     admin.Config
	logFormat string
	logLevel  string
}

func defaultRunConfig() runConfig {
	return runConfig{ship: ship.DefaultConfig(), admin: admin.DefaultConfig(), logFormat: "text", logLevel: "info"}
}

// flags declares every setting of `ullage run` on fs.
func (c *runConfig) flags(fs *flag.FlagSet) {
	c.ship.Flags(fs)
	c.admin.Flags(fs)
	fs.StringVar(&c.logFormat, "log-format", c.logFormat, "`FORMAT` of the sidecar's own log on stderr: text or json")
	fs.StringVar(&c.logLevel, "log-level", c.logLevel, "`LEVEL` from which on the sidecar logs: debug, info, warn, error")
}

func (c *runConfig) validate() []error {
	bad := append(c.ship.Validate(), c.admin.Validate()...)
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

// runSidecar ships until ctx ends and then drains. The admin HTTP goes on
// until the drain is over.
func runSidecar(ctx context.Context, cfg runConfig, log *slog.Logger) error {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newBuildInfo())
	shipper, err := ship.New(cfg.ship, reg, log)
	if err != nil {
		return err
	}
	started := time.Now()
	server, err := admin.New(cfg.admin, reg, shipper.Ready, func() any { return statusOf(cfg, shipper, reg, started) }, log)
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
	var g errgroup.Group
	g.Go(func() error { return server.Run(serving) })
	err = shipper.Run(ctx)
	stopServing()
	if adminErr := g.Wait(); err == nil {
		err = adminErr
	}
	return err
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
