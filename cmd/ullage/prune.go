package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/segment/prune"
)

const pruneAbout = `ullage prune removes the durable copies of pods that are gone from a volume that
many pods share.

Usage:
  ullage prune [--older-than 168h] [--keep-bytes 50Gi] [--yes] [-o json] DIR

Examples:
  ullage prune --older-than 168h /mnt/jvm-logs        # what would be removed
  ullage prune --older-than 168h --yes /mnt/jvm-logs  # remove it

Nothing is removed without --yes: the command prints what it would remove.

DIR is where the volume is mounted. In it, each pod's sidecar has a directory,
NAMESPACE/POD, or NAMESPACE/POD/CONTAINER. A directory is removed if nothing was
written to it for --older-than and no sidecar holds its lock. A running sidecar
holds its lock even if its JVM has been silent for long. With --keep-bytes, the
youngest of the old directories are kept while their total is below that size; a
directory that does not fit into the rest is removed, and smaller, older ones
may still be kept. Only files that a sidecar has written are removed.

It needs the right to remove files of the users that the sidecars run as. It
exits with 1 if a directory could not be removed.
`

// minAge protects the directory of a sidecar that has just started.
const minAge = time.Hour

// pruneConfig has the settings of `ullage prune`.
type pruneConfig struct {
	prune.Config
	yes    bool // if false, nothing is removed
	asJSON bool
}

func (c *pruneConfig) flags(fs *flag.FlagSet) {
	c.OlderThan = 168 * time.Hour
	settings.DurationVar(fs, &c.OlderThan, "older-than", c.OlderThan, "remove directories that were last written to at least this `DURATION` ago; not below 1h")
	fs.Var(&c.KeepBytes, "keep-bytes", "keep the youngest of the old directories up to this `SIZE` in total")
	fs.BoolVar(&c.yes, "yes", false, "remove the directories; without this flag, print what would be removed")
	cli.JSONFlags(fs, &c.asJSON, "print JSON, one object a line")
}

func (c *pruneConfig) validate(args []string) []error {
	var bad []error
	if len(args) == 0 {
		bad = append(bad, errors.New("no directory given: name the mount point of the volume"))
	} else {
		bad = cli.Unexpected(args[1:])
	}
	if c.OlderThan < minAge {
		bad = append(bad, fmt.Errorf("invalid value %s for --older-than: it must be at least %s", c.OlderThan, minAge))
	}
	if c.KeepBytes < 0 {
		bad = append(bad, errors.New("--keep-bytes must not be negative"))
	}
	return bad
}

func pruneCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg pruneConfig
	fs := flag.NewFlagSet("prune", flag.ContinueOnError)
	cfg.flags(fs)
	e.Operand = "DIR"
	if code, ok := e.Parse(fs, pruneAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	cfg.DryRun = !cfg.yes
	p := &pruned{env: e, asJSON: cfg.asJSON, now: time.Now()}
	err := prune.Run(ctx, fs.Arg(0), cfg.Config, p.now, p.report)
	p.summarize(cfg.DryRun, err)
	if err != nil {
		return e.Fail("prune", err)
	}
	if cfg.DryRun && p.gone.directories > 0 {
		fmt.Fprintln(e.Stderr, "nothing was removed: run the command again with --yes")
	}
	return p.code
}

// pruned prints the result for each directory and adds up the totals.
type pruned struct {
	env    cli.Env
	asJSON bool
	now    time.Time

	gone, left tally
	code       int
}

// prunedJSON is the result for one directory, for programs.
type prunedJSON struct {
	Path   string `json:"path"` // relative to the mount point of the volume
	State  string `json:"state"`
	Bytes  int64  `json:"bytes"`            // on disk
	Newest string `json:"newest,omitempty"` // the time of the last write, in the format of RFC 3339
	Error  string `json:"error,omitempty"`
}

func (p *pruned) report(r prune.Result) {
	var failure error
	switch r.State {
	case prune.Removed, prune.Would:
		p.gone.add(r.Bytes)
	case prune.Failed:
		failure = r.Err
	case prune.Foreign:
		failure = errors.New("it holds files that no sidecar wrote; they are kept")
	default:
		p.left.add(r.Bytes)
	}
	if failure != nil {
		p.code = p.env.Fail("prune", fmt.Errorf("%s: %w", printable.Line(r.Path), failure))
	}
	switch {
	case p.asJSON:
		p.printJSON(r, failure)
	case failure == nil && r.State != prune.Young:
		fmt.Fprintf(p.env.Stdout, "%-12s %9s  %6s  %s\n", r.State, printable.Bytes(r.Bytes), printable.Seconds(p.now.Sub(r.Newest).Seconds()), printable.Line(r.Path))
	}
}

// printJSON prints one line. In a path, which the pods chose, it escapes characters that a terminal would interpret.
func (p *pruned) printJSON(r prune.Result, failure error) {
	one := prunedJSON{Path: r.Path, State: r.State, Bytes: r.Bytes}
	if !r.Newest.IsZero() {
		one.Newest = r.Newest.UTC().Format(time.RFC3339)
	}
	if failure != nil {
		one.Error = failure.Error()
	}
	text, err := json.Marshal(one)
	if err == nil {
		_, err = fmt.Fprintln(p.env.Stdout, printable.JSON(string(text)))
	}
	if err != nil {
		p.code = p.env.Fail("prune", fmt.Errorf("print JSON: %w", err))
	}
}

// summarize prints the totals. If the volume could not be read at all, it prints nothing, because err says why.
func (p *pruned) summarize(dryRun bool, err error) {
	if p.asJSON || err != nil && p.gone.directories+p.left.directories == 0 {
		return
	}
	did := prune.Removed
	if dryRun {
		did = prune.Would
	}
	fmt.Fprintf(p.env.Stdout, "%s: %s; left: %s\n", did, p.gone, p.left)
}

// tally adds up directories.
type tally struct {
	directories int
	bytes       settings.Size
}

func (t *tally) add(bytes int64) {
	t.directories++
	t.bytes += settings.Size(bytes)
}

func (t tally) String() string {
	noun := "directories"
	if t.directories == 1 {
		noun = "directory"
	}
	return fmt.Sprintf("%d %s, %s", t.directories, noun, printable.Bytes(int64(t.bytes)))
}
