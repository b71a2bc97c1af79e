package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/internal/read/bucket"
	"github.com/ullage/ullage/internal/read/cat"
	"github.com/ullage/ullage/internal/segment"
)

const logsAbout = `ullage logs prints the persisted lines in order, compressed or not.

Usage:
  ullage logs [-f] [-n N] [--since T] [--until T] [--around T [--within D]] [--level L]
             [--stream S] [--format GLOB=NAME] [--json] [--until-eof] [DIR|FILE|URL...]
  ullage logs --gaps|--marks [-f] [-n N] [--since T] [--until T] [--around T [--within D]]
             [--stream S] [--json] [DIR|FILE|URL...]

Examples:
  ullage logs /var/lib/ullage
  ullage logs --level warning --since 10m /var/lib/ullage
  ullage logs -f --stream 'gc*.log' /var/lib/ullage | grep Pause
  ullage logs --since 2026-11-20T16:45 /var/lib/ullage/gc.log | less
  ullage logs --around 16:45 --within 1m /var/lib/ullage
  ullage logs --json --since 1h /var/lib/ullage | jq 'select(.gc == 12).text'
  ullage logs --gaps --since 24h /var/lib/ullage
  ullage logs --marks --around 16:45 --within 10m /var/lib/ullage
  kubectl exec POD -c ullage -- ullage logs --since 1h /var/lib/ullage > pod.log
  kubectl exec -i POD -c ullage -- ullage logs -f --until-eof /var/lib/ullage

DIR is a destination (the --dest of 'ullage run') or the directory of one stream
in it; without any, the destination in ULLAGE_DEST. FILE is a segment, or any
other log, read by its suffix: .zst, .gz, or as it is. The URL
s3://BUCKET/PREFIX?OPTIONS is what a sink has uploaded there (with the options
of --sink; namespace=NS and pod=POD select).

One stream is printed byte for byte as the JVM wrote it. On a terminal, control
characters are printed like \x1b, and levels have colors, unless NO_COLOR is
set. Several streams are merged by time, and each line begins with the name of
its stream: 'gc.log: ', or 'gc.log#2: ' for the second JVM in it. The streams of
a bucket are printed one after the other, without names.

T is a duration before now (10m, 36h), a time with its zone, as RFC 3339 or the
JVM writes it (2026-11-20T16:45:11.123+0100), or a local one (2026-11-20,
2026-11-20T16:45, or 16:45 for the last time the clock showed that). D is 30s by
default. Lines without a date have the time that their JVM's start and their
uptime give. A stream is read until its lines are 10s later than --until.

L is trace, debug, info, warning or error, also in logs of Logback, Log4j,
Spring Boot, java.util.logging and JSON. Lines without a level count as info;
the further lines of a message have the level and the time of its first line.
--format is that of 'ullage run', for streams whose format is misjudged.

--gaps lists the places where lines are missing, with their number by level: in
DISCARD those below --keep-level, in DROP those of any level. KIND is 'dropped'
where 'ullage run' dropped lines, 'jvm-async' and 'jvm-full' where the JVM lost
them. The sum is on stderr, with what a running sidecar has dropped or holds
that is not in the copy yet. If the sidecar dropped any, the exit status is 1.

--marks lists these places and what happened: starts, ends and crashes of JVMs,
changes of levels, starts and ends of the sidecar.

--json prints one object a line: time, read (when the sidecar had read the line,
to within 10 s), stream, run (the number of the JVM), level, tags, uptime in
seconds, gc (the number of the collection), and text, the message without its
decorations. What a line does not have is left out. Bytes that are not UTF-8
become U+FFFD.

After a 'kubectl exec' ends, the program that it ran may keep running in the
container, and keep its memory. With --until-eof, and exec's -i, it ends too.

More about times, gaps and marks:
` + build.Docs + `read-logs.md

Exit status: 0 all of it was printed, 1 some of it could not be read (stderr
says what), or --gaps knows of dropped lines whose gap is not in the copy yet,
2 usage error.
`

// logsConfig has the settings of `ullage logs`.
type logsConfig struct {
	cat.Config
	around   time.Time
	within   time.Duration
	untilEOF bool
}

// defaultWithin is the default of --within: how far a line may be from --around.
const defaultWithin = 30 * time.Second

// flags declares the settings on fs. A duration means a time that long before now.
func (c *logsConfig) flags(fs *flag.FlagSet, now time.Time) { settings.Declare(fs, c.groups(now)) }

// groups returns the flags under the titles of the help.
func (c *logsConfig) groups(now time.Time) []settings.Group {
	return []settings.Group{
		{Title: "Which lines", Flags: func(fs *flag.FlagSet) { c.linesFlags(fs, now) }},
		{Title: "Output", Flags: c.outputFlags},
	}
}

func (c *logsConfig) linesFlags(fs *flag.FlagSet, now time.Time) {
	windowFlags(fs, &c.Since, &c.Until, now)
	cli.TimeVar(fs, &c.around, "around", now, "only lines close to `T`, as for --since: at most --within before or after it")
	settings.DurationVar(fs, &c.within, "within", defaultWithin, "how far from --around lines may be, as a `DURATION`")
	for _, name := range []string{"tail", "n"} {
		usage := "only the last `N` of these lines"
		if name == "n" {
			usage = "short for --tail `N`"
		}
		fs.Func(name, usage, c.setTail)
	}
	fs.Func("level", "only lines at `LEVEL` or above: trace, debug, info, warning or error", c.Level.Set)
	fs.StringVar(&c.Stream, "stream", "", "only streams whose name matches `GLOB`")
}

func (c *logsConfig) outputFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.Follow, "follow", false, "print what is there, then what is appended, until interrupted")
	fs.BoolVar(&c.Follow, "f", false, "short for --follow")
	untilEOFFlag(fs, &c.untilEOF)
	fs.Var(&c.Formats, "format", "formats of streams, as for 'ullage run': `GLOB=NAME`")
	fs.BoolVar(&c.Gaps, "gaps", false, "list where lines are missing, instead of printing lines")
	fs.BoolVar(&c.Marks, "marks", false, "list the marks of 'ullage run', and where lines are missing, instead of printing lines")
	cli.JSONFlags(fs, &c.JSON, "print each line, or each row of --gaps or --marks, as a JSON object")
}

// untilEOFFlag declares --until-eof, for commands whose output can be so long that it fills a pipe.
func untilEOFFlag(fs *flag.FlagSet, p *bool) {
	fs.BoolVar(p, "until-eof", false, "exit as soon as stdin ends, because then nothing reads the output")
}

// windowFlags declares --since and --until. A duration means a time that long before now.
func windowFlags(fs *flag.FlagSet, since, until *time.Time, now time.Time) {
	cli.TimeVar(fs, since, "since", now, "only lines at `T` or later: a duration before now, or a time")
	cli.TimeVar(fs, until, "until", now, "only lines up to `T`, as for --since")
}

func (c *logsConfig) setTail(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("it must be a number of lines, at least 1")
	}
	c.Tail = n
	return nil
}

// window translates --around into a beginning and an end.
func (c *logsConfig) window() []error {
	switch {
	case c.within < 0:
		return []error{errors.New("--within is a distance, so it must not be negative")}
	case c.around.IsZero() && c.within != defaultWithin:
		return []error{errors.New("--within is how far from --around: give a time with --around")}
	case c.around.IsZero():
		return nil
	case !c.Since.IsZero() || !c.Until.IsZero():
		return []error{errors.New("--around replaces --since and --until: leave them out")}
	}
	c.Since, c.Until = c.around.Add(-c.within), c.around.Add(c.within)
	return nil
}

func (c *logsConfig) validate(args []string) []error {
	bad := append(c.window(), c.Validate()...)
	if len(args) == 0 {
		bad = append(bad, errors.New("nothing to print: name the --dest of 'ullage run' (or set ULLAGE_DEST to it), a stream's directory in it, or files"))
	}
	return bad
}

func logsCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg logsConfig
	fs := flag.NewFlagSet("logs", flag.ContinueOnError)
	now := time.Now()
	cfg.flags(fs, now)
	e.Groups, e.Operand, e.Words = cfg.groups(now), "FILE", cli.Words{"stream": streamsOf(fs, e), "level": ul.Levels}
	if code, ok := e.Parse(fs, logsAbout, args, func() []error { return cfg.validate(whatToRead(fs, e)) }); !ok {
		return code
	}
	e.NoteFuture("logs", cfg.Since, now)
	// Nothing has to be drained here, so a second signal may kill the process at any time, even during a write that
	// waits for a pager.
	noColor, _ := e.LookupEnv("NO_COLOR")
	cfg.Color = noColor == ""
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	if cfg.untilEOF {
		go exitAtEOF(e.Stdin)
	}
	p := cat.New(cfg.Config, e.Stdout, e.Stderr)
	for _, err := range p.Find(whatToRead(fs, e)) {
		e.Fail("logs", err)
	}
	switch err := p.Run(ctx); {
	case errors.Is(err, context.Canceled):
		if !cfg.Follow {
			return cli.Failure // some of it was not printed
		}
	case cat.IsUnread(err):
		return cli.OK // the reader closed the output
	case err != nil:
		return e.Fail("logs", fmt.Errorf("print: %w", err))
	}
	if p.Failed() {
		return cli.Failure
	}
	return cli.OK
}

// whatToRead returns the inputs: the arguments or, if there are none, the destination that 'ullage run' uses in the
// same environment.
func whatToRead(fs *flag.FlagSet, e cli.Env) []string {
	dest, ok := e.LookupEnv(settings.EnvName("dest"))
	if fs.NArg() == 0 && ok && dest != "" {
		return []string{dest}
	}
	return fs.Args()
}

// noBucket returns an error if what to read is a bucket, for a command that needs a copy on a disk.
func noBucket(arg string) []error {
	if !strings.HasPrefix(arg, bucket.Scheme) {
		return nil
	}
	return []error{errors.New("a bucket cannot be read here, only a copy on a disk: use 'ullage logs' or 'ullage report' for a bucket")}
}

// streamsOf returns a function that lists the streams of the destinations to read.
func streamsOf(fs *flag.FlagSet, e cli.Env) func() []string {
	return func() (names []string) {
		for _, dest := range whatToRead(fs, e) {
			in, _ := segment.Streams(dest) // there are no candidates for other inputs
			names = append(names, in...)
		}
		return names
	}
}

// exitAtEOF exits when stdin ends, without waiting for the output: a container
// runtime that lost its client leaves a full pipe behind, and a write to that
// pipe never returns.
func exitAtEOF(stdin io.Reader) {
	_, _ = io.Copy(io.Discard, stdin)
	os.Exit(cli.OK)
}
