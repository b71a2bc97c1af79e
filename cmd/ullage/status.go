package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
)

const statusAbout = `ullage status shows the state of a running 'ullage run'.

Usage:
  ullage status [--addr HOST:PORT] [--source DIR] [-w | -o json] [--timeout DURATION]

Examples:
  ullage status
  ullage status -w
  ullage status -o json | jq .headroomBytes
  kubectl exec POD -c ullage -- ullage status

It exits with 0 if the sidecar answers, even with "not ready". With --source it
exits with 1 if the sidecar of another source answers: several sidecars on one
machine, or in one pod, each need their own --listen.
`

// statusConfig has the settings of `ullage status`.
type statusConfig struct {
	addr    string
	source  string // of the sidecar that is asked; empty: any
	json    bool
	watch   bool
	timeout time.Duration
}

func (c *statusConfig) flags(fs *flag.FlagSet) {
	// The default of --listen has a port and no host.
	fs.StringVar(&c.addr, "addr", "127.0.0.1"+admin.DefaultConfig().Listen, "`HOST:PORT` where 'ullage run' listens (its --listen)")
	fs.StringVar(&c.source, "source", "", "the `DIR` that the sidecar ships; an answer from the sidecar of another directory is an error")
	cli.JSONFlags(fs, &c.json, "print the answer as JSON")
	cli.WatchFlags(fs, &c.watch)
	settings.DurationVar(fs, &c.timeout, "timeout", 3*time.Second, "wait at most this `DURATION` for the answer")
}

func (c *statusConfig) validate() []error {
	bad := cli.CheckWatch(c.watch, c.json)
	if host, port, err := net.SplitHostPort(c.addr); err != nil || host == "" || port == "" {
		bad = append(bad, fmt.Errorf("invalid value %q for --addr: write it like 127.0.0.1:9919", c.addr))
	}
	if c.timeout <= 0 {
		bad = append(bad, fmt.Errorf("invalid value %q for --timeout: it must be positive", c.timeout))
	}
	return bad
}

func statusCmd(ctx context.Context, args []string, e cli.Env) int {
	var c statusConfig
	fs := flag.NewFlagSet("status", flag.ContinueOnError)
	c.flags(fs)
	if code, ok := e.Parse(fs, statusAbout, args, func() []error { return append(c.validate(), cli.Unexpected(fs.Args())...) }); !ok {
		return code
	}
	if c.watch {
		return e.Watch(ctx, "status", func(ctx context.Context) (string, error) {
			_, st, err := c.ask(ctx)
			if err != nil {
				return "", err
			}
			var b strings.Builder
			err = renderStatus(&b, st)
			return b.String(), err
		})
	}
	body, st, err := c.ask(ctx)
	if err != nil {
		return e.Fail("status", err)
	}
	if c.json {
		_, err = io.WriteString(e.Stdout, printable.JSON(string(body)))
	} else {
		err = renderStatus(e.Stdout, st)
	}
	if err != nil {
		return e.Fail("status", fmt.Errorf("write the answer: %w", err))
	}
	return cli.OK
}

// ask returns the answer of the chosen sidecar, both raw and decoded.
func (c statusConfig) ask(ctx context.Context) ([]byte, admin.Status, error) {
	body, st, err := admin.Client{Addr: c.addr, Timeout: c.timeout}.Status(ctx)
	if errors.Is(err, admin.ErrUnreachable) {
		err = fmt.Errorf("cannot reach %s: is 'ullage run' running? (%w)", c.addr, err)
	}
	if err == nil {
		err = c.checkSource(st)
	}
	return body, st, err
}

// checkSource returns an error if the sidecar of another source answered.
func (c statusConfig) checkSource(st admin.Status) error {
	if c.source == "" {
		return nil
	}
	want, err := filepath.Abs(c.source)
	if err != nil {
		return fmt.Errorf("find --source: %w", err)
	}
	if st.Source != want {
		return fmt.Errorf("%s is the sidecar of %s, not of %s: ask another --addr (each 'ullage run' needs its own --listen)", c.addr, st.Source, want)
	}
	return nil
}
