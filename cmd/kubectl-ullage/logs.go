package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/ul"
)

const logsAbout = `kubectl ullage logs prints what a pod's sidecar has persisted, in order.

Usage:
  kubectl ullage logs TARGET [-f] [--tail N] [--since T] [--until T] [--around T [--within D]]
                             [--level L] [--stream S] [--format GLOB=NAME] [--json] [-c NAME]
  kubectl ullage logs TARGET --gaps|--marks [-f] [--tail N] [--since T] [--until T]
                             [--around T [--within D]] [--stream S] [--json] [-c NAME]

Examples:
  kubectl ullage logs web-0 --since 10m --level warning
  kubectl ullage logs web-0 --around 2026-11-20T16:45:11 --within 1m
  kubectl ullage logs web-0 --tail 20 -f | grep Pause
  kubectl ullage logs deploy/web --since 5m
  kubectl ullage logs web-0 --marks --since 1h
  kubectl ullage logs web-0 --gaps --since 24h

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR. If it matches
several pods, the command uses the oldest ready one and names it on stderr.

It runs 'ullage logs' in the sidecar and accepts the same values. T is a
duration before now (10m, 36h), a time with its zone, or a local time (16:45,
2026-11-20T16:45); D is a duration, by default 30s. --tail prints only the last
N lines of the output. L is trace, debug, info, warning or error; S is a pattern
such as 'gc*.log'. Every byte of a line is as the JVM wrote it; on a terminal,
however, control characters are printed like \x1b. Several streams are merged by
time, and each line then begins with the name of its stream.

--marks lists events instead of lines: starts and ends of JVMs, changes of log
levels, gaps, and so on. --gaps lists only the places where lines are missing,
and exits with 1 if the sidecar dropped any.

A pod with several JVM containers has a sidecar for each: -c names one.
`

// logsConfig has the settings of `kubectl ullage logs`.
type logsConfig struct {
	single
	follow bool
	times  [3]string // by index in catTimes; like within and tail, in the form that 'ullage logs' takes
	within string
	tail   string
	json   bool
	gaps   bool
	marks  bool
	level  ul.Level
	format string
	stream string
}

// catTimes are the flags of 'ullage logs' that take a time.
var catTimes = [...]struct{ name, usage string }{
	{"since", "only lines at `T` or later: a duration before now, or a time"},
	{"until", "only lines up to `T`, as for --since"},
	{"around", "only lines close to `T`, as for --since: at most --within before or after it"},
}

// groups returns the flags under the titles of the help. A time without a zone is in the zone of now.
func (c *logsConfig) groups(now time.Time) []settings.Group {
	return []settings.Group{
		{Title: "Which pod", Flags: c.single.flags},
		{Title: "Which lines", Flags: func(fs *flag.FlagSet) { c.linesFlags(fs, now) }},
		{Title: "Output", Flags: c.outputFlags},
	}
}

func (c *logsConfig) linesFlags(fs *flag.FlagSet, now time.Time) {
	for i, t := range catTimes {
		zonedVar(fs, &c.times[i], t.name, now, t.usage)
	}
	fs.StringVar(&c.within, "within", "", "how far from --around lines may be, as a `DURATION` (by default 30s)")
	fs.StringVar(&c.tail, "tail", "", "only the last `N` of these lines")
	fs.Func("level", "only lines at `LEVEL` or above: trace, debug, info, warning or error", c.level.Set)
	fs.StringVar(&c.stream, "stream", "", "only streams whose name matches `GLOB`")
}

func (c *logsConfig) outputFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.follow, "follow", false, "print what is there, then what is added, until interrupted")
	fs.BoolVar(&c.follow, "f", false, "short for --follow")
	fs.BoolVar(&c.gaps, "gaps", false, "list where lines are missing, instead of printing lines")
	fs.BoolVar(&c.marks, "marks", false, "list the sidecar's marks, and where lines are missing, instead of printing lines")
	cli.JSONFlags(fs, &c.json, "print each line, or each row of --gaps or --marks, as a JSON object")
	fs.StringVar(&c.format, "format", "", "formats of streams, as for 'ullage run': `GLOB=NAME`")
}

// zonedVar declares a flag whose value is read by [zoned].
func zonedVar(fs *flag.FlagSet, p *string, name string, now time.Time, usage string) {
	fs.Func(name, usage, func(text string) (err error) {
		*p, err = zoned(text, now)
		return err
	})
}

// zoned checks a time. It adds the local zone to a time without a zone, because the sidecar's zone may
// differ.
func zoned(text string, now time.Time) (string, error) {
	if t, ok := cli.LocalTime(text, now); ok {
		return t.Format(time.RFC3339Nano), nil
	}
	_, err := cli.Time(text, now)
	return text, err
}

func (c *logsConfig) validate(args []string) []error {
	var bad []error
	if _, err := path.Match(c.stream, ""); err != nil {
		bad = append(bad, fmt.Errorf("invalid value %q for --stream: it is not a pattern like 'gc*.log'", c.stream))
	}
	return append(bad, c.single.validate(args)...)
}

func logsCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := logsConfig{single: single{cluster: c}}
	fs := flag.NewFlagSet("logs", flag.ContinueOnError)
	groups := cfg.groups(time.Now())
	settings.Declare(fs, groups)
	e.Groups = groups
	e.Words = cfg.cluster.words(ctx)
	e.Words["level"] = ul.Levels
	if code, ok := e.Parse(fs, logsAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	s, dest, err := cfg.persisted(ctx, e, "logs")
	if err != nil {
		return e.Fail("logs", err)
	}
	return s.stream(ctx, e, "logs", cfg.follow, cfg.catArgs(dest))
}

// persisted returns the chosen sidecar and the directory of its durable copy.
func (s *single) persisted(ctx context.Context, e cli.Env, name string) (sidecar, string, error) {
	found, err := s.find(ctx, e, name)
	if err != nil {
		return sidecar{}, "", err
	}
	dest, err := destination(ctx, found)
	return found, dest, err
}

// stream runs the sidecar's program for the command with the given name, passes its output on, and returns the exit
// code.
func (s sidecar) stream(ctx context.Context, e cli.Env, name string, follow bool, args []string) int {
	cmd := s.cluster.command(ctx, s.execWithStdin(args...)...)
	// Even if stdout is not a terminal, stderr may be one, and it never contains the bytes of a log.
	messages := cli.Escaping(e.Stderr)
	defer messages.Flush() // an error means that stderr is gone
	cmd.Stdout, cmd.Stderr = e.Stdout, messages
	if screen := cli.NewScreen(e.Stdout); screen != nil {
		cmd.Stdout = screen
		defer screen.Flush() // an error means that the terminal is gone
	}
	// Nothing is written to stdin. When this process ends, in whatever way, the pipe closes, and the program in
	// the sidecar ends too.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return e.Fail(name, fmt.Errorf("make a pipe for kubectl: %w", err))
	}
	defer stdin.Close()
	return s.cluster.outcome(ctx, e, name, follow, cmd.Run())
}

// destination returns the directory of the sidecar's durable copy. It queries the sidecar only if the settings do not
// show the directory.
func destination(ctx context.Context, s sidecar) (string, error) {
	dest := s.setting("dest")
	if dest == "" {
		_, st, err := s.ask(ctx)
		if err != nil {
			return "", fmt.Errorf("ask the sidecar for its destination: %w", err)
		}
		dest = st.Destination
	}
	if !path.IsAbs(dest) {
		return "", fmt.Errorf("the sidecar's destination is %q, which is not an absolute path", dest)
	}
	return dest, nil
}

// catArgs returns the arguments for the sidecar's program.
func (c *logsConfig) catArgs(dest string) []string {
	args := []string{"logs", "--until-eof"}
	if c.follow {
		args = append(args, "--follow")
	}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	for i, t := range catTimes {
		add(t.name, c.times[i])
	}
	add("within", c.within)
	add("tail", c.tail)
	if c.level != ul.Unknown {
		add("level", c.level.String())
	}
	add("stream", c.stream)
	add("format", c.format)
	if c.gaps {
		args = append(args, "--gaps")
	}
	if c.marks {
		args = append(args, "--marks")
	}
	if c.json {
		args = append(args, "--json")
	}
	return append(args, dest)
}

// outcome turns kubectl's result into an exit code. If kubectl ran, it has already printed the reason of a failure.
func (c cluster) outcome(ctx context.Context, e cli.Env, name string, follow bool, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return cli.OK
	case ctx.Err() != nil && follow:
		return cli.OK // an interrupt is the normal end of following
	case ctx.Err() != nil:
		return cli.Failure // some of it was not printed
	case !errors.As(err, &exit):
		return e.Fail(name, c.notRun(err))
	case brokenPipe(exit):
		return cli.OK // the reader has received all that it wanted
	case exit.ExitCode() == cli.Usage:
		return cli.Usage
	}
	return cli.Failure
}

func brokenPipe(exit *exec.ExitError) bool {
	ws, ok := exit.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGPIPE
}
