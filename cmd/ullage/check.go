package main

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/segment/owner"
)

const checkAbout = `ullage check reads a durable copy and reports whether it is complete.

Usage:
  ullage check [--since T] [--until T] [--stream S] [--format GLOB=NAME] [--json] [DIR]

Examples:
  ullage check /var/lib/ullage
  ullage check --since 1h --stream 'gc*.log' /var/lib/ullage
  kubectl exec POD -c ullage -- ullage check --since 10m

DIR is a destination (the --dest of 'ullage run') or the directory of one stream
in it; the default is the destination in ULLAGE_DEST. Write --since and --until
as for 'ullage logs': a duration before now, or a time.

For each stream, and each run of a JVM in it, a row has the time range and the
lines by level. A new run begins where the uptime in the log decreases. A ~
precedes a time that is estimated, because the lines have no date. Below its
rows, a stream has one line for each kind of loss:

  gaps       lines that the sidecar dropped, by reason and level
  jvm        lines that the JVM itself dropped and reported (-Xlog:async), and places
             where it lost lines because its tmpfs was full
  damaged    bytes that do not decode
  unreadable segments that cannot be opened or read
  missing    segments that are missing although retention did not delete them
  archives   archives that the JVM overwrote before they were read
  truncated  how often a file was truncated in place: what was lost is unknown
  short      retention has deleted lines that were written after --since

A copy is also not complete while a running sidecar holds lines that are not in
it yet, or has dropped lines whose gap is not in it yet. ullage check asks the
sidecar if it runs in the same pod or on the same machine and gives it a few
seconds to persist the lines that it has just read. If a sidecar owns the
destination but cannot be asked, the copy is not complete either. Nor is it
complete if no stream has any line in that time: a JVM that logged nothing looks
like one whose log never arrived.

Two lines count the marks of 'ullage run' by kind (see 'ullage logs --marks'),
and the marks that mean lost lines or a crash. Marks belong to no JVM, so they
are not shown as a stream.

The last line sums up, and reports how far back the copy reaches. With --json,
each run, each stream and the sum is one JSON object per line.

Lines that never reached the source are in no copy. Without a running sidecar,
ullage check does not look at what is left on a tmpfs: the next sidecar ships
it.

Exit status: 0 complete, 1 not complete or not readable, 2 usage error.
`

// checkConfig has the settings of `ullage check`.
type checkConfig struct {
	check.Config
	json bool
}

// flags declares the settings on fs. A duration means a time that long before now.
func (c *checkConfig) flags(fs *flag.FlagSet, now time.Time) {
	windowFlags(fs, &c.Since, &c.Until, now)
	fs.StringVar(&c.Stream, "stream", "", "only streams whose name matches `GLOB`")
	fs.Var(&c.Formats, "format", "formats of streams, as for 'ullage run': `GLOB=NAME`")
	cli.JSONFlags(fs, &c.json, "print JSON, one object a line")
}

func (c *checkConfig) validate(args []string) []error {
	if len(args) == 0 {
		return append(c.Validate(), errors.New("nothing to check: name the --dest of 'ullage run' (or set ULLAGE_DEST to it), or a stream's directory in it"))
	}
	return append(append(c.Validate(), noBucket(args[0])...), cli.Unexpected(args[1:])...)
}

func checkCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg checkConfig
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	now := time.Now()
	cfg.flags(fs, now)
	e.Operand, e.Words = "DIR", cli.Words{"stream": streamsOf(fs, e)}
	if code, ok := e.Parse(fs, checkAbout, args, func() []error { return cfg.validate(whatToRead(fs, e)) }); !ok {
		return code
	}
	e.NoteFuture("check", cfg.Since, now)
	dir, err := filepath.EvalSymlinks(whatToRead(fs, e)[0])
	if err != nil {
		return e.Fail("check", err)
	}
	names, err := cfg.Names(dir)
	if err != nil {
		return e.Fail("check", err)
	}
	p := newCheckPrinter(e.Stdout, names, cfg.json)
	progress := cli.NewProgress(e.Stderr)
	if progress != nil {
		cfg.Progress = progress.Read
	}
	total, err := check.Streams(ctx, dir, names, cfg.Config, clearing{p, progress})
	progress.Clear()
	if err == nil {
		err = p.total(total)
	}
	switch {
	case err != nil:
		return e.Fail("check", err)
	case !total.Complete:
		return cli.Failure
	}
	return cli.OK
}

// clearing removes the progress line before each result, because both may go to the same terminal.
type clearing struct {
	check.Receiver
	progress *cli.Progress
}

// Lack implements [check.Receiver].
func (c clearing) Lack(l owner.Lack) error {
	c.progress.Clear()
	return c.Receiver.Lack(l)
}

// Run implements [check.Receiver].
func (c clearing) Run(r check.Run) error {
	c.progress.Clear()
	return c.Receiver.Run(r)
}

// Stream implements [check.Receiver].
func (c clearing) Stream(s check.Stream) error {
	c.progress.Clear()
	return c.Receiver.Stream(s)
}
