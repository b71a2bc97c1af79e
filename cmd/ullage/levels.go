package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/jvm/control"
	"github.com/ullage/ullage/internal/jvm/levels"
	"github.com/ullage/ullage/internal/jvm/outputs"
	"github.com/ullage/ullage/internal/jvm/plan"
	"github.com/ullage/ullage/internal/line/loggers"
	"github.com/ullage/ullage/internal/line/naming"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/ship/ring"
	"github.com/ullage/ullage/internal/ship/tail"
)

// levelsCmd runs the verbs as if they were commands of a separate program. Without a verb, it
// lists.
func levelsCmd(ctx context.Context, args []string, e cli.Env) int {
	verb := func(name, about, summary string) cli.Command {
		return cli.Command{Name: name, Summary: summary, Run: func(ctx context.Context, args []string, e cli.Env) int {
			return runLevels(ctx, name, about, args, e)
		}}
	}
	e.Program += " levels"
	return cli.Program{
		About: `ullage levels shows and changes what a running JVM logs, without a restart.
`,
		Default: "list",
		Commands: []cli.Command{
			verb("list", levelsListAbout, "print each JVM, its outputs and its ring; the same as 'ullage levels'"),
			verb("set", levelsSetAbout, "raise outputs, or the application's events, for a while"),
			verb("reset", levelsResetAbout, "end every raise now"),
			verb("rotate", levelsRotateAbout, "have the JVMs rotate their log files"),
			verb("save", levelsSaveAbout, "persist the lines that --hindsight holds"),
		},
		More: levelsMore,
	}.Run(ctx, args, e)
}

const levelsMore = `Examples:
  ullage levels
  ullage levels set 'gc*=debug,safepoint=info' --for 10m
  ullage levels reset
  kubectl exec POD -c ullage -- ullage levels set 'gc*=debug' --for 10m

A command asks the 'ullage run' that ships the source, over a socket in
SOURCE/.ullage: the flags of that process apply, and it ends the raise. If none
runs, list and rotate ask the JVMs directly, set and save change nothing and
exit with 1, and reset restores the levels that a killed 'ullage run' left
raised.

ullage reaches a JVM through its attach socket in --jvm-tmp, which a JVM with
-XX:+StartAttachListener opens, or, in the same process namespace, by its
process. ullage must run as the JVM's own user and group.

Each verb has its own help: 'ullage levels set --help' shows the flags of set.
`

const levelsListAbout = `ullage levels list prints each JVM, its outputs and its ring, as tables.

Usage:
  ullage levels [list] [--all] [--pid ID] [-w | -o json]

Examples:
  ullage levels
  ullage levels list --all
  ullage levels -w
  ullage levels --json | jq -r '.[].selection'

An output that is SHIPPED writes into --source, and 'ullage levels set' raises
it. A JVM without an output, or without an attach socket, is reported on stderr.
That is not a failure.
`

const levelsSetAbout = `ullage levels set raises what the JVMs log, for a while. Then 'ullage run'
restores their own levels.

Usage:
  ullage levels set SELECTION [--for 10m] [--stream S]
  ullage levels set --app LEVELS [--for 10m]

Examples:
  ullage levels set 'gc*=debug,safepoint=info' --for 10m
  ullage levels set 'gc*=debug' --stream gc-7.log
  ullage levels set --app debug --for 5m
  ullage levels set --app com.acme=debug,org.hibernate.SQL=trace

SELECTION is written as in -Xlog, "gc*=debug,safepoint=info", and adds to the
output's own. Only outputs that write into --source are raised: by default those
whose lines show their level, with --stream the named outputs. --app raises
the application's events in its ring: debug raises all loggers, com.acme=debug
raises one logger and the loggers below it.

It replaces the selection of an earlier command, and overrides those of
annotations and triggers. Without a running 'ullage run' it changes nothing and
exits with 1.
`

const levelsResetAbout = `ullage levels reset ends every raise now, whether by a command, by annotations
or by a trigger, and releases the JVMs that --adopt has given an output.

Usage:
  ullage levels reset

Example:
  ullage levels reset

Without a running 'ullage run' it restores the levels that a killed one left
raised. If there is nothing to restore, it exits with 1.
`

const levelsRotateAbout = `ullage levels rotate has the JVMs rotate their log files.

Usage:
  ullage levels rotate [--pid ID]

Example:
  ullage levels rotate
`

const levelsSaveAbout = `ullage levels save persists the lines that 'ullage run' holds in its hindsight,
and the lines of the next minute.

Usage:
  ullage levels save

Examples:
  ullage levels save
  ullage logs --stream '*+detail' --since 10m /var/lib/ullage

It prints how much is held, and for how long. Without a running 'ullage run'
with --hindsight it exits with 1.
`

// levelsConfig has the settings of `ullage levels`.
type levelsConfig struct {
	levels outputs.Config
	tail   tail.Config
	raise  ask.Raise
	app    string // the levels of the application's events; empty: a selection is raised
	json   bool
	all    bool // list stale sockets as well
	watch  bool // list again until interrupted

	verb      string
	appLevels loggers.Levels
}

// flags declares the settings of one verb on fs.
func (c *levelsConfig) flags(fs *flag.FlagSet) {
	c.levels, c.tail = outputs.Config{Attach: attach.DefaultConfig()}, tail.DefaultConfig()
	fs.StringVar(&c.tail.Source, "source", c.tail.Source, "`DIR` on tmpfs whose files are shipped")
	switch c.verb {
	case "list", "rotate", "reset": // these can work without 'ullage run', whose flags otherwise apply
		c.levels.Attach.Flags(fs)
		fs.StringVar(&c.tail.Match, "match", c.tail.Match, "`GLOB` of the files in --source that are shipped")
	}
	if c.verb == "list" || c.verb == "rotate" {
		fs.IntVar(&c.levels.Attach.PID, "pid", 0, "only the JVM with this process `ID`")
	}
	switch c.verb {
	case "set":
		settings.DurationVar(fs, &c.raise.For, "for", ask.DefaultFor, "`DURATION` of the raise")
		fs.StringVar(&c.app, "app", "", "raise the application's events, not the outputs of its JVM, to `LEVELS` such as debug or com.acme=debug,org.hibernate.SQL=trace")
		fs.StringVar(&c.raise.Stream, "stream", "", "raise only the outputs whose stream matches `GLOB`; other raised outputs return to their own level")
	case "list":
		fs.BoolVar(&c.all, "all", false, "also list the sockets that killed JVMs have left behind")
		cli.JSONFlags(fs, &c.json, "print JSON")
		cli.WatchFlags(fs, &c.watch)
	}
}

func (c *levelsConfig) validate(args []string) []error {
	bad := append(c.levels.Attach.Validate(), c.tail.Validate()...)
	bad = append(bad, cli.CheckWatch(c.watch, c.json)...)
	if c.levels.Attach.Mode == attach.Off {
		bad = append(bad, errors.New("--attach off reaches no JVM: use auto, shared-tmp or process-namespace"))
	}
	if c.verb == "set" {
		bad = append(bad, c.checkStream()...)
		if err := ask.CheckFor(c.raise.For); err != nil {
			bad = append(bad, fmt.Errorf("--for: %w", err))
		}
		if c.app != "" {
			return append(bad, c.checkApp(args)...)
		}
		if len(args) == 0 {
			return append(bad, errors.New("no selection given: write it like 'gc*=debug,safepoint=info'"))
		}
		var err error
		if c.raise.Selection, err = ask.ParseSelection(args[0]); err != nil {
			bad = append(bad, err)
		}
		args = args[1:]
	}
	return append(bad, cli.Unexpected(args)...)
}

// checkApp reads --app. It returns the errors in it, and errors about arguments that cannot be
// combined with it.
func (c *levelsConfig) checkApp(args []string) (bad []error) {
	var err error
	if c.appLevels, err = loggers.Parse(c.app); err != nil {
		bad = append(bad, fmt.Errorf("--app: %w", err))
	}
	if len(args) > 0 || c.raise.Stream != "" {
		bad = append(bad, errors.New("--app raises events, not a selection: raise 'gc*=debug' with a separate command, without --app"))
	}
	return bad
}

// checkStream returns the errors in --stream.
func (c *levelsConfig) checkStream() []error {
	if c.raise.Stream == "" {
		return nil
	}
	if _, err := ask.ParseStream(c.raise.Stream); err != nil {
		return []error{fmt.Errorf("--stream: %w", err)}
	}
	return nil
}

func runLevels(ctx context.Context, verb, about string, args []string, e cli.Env) int {
	c := levelsConfig{verb: verb}
	fs := flag.NewFlagSet(verb, flag.ContinueOnError)
	c.flags(fs)
	e.Words = cli.Words{"app": ul.Levels, "stream": func() []string { return c.streams() }}
	code, ok := e.Parse(fs, about, args, func() []error { return c.validate(fs.Args()) })
	if !ok {
		return code
	}
	c.levels.Source, c.levels.Match = c.tail.Source, c.tail.Match
	if c.watch {
		return c.watchList(ctx, e)
	}
	if err := c.run(ctx, control.NewCommand(c.levels), e); err != nil {
		return e.Fail(verb, err)
	}
	return cli.OK
}

// streams returns the names of the shipped files, which are also the names of their streams.
func (c *levelsConfig) streams() []string {
	paths, _ := filepath.Glob(filepath.Join(c.tail.Source, c.tail.Match)) // if this fails, there are no candidates
	for i, path := range paths {
		paths[i] = filepath.Base(path)
	}
	return paths
}

func (c *levelsConfig) run(ctx context.Context, m *control.Command, e cli.Env) error {
	switch c.verb {
	case "set":
		return c.set(ctx, m, e)
	case "reset":
		return c.reset(ctx, m, e)
	case "rotate":
		return rotate(ctx, m, e)
	case "save":
		return c.save(ctx, m, e)
	}
	return c.list(ctx, m, e)
}

// set raises outputs of the JVMs.
func (c *levelsConfig) set(ctx context.Context, m *control.Command, e cli.Env) error {
	if !c.appLevels.IsZero() {
		return c.setApp(ctx, m, e)
	}
	changes, until, err := m.Set(ctx, c.raise)
	printChanges(e.Stdout, changes)
	if errors.Is(err, control.ErrNoOwner) {
		return fmt.Errorf("%w; without a sidecar, 'jcmd PID VM.log list' shows what each output logs, and 'jcmd PID VM.log output=NAME what=SELECTION' sets it until you set it back", err)
	}
	if err != nil && until.IsZero() {
		return err
	}
	if err == nil && len(changes) == 0 {
		fmt.Fprintf(e.Stdout, "the JVMs already have that level\n")
	}
	fmt.Fprintf(e.Stdout, "until %s; then 'ullage run' restores their level\n", printable.Until(until))
	return err
}

// setApp raises the application's events. If no JVM has a ring, the raise has no effect yet and setApp fails. The
// raise stays requested, because a JVM that is starting may open its ring a moment later.
func (c *levelsConfig) setApp(ctx context.Context, m *control.Command, e cli.Env) error {
	until, err := m.SetApp(ctx, c.appLevels, c.raise.For)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "the application's events are raised to %s until %s; then 'ullage run' restores their level\n", c.appLevels, printable.Until(until))
	rings, err := ring.Survey(c.tail.Source)
	if err == nil && len(rings) == 0 {
		err = fmt.Errorf("no JVM has a ring in %s, so no events are raised now: a JVM that creates its ring before that time takes over the level (see %sevents.md); 'ullage levels reset' ends the raise",
			c.tail.Source, build.Docs)
	}
	return err
}

// save makes the sidecar save the lines that it holds in hindsight.
func (c *levelsConfig) save(ctx context.Context, m *control.Command, e cli.Env) error {
	saving, err := m.Save(ctx)
	if err != nil {
		return fmt.Errorf("save held lines of %s: %w", c.tail.Source, err)
	}
	since := ""
	if saving.From.Unix() > 0 {
		since = ", of the last " + printable.Seconds(time.Since(saving.From).Seconds())
	}
	fmt.Fprintf(e.Stdout, "saving %s%s, and the lines until %s, in the streams NAME%s\n",
		printable.Bytes(saving.Bytes), since, printable.Until(saving.Until), naming.DetailSuffix)
	return nil
}

// reset ends all raises and adoptions. If no process manages the levels, it undoes the changes of a killed
// process.
func (c *levelsConfig) reset(ctx context.Context, m *control.Command, e cli.Env) error {
	changes, app, err := m.Reset(ctx)
	if errors.Is(err, control.ErrNoOwner) {
		left, restoreErr := levels.Restore(ctx, c.levels)
		if changes = left; !errors.Is(restoreErr, control.ErrNoOwner) {
			err = restoreErr
		}
	}
	printChanges(e.Stdout, changes)
	if !app.IsZero() {
		fmt.Fprintf(e.Stdout, "the application's events are no longer raised to %s: their own levels are in effect\n", app)
	}
	if err == nil && len(changes) == 0 && app.IsZero() {
		fmt.Fprintln(e.Stdout, "nothing was raised")
	}
	return err
}

func rotate(ctx context.Context, m *control.Command, e cli.Env) error {
	rotated, err := m.Rotate(ctx)
	for _, l := range rotated {
		for _, o := range l.Outputs {
			if o.File() != "" && !strings.Contains(","+o.Options, ",filecount=0") {
				fmt.Fprintf(e.Stdout, "pid %d: rotated %s\n", l.PID, printable.Line(o.File()))
			}
		}
	}
	return err
}

func printChanges(w io.Writer, changes []plan.Change) {
	for _, c := range changes {
		fmt.Fprintf(w, "pid %d: %s: %s → %s\n", c.PID, printable.Line(c.Output), printable.Line(c.From), printable.Line(c.To))
	}
}
