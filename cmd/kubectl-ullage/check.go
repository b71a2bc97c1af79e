package main

import (
	"context"
	"flag"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
)

const checkAbout = `kubectl ullage check reports whether what a pod's sidecar has persisted is
complete.

Usage:
  kubectl ullage check TARGET [--since T] [--until T] [--stream S] [-o json] [-c NAME]

Examples:
  kubectl ullage check web-0
  kubectl ullage check deploy/web --since 1h
  kubectl ullage check web-0 --stream 'gc*.log' -o json

TARGET is a pod, a workload, as deploy/web, or -l SELECTOR. Of several pods, the
command takes the oldest that is ready, and says on stderr which that is.

It runs 'ullage check' in the sidecar and takes the same values. It exits with 0
if the copy is complete, and with 1 if it is not or cannot be read.

A pod with several JVM containers has a sidecar for each: -c names one.
`

// checkConfig has the settings of `kubectl ullage check`.
type checkConfig struct {
	single
	since, until string // in the form that 'ullage check' takes
	stream       string
	json         bool
}

// flags declares the settings on fs. A time without a zone is in the zone of now.
func (c *checkConfig) flags(fs *flag.FlagSet, now time.Time) {
	c.single.flags(fs)
	zonedVar(fs, &c.since, "since", now, "only lines at `T` or later: a duration before now, or a time")
	zonedVar(fs, &c.until, "until", now, "only lines up to `T`, as for --since")
	fs.StringVar(&c.stream, "stream", "", "only streams whose name matches `GLOB`")
	cli.JSONFlags(fs, &c.json, "print JSON, one object a line")
}

func checkCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := checkConfig{single: single{cluster: c}}
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	cfg.flags(fs, time.Now())
	e.Words = cfg.cluster.words(ctx)
	if code, ok := e.Parse(fs, checkAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	s, dest, err := cfg.persisted(ctx, e, "check")
	if err != nil {
		return e.Fail("check", err)
	}
	return s.stream(ctx, e, "check", false, cfg.checkArgs(dest))
}

// checkArgs returns the arguments for the sidecar's program.
func (c *checkConfig) checkArgs(dest string) []string {
	args := []string{"check"}
	for _, flag := range [][2]string{{"since", c.since}, {"until", c.until}, {"stream", c.stream}} {
		if flag[1] != "" {
			args = append(args, "--"+flag[0]+"="+flag[1])
		}
	}
	if c.json {
		args = append(args, "--json")
	}
	return append(args, dest)
}
