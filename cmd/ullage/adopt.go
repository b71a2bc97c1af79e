package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/adopt"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
	"github.com/ullage/ullage/internal/sidecar"
)

const adoptAbout = `ullage adopt ships the log of a JVM that is already running, for a while, and
then restores the JVM's own logging. It needs no preparation.

Usage:
  ullage adopt PID|NAME [SELECTION] [--for 10m] [flags]
  ullage adopt --all [SELECTION] [--for 10m] [flags]

Examples:
  ullage adopt 4711
  ullage adopt com.example.Main 'gc*=debug,safepoint=info' --for 5m
  ullage adopt app.jar --dest /var/tmp/incident
  sudo ullage adopt --all --for 1h

NAME is a word of the JVM's command line: its main class, with or without its
package, or its jar. SELECTION is written as in -Xlog; the default is
` + adoptSelection + `. The JVM logs into a private directory in its /dev/shm.
ullage uses at most an eighth of that tmpfs. If more than half of it is already
in use, ullage changes nothing and exits with 1. --all adopts at most 16 JVMs:
if there are more, it changes none of them and exits with 1.

When the time is up, or on Ctrl-C or SIGTERM, the JVM logs what it logged
before. Everything that it wrote meanwhile is in --dest (default: a new
directory in the current one), with a report, ullage-report.html, next to it. If
the JVM ends first, ullage still writes the report. If ullage is killed (kill
-9), the next 'ullage adopt' of that JVM continues where it stopped, and then
cleans up.

Run it as the JVM's user and group, or as root.

Exit status: 0 the JVM was adopted, and its own logging was restored or it has
ended; 1 it was not adopted, or something failed; 2 usage error.
`

// adoptSelection is also the injector's default selection.
const adoptSelection = "gc*=info,safepoint=info"

// adoptConfig has the settings of `ullage adopt`.
type adoptConfig struct {
	sidecar sidecar.Config
	target  string // empty: all JVMs
	all     bool
	lasts   time.Duration
	leaving
}

func newAdoptConfig() *adoptConfig {
	c := &adoptConfig{sidecar: sidecar.DefaultConfig(), lasts: 10 * time.Minute}
	c.sidecar.SinkKinds = sinkKinds()
	c.sidecar.Ship.Dest, c.sidecar.Ship.Tail.Source = "", "/proc" // later, each JVM gets its own
	c.sidecar.Admin.Listen = admin.Off
	c.sidecar.Log = settings.LogAt(slog.LevelError)
	return c
}

// groups returns the settings by subject.
func (c *adoptConfig) groups() []settings.Group {
	all := []settings.Group{{Title: "What is adopted", Flags: func(fs *flag.FlagSet) {
		fs.BoolVar(&c.all, "all", false, "adopt all JVMs that are visible here")
		settings.DurationVar(fs, &c.lasts, "for", c.lasts, "`DURATION` after which the JVM is released")
	}}}
	all = append(all, c.sidecar.Ship.CopyGroups()...)
	all = append(all, settings.Group{Title: "In a container that ends with the adoption", Flags: c.leaving.flags})
	return append(all, settings.Group{Title: "Further copies", Flags: c.sidecar.Sinks.Flags},
		settings.Group{Title: "The program itself", Flags: c.sidecar.Log.Flags})
}

func (c *adoptConfig) flags(fs *flag.FlagSet) { settings.Declare(fs, c.groups()) }

// validate reads the arguments and returns the errors in them and in the flags.
func (c *adoptConfig) validate(args []string, now time.Time) (bad []error) {
	adopts := c.all || len(args) > 0
	if bad := c.leaving.validate(c.sidecar.Ship.Dest, adopts); len(bad) > 0 || c.fetch || c.who {
		return bad
	}
	if !c.all && len(args) == 0 {
		return []error{errors.New("no JVM named: give its process ID, a word of its command line, or --all")}
	}
	if !c.all {
		c.target, args = args[0], args[1:]
	}
	if c.sidecar.Ship.Dest == "" {
		c.sidecar.Ship.Dest = "ullage-adopt-" + now.Format("20060102-150405")
	}
	selection := adoptSelection
	if len(args) > 0 {
		selection, args = args[0], args[1:]
	}
	var err error
	if c.sidecar.Levels.Adopt, err = ask.ParseSelection(selection); err != nil {
		bad = append(bad, err)
	}
	if err := ask.CheckFor(c.lasts); err != nil {
		bad = append(bad, fmt.Errorf("--for: %w", err))
	}
	return append(append(bad, cli.Unexpected(args)...), c.sidecar.Validate()...)
}

func adoptCmd(ctx context.Context, args []string, e cli.Env) int {
	c := newAdoptConfig()
	fs := flag.NewFlagSet("adopt", flag.ContinueOnError)
	c.flags(fs)
	e.Groups = c.groups()
	code, ok := e.Parse(fs, adoptAbout, args, func() []error { return c.validate(fs.Args(), time.Now()) })
	if !ok {
		return code
	}
	dest, out := c.sidecar.Ship.Dest, newNotes(e.Stderr)
	if c.who || c.fetch {
		if err := c.answer(ctx, dest, e); err != nil {
			return e.Fail("adopt", err)
		}
		return cli.OK
	}
	if err := c.forget(dest); err != nil {
		return e.Fail("adopt", err)
	}
	visits, err := c.begin(ctx, out, e)
	if err != nil {
		return e.Fail("adopt", err)
	}
	host := &host{lasts: c.lasts, visits: visits, out: out, stopped: func() bool { return c.stopped(dest) }}
	host.wait(ctx)
	if err := errors.Join(host.end(), c.report(ctx, visits, e)); err != nil {
		code = e.Fail("adopt", err)
	}
	if slices.ContainsFunc(visits, func(v *visit) bool { return v.adopted }) {
		if err := c.linger(ctx, dest, out); err != nil {
			code = e.Fail("adopt", err)
		}
	}
	return code
}

// begin finds the JVMs and starts a sidecar for each.
func (c *adoptConfig) begin(ctx context.Context, out *notes, e cli.Env) (visits []*visit, err error) {
	guests, left, err := adopt.Find(ctx, c.target)
	for _, why := range left {
		e.Fail("adopt", why)
	}
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, g := range guests {
		v, err := c.visit(g, len(guests))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		visits = append(visits, v)
	}
	if len(visits) == 0 {
		return nil, errors.Join(bad...)
	}
	for _, why := range bad {
		e.Fail("adopt", why)
	}
	busy := beModest(int64(c.sidecar.Ship.Queue)*int64(len(visits)), e)
	if len(visits) > 1 {
		busy = nil // one processor is enough only if all sources are calm
	}
	for _, v := range visits {
		v.start(ctx, busy, c.sidecar.Log.Logger(out))
	}
	return visits, nil
}

// visit prepares the sidecar of one of n JVMs.
func (c *adoptConfig) visit(g adopt.Guest, n int) (*visit, error) {
	v := &visit{guest: g, cfg: c.sidecar}
	ship := &v.cfg.Ship
	if n > 1 {
		pid := strconv.Itoa(g.JVM.Process())
		ship.Dest = filepath.Join(ship.Dest, pid)
		v.cfg.Sinks.Pod.Name += "-" + pid // the streams of two JVMs have the same names
	}
	var err error
	if v.place, err = adopt.Make(g.JVM, n); err != nil {
		return nil, err
	}
	if err = os.MkdirAll(ship.Dest, 0o755); err == nil && v.place.On(ship.Dest) {
		err = fmt.Errorf("it is on the tmpfs of %s, which belongs to the application: name a directory on a disk", g.JVM)
	}
	if err != nil {
		v.place.Abandon()
		_ = os.Remove(ship.Dest) // only if it is empty
		return nil, fmt.Errorf("use --dest %s: %w", printable.Line(ship.Dest), err)
	}
	ship.Tail.Source = v.place.Source
	if budget := settings.Size(v.place.Budget); ship.Budget == 0 || ship.Budget > budget {
		ship.Budget = budget
	}
	v.cfg.Levels.Attach, v.cfg.Levels.Options = adopt.Config(g.JVM.Process()), v.place.Options
	v.cfg.Shown = v.shown
	return v, nil
}

// report writes the page about the shipped lines, even after an interrupt.
func (c *adoptConfig) report(ctx context.Context, visits []*visit, e cli.Env) error {
	var dests []string
	for _, v := range visits {
		if v.adopted {
			dests = append(dests, v.cfg.Ship.Dest)
		} else {
			_ = os.Remove(v.cfg.Ship.Dest) // only if it is empty
		}
	}
	if len(dests) == 0 {
		return nil // the reasons have already been reported
	}
	page, err := filepath.Abs(filepath.Join(filepath.Dir(c.sidecar.Ship.Dest), defaultPage))
	if err != nil {
		return fmt.Errorf("name the report: %w", err)
	}
	r, err := readReport(context.WithoutCancel(ctx), dests, report.Config{}, e)
	if errors.Is(err, report.ErrNoLog) {
		fmt.Fprintf(e.Stderr, "no report: the JVM logged nothing in this time\n")
		return nil
	}
	if err != nil {
		return fmt.Errorf("report on %s: %w", printable.Line(c.sidecar.Ship.Dest), err)
	}
	if err := view.Summary(e.Stdout, reportStyle(e), r); err != nil || c.hold != 0 {
		return err // with --hold, the page is created after the fetch
	}
	print := func(w io.Writer, _ view.Style) error { return view.HTML(w, r) }
	return (&reportConfig{output: page}).write(print, e)
}
