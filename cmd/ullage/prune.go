package main

import (
	"context"
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
  ullage prune [--older-than 168h] [--keep-bytes 50Gi] [--yes] DIR

Examples:
  ullage prune --older-than 168h /mnt/jvm-logs        # what would go
  ullage prune --older-than 168h --yes /mnt/jvm-logs  # remove it

Nothing is removed without --yes: the command prints what it would remove.

DIR is where the volume is mounted. In it, each pod's sidecar has a directory,
NAMESPACE/POD, or NAMESPACE/POD/CONTAINER. A directory is removed if nothing was
written to it for --older-than and no sidecar holds its lock, however long that
sidecar's JVM has been silent. With --keep-bytes, the youngest of the old
directories stay as long as they take no more than that together: one that is
larger than what is left of it goes alone. Only what a sidecar has written is
removed.

It needs the right to remove files of the users that the sidecars run as. It
exits with 1 if a directory could not be removed.
`

// minAge protects the directory of a sidecar that has just been started.
const minAge = time.Hour

// pruneConfig has the settings of `ullage prune`.
type pruneConfig struct {
	prune.Config
	yes bool // without it, nothing is removed
}

func (c *pruneConfig) flags(fs *flag.FlagSet) {
	c.OlderThan = 168 * time.Hour
	settings.DurationVar(fs, &c.OlderThan, "older-than", c.OlderThan, "remove directories that were not written to for this `DURATION`, at least 1h")
	fs.Var(&c.KeepBytes, "keep-bytes", "keep the youngest of the old directories up to this `SIZE` in total")
	fs.BoolVar(&c.yes, "yes", false, "remove the directories; without this flag, print what would be removed")
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
	now, code := time.Now(), cli.OK
	var gone, left tally
	err := prune.Run(ctx, fs.Arg(0), cfg.Config, now, func(r prune.Result) {
		name := printable.Line(r.Path)
		switch r.State {
		case prune.Removed, prune.Would:
			gone.add(r.Bytes)
		case prune.Failed:
			code = e.Fail("prune", fmt.Errorf("%s: %w", name, r.Err))
			return
		case prune.Foreign:
			code = e.Fail("prune", fmt.Errorf("%s: it holds files that no sidecar wrote; they stay", name))
			return
		default:
			left.add(r.Bytes)
			if r.State == prune.Young {
				return
			}
		}
		fmt.Fprintf(e.Stdout, "%-12s %9s  %6s  %s\n", r.State, printable.Bytes(r.Bytes), printable.Seconds(now.Sub(r.Newest).Seconds()), name)
	})
	did := prune.Removed
	if cfg.DryRun {
		did = prune.Would
	}
	if err == nil || gone.directories+left.directories > 0 {
		fmt.Fprintf(e.Stdout, "%s: %s; left: %s\n", did, gone, left)
	}
	if err != nil {
		return e.Fail("prune", err)
	}
	if cfg.DryRun && gone.directories > 0 {
		fmt.Fprintln(e.Stderr, "nothing was removed: run the command again with --yes")
	}
	return code
}

// tally counts directories.
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
