package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/jvm/attach"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/read/check"
	"github.com/ullage/ullage/internal/read/incident"
)

const incidentAbout = `ullage incident collects what is known about an incident in one archive, for a
colleague or a ticket.

Usage:
  ullage incident [--around T|--when CONDITION] [--within D] [--threads]
                  [--histogram] [--output FILE] [DIR]

Examples:
  ullage incident
  ullage incident --around 16:45 /var/lib/ullage
  ullage incident --threads --output now.zip
  ullage incident --when 'pause>1s' --threads
  kubectl exec POD -c ullage -- ullage incident --around 16:45 --output - > incident.zip

DIR is a destination (the --dest of 'ullage run'); without it, the destination
in ULLAGE_DEST. --around takes what --around of 'ullage logs' takes; without it,
the archive is about the time up to now. --when waits for the next stop of a JVM
that meets its CONDITION. Then the archive is about the time before the end of
that stop.

The archive is a zip. Its index.html says what is in it and what is missing. It
has the lines of each stream, the report, what 'ullage check' and 'ullage logs
--marks' say about that time, and the kernel's counters. While a sidecar runs
for the destination, it also has the sidecar's status and last stops, and the
log levels and flags of the JVMs. Lines that the sidecar holds in hindsight are
saved first, as 'ullage levels save' does.

--threads and --histogram stop each JVM: for milliseconds to print the stacks of
its threads, and for as long as it takes to walk the heap, which is seconds for
a large heap.

The archive holds at most 64 MiB before compression. If that is too little, the
streams with the most lines lack their oldest ones. The environment, credentials
and the arguments of commands are not in it, but what the application logged is.

Exit status: 0 the archive was written, complete or not, 1 it was not, 2 usage
error.
`

const (
	defaultArchive = "ullage-incident.zip"

	// incidentWithin is the default of --within: how far an archive's lines may be from --around.
	incidentWithin = 5 * time.Minute

	// maxSaid bounds the list of missing things on stderr. The archive lists all of them.
	maxSaid = 10
)

// incidentConfig has the settings of `ullage incident`.
type incidentConfig struct {
	attach             attach.Config
	formats            format.Rules
	around             time.Time // zero: now
	when               ask.Trigger
	within             time.Duration
	threads, histogram bool
	output             string
	untilEOF           bool
}

func (c *incidentConfig) flags(fs *flag.FlagSet, now time.Time) {
	c.attach = attach.DefaultConfig()
	cli.TimeVar(fs, &c.around, "around", now, "the time `T` of the incident, as for 'ullage logs' (default: now)")
	fs.Func("when", "wait for the next stop that meets this `CONDITION`, such as pause>500ms", func(text string) (err error) { c.when, err = ask.ParseStops(text); return err })
	settings.DurationVar(fs, &c.within, "within", incidentWithin, "how far from --around lines may be, as a `DURATION`")
	fs.BoolVar(&c.threads, "threads", false, "include the stacks of all threads of each JVM; a JVM stops while it prints them")
	fs.BoolVar(&c.histogram, "histogram", false, "include the objects of each class, which stops each JVM while it walks its heap")
	fs.StringVar(&c.output, "output", defaultArchive, "write to `FILE`; - is stdout")
	fs.Var(&c.formats, "format", "formats of streams, as for 'ullage run': `GLOB=NAME`")
	untilEOFFlag(fs, &c.untilEOF)
	c.attach.Flags(fs)
}

func (c *incidentConfig) validate(args []string, stdout io.Writer) []error {
	bad := c.attach.Validate()
	if c.within <= 0 {
		bad = append(bad, errors.New("--within is a distance, so it must be positive"))
	}
	if !c.when.IsZero() && !c.around.IsZero() {
		bad = append(bad, errors.New("--when waits for the time of the archive, and --around gives it: use one of them"))
	}
	if c.output == "-" && cli.NewScreen(stdout) != nil {
		bad = append(bad, errors.New("--output - writes an archive, which no terminal can show: redirect it to a file"))
	}
	if len(args) == 0 {
		return append(bad, errors.New("nothing to collect: name the --dest of 'ullage run' (or set ULLAGE_DEST to it)"))
	}
	return append(append(bad, noBucket(args[0])...), cli.Unexpected(args[1:])...)
}

func incidentCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg incidentConfig
	fs := flag.NewFlagSet("incident", flag.ContinueOnError)
	now := time.Now()
	cfg.flags(fs, now)
	e.Operand = "DIR"
	if code, ok := e.Parse(fs, incidentAbout, args, func() []error { return cfg.validate(whatToRead(fs, e), e.Stdout) }); !ok {
		return code
	}
	if cfg.around.IsZero() {
		cfg.around = now
	}
	e.NoteFuture("incident", cfg.around.Add(-cfg.within), now)
	if cfg.untilEOF {
		go exitAtEOF(e.Stdin)
	}
	if err := cfg.run(ctx, whatToRead(fs, e)[0], now, e); err != nil {
		return e.Fail("incident", err)
	}
	return cli.OK
}

// run writes the archive for a destination and says on stderr whether it is complete.
func (c *incidentConfig) run(ctx context.Context, dest string, now time.Time, e cli.Env) error {
	dir, err := filepath.EvalSymlinks(dest)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return err
	}
	g := gathering{incidentConfig: *c, dir: dir}
	if !c.when.IsZero() {
		stop := cli.NewProgress(e.Stderr).Wait("waiting for a stop")
		err := g.await(ctx)
		stop()
		if err != nil {
			return err
		}
		now = time.Now()
	}
	g.since, g.until = g.around.Add(-g.within), g.around.Add(g.within)
	if g.until.After(now) {
		g.until = now
	}
	if g.names, err = (check.Config{}).Names(dir); err != nil {
		return err
	}
	stop := cli.NewProgress(e.Stderr).Wait("collecting what is known")
	err = c.write(e.Stdout, func(w io.Writer) error { return g.write(ctx, w) })
	stop()
	if err != nil {
		return err
	}
	if c.output != "-" {
		fmt.Fprintf(e.Stderr, "wrote %s\n", printable.Line(c.output))
	}
	lacks := g.archive.Lacks()
	if len(lacks) == 0 {
		fmt.Fprintln(e.Stderr, "complete: every line of that time is in it")
	}
	for i, text := range lacks {
		if i == maxSaid {
			fmt.Fprintf(e.Stderr, "NOT COMPLETE: and %d more, which the archive lists\n", len(lacks)-i)
			break
		}
		fmt.Fprintf(e.Stderr, "NOT COMPLETE: %s\n", text)
	}
	return nil
}

// write writes the output of print to the place that --output names. The archive has lines of the log, so only its
// owner may read it.
func (c *incidentConfig) write(stdout io.Writer, print func(io.Writer) error) error {
	if c.output != "-" {
		return writeWhole(c.output, 0o600, print)
	}
	out := bufio.NewWriter(stdout)
	return errors.Join(print(out), out.Flush())
}

// of names what an archive is about.
func (g *gathering) of() string {
	host, _ := os.Hostname() // in a pod, the pod's name
	return g.dir + " on " + host
}

// write collects everything and writes the archive.
func (g *gathering) write(ctx context.Context, w io.Writer) error {
	g.archive = incident.New(w, incident.Manifest{Of: g.of(), Version: build.Read(version).Version, Made: time.Now().UTC(), Since: g.since.UTC(), Until: g.until.UTC()})
	for _, step := range []func(context.Context) error{g.kernelBefore, g.ask, g.jvms, g.save, g.check, g.report, g.marks, g.sidecar, g.kernelAfter, g.lines} {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return g.archive.Close()
}
