package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/read/report/view"
)

// errEnded is the error for a pod without a process that could read its log.
var errEnded = errors.New("the pod has ended: read its log where the destination is, or in the sink")

func reportCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := reportConfig{single: single{cluster: c}}
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	cfg.flags(fs, time.Now())
	e.Words = cfg.single.cluster.words(ctx)
	if code, ok := e.Parse(fs, reportAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	pods, err := cfg.compares(ctx)
	if err == nil && pods != nil {
		err = cfg.fleet(ctx, pods, e)
	} else if err == nil {
		err = cfg.one(ctx, e)
	}
	if err != nil {
		return e.Fail("report", err)
	}
	return cli.OK
}

// compared is one log of a comparison, or a pod without a log to compare.
type compared struct {
	of  sidecar // for a pod without a sidecar, only the pod's name is set
	err error   // not nil: the log is not compared
}

// compares returns the pods that the label selects, if their logs are to be compared. A single pod is compared only for
// JSON, whose form does not depend on the number of pods: a page about a single pod shows more than a comparison.
func (c *reportConfig) compares(ctx context.Context) ([]pod, error) {
	if c.cluster.selector == "" {
		return nil, nil
	}
	pods, err := c.cluster.pods(ctx, nil)
	if err != nil || len(pods) == 0 || len(pods) == 1 && !c.json {
		return nil, err
	}
	return pods, nil
}

// fleet compares the persisted logs of many pods. A pod whose log cannot be read is named on stderr and on the page;
// the others are compared.
func (c *reportConfig) fleet(ctx context.Context, pods []pod, e cli.Env) error {
	all := c.logs(pods)
	fleet := c.read(ctx, all, e)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed []error
	for _, one := range all {
		if one.err != nil {
			fleet.Miss(one.of.String(), one.err)
			failed = append(failed, fmt.Errorf("not compared: %s: %w", one.of, one.err))
		}
	}
	if len(fleet.Logs) == 0 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		fmt.Fprintf(e.Stderr, "kubectl ullage report: %s\n", printable.Line(err.Error()))
	}
	fleet.Compare()
	if c.json {
		return fleet.JSON(e.Stdout)
	}
	var page bytes.Buffer
	if err := fleet.HTML(&page); err != nil {
		return err
	}
	return c.show("report", "pods", page.Bytes(), e)
}

// logs returns the sidecars of the pods, each of which has its own log, and the pods whose log cannot
// be read.
func (c *reportConfig) logs(pods []pod) (all []compared) {
	for _, p := range pods {
		one := compared{of: sidecar{cluster: c.cluster.in(p.Metadata.Namespace), pod: p.Metadata.Name}, err: errNoSidecar}
		if p.ended() {
			one.err = errEnded
			all = append(all, one)
			continue
		}
		found := 0
		for _, s := range c.cluster.sidecars(p) {
			if c.container != "" && s.container.Name != c.container {
				continue
			}
			found++
			all = append(all, compared{of: s, err: s.unable()})
		}
		if found == 0 {
			if c.container != "" {
				one.err = fmt.Errorf("it has no sidecar %q", c.container)
			}
			all = append(all, one)
		}
	}
	return all
}

// unable returns why the sidecar cannot be queried, or nil if it runs.
func (s sidecar) unable() error {
	if s.down != "" {
		return errors.New(s.down)
	}
	return nil
}

// read reads the readable logs, several at a time. It keeps a few figures of each.
func (c *reportConfig) read(ctx context.Context, all []compared, e cli.Env) *view.Fleet {
	var mu sync.Mutex // guards the fleet
	fleet, shown := &view.Fleet{}, newProgress(e.Stderr, len(all))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range all {
		one := &all[i]
		if one.err != nil {
			shown.step()
			continue
		}
		g.Go(func() error {
			defer shown.step()
			var figures *view.Report
			if figures, one.err = c.figures(ctx, one.of); one.err != nil {
				return nil
			}
			figures.Name = one.of.String() // not the name that the container uses
			mu.Lock()
			defer mu.Unlock()
			fleet.Add("", figures)
			return nil
		})
	}
	_ = g.Wait() // the errors are in the logs
	shown.clear()
	return fleet
}

// figures creates the report in a sidecar.
func (c *reportConfig) figures(ctx context.Context, s sidecar) (*view.Report, error) {
	dest, err := destination(ctx, s)
	if err != nil {
		return nil, err
	}
	return s.report(ctx, c.reportArgs(dest))
}
