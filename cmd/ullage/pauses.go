package main

import (
	"context"
	"flag"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
)

const pausesAbout = `ullage pauses prints how long a JVM's application was stopped, by cause, and the
ten longest stops with their lines.

Usage:
  ullage pauses [--since T] [--until T] [--stall-floor D] [--json] [DIR|FILE...]

Examples:
  ullage pauses /var/lib/ullage
  ullage pauses --since 10m /var/lib/ullage/gc.log
  kubectl exec POD -c ullage -- ullage pauses --since 1h

DIR and FILE are as for 'ullage report', which shows more. --json prints the
same JSON as 'ullage report --json'.

Exit status: 0 printed, 1 something failed, 2 usage error.
`

func pausesCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg report.Config
	fs := flag.NewFlagSet("pauses", flag.ContinueOnError)
	now := time.Now()
	readFlags(fs, &cfg, now)
	asJSON := false
	cli.JSONFlags(fs, &asJSON, "print the report as JSON")
	validate := func() []error {
		bad := cfg.Validate()
		if len(whatToRead(fs, e)) == 0 {
			bad = append(bad, errNothingToReport)
		}
		return bad
	}
	e.Operand = "FILE"
	if code, ok := e.Parse(fs, pausesAbout, args, validate); !ok {
		return code
	}
	e.NoteFuture("pauses", cfg.Since, now)
	r, err := readReport(ctx, whatToRead(fs, e), cfg, e)
	switch {
	case err != nil:
	case asJSON:
		err = view.JSON(e.Stdout, r)
	default:
		err = r.Pauses(e.Stdout, reportStyle(e))
	}
	if err != nil {
		return e.Fail("pauses", err)
	}
	return cli.OK
}
