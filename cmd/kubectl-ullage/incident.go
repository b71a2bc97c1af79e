package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/read/incident"
)

const incidentAbout = `kubectl ullage incident brings what is known about an incident in a pod, as one
archive: lines, report, marks, levels and kernel counters.

Usage:
  kubectl ullage incident TARGET [--around T|--when CONDITION] [--within D]
                                 [--threads] [--histogram] [--output FILE] [-c NAME]

Examples:
  kubectl ullage incident web-0
  kubectl ullage incident deploy/web --around 16:45
  kubectl ullage incident web-0 --threads --output now.zip
  kubectl ullage incident web-0 --when 'pause>1s'

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR. If it matches
several pods, the command uses the oldest ready one and names it on stderr.

It runs 'ullage incident' in the sidecar and takes the same values. Without
--around, the archive is about the time up to now; with --when, about the time
before the end of the next stop that meets the condition. --threads and
--histogram stop each JVM of the pod: for milliseconds, or while it walks its
heap.

The archive is written into FILE: POD-incident.zip in the current directory, or
with a number where there is such a file. Its index.html and report.html are
made on this machine, so that nothing that the container sends is run in the
browser. The command prints the name of the file, and on stderr what is missing.

A pod with several JVM containers has a sidecar for each: -c names one.

Exit status: 0 the archive was written, complete or not, 1 it was not, 2 usage
error.
`

// incidentConfig has the settings of `kubectl ullage incident`.
type incidentConfig struct {
	single
	around, when       string // in the form that 'ullage incident' takes
	within             string // likewise
	threads, histogram bool
	output             string // empty: a new name
}

// flags declares the settings on fs. A time without a zone is in the zone of now.
func (c *incidentConfig) flags(fs *flag.FlagSet, now time.Time) {
	c.single.flags(fs)
	zonedVar(fs, &c.around, "around", now, "the time `T` of the incident: a duration before now, or a time (default: now)")
	fs.Func("when", "wait for the next stop that meets this `CONDITION`, such as pause>500ms", func(text string) error {
		c.when = text
		_, err := ask.ParseStops(text)
		return err
	})
	fs.Func("within", "how far from --around, as a `DURATION` (by default 5m)", func(text string) error {
		d, err := settings.ParseDuration(text)
		if err == nil && d <= 0 {
			err = errors.New("it is a distance, so it must be positive")
		}
		c.within = text
		return err
	})
	fs.BoolVar(&c.threads, "threads", false, "include the stacks of all threads of each JVM; a JVM stops while it prints them")
	fs.BoolVar(&c.histogram, "histogram", false, "include the objects of each class, which stops each JVM while it walks its heap")
	fs.StringVar(&c.output, "output", "", "`FILE` to write the archive into; one that exists is replaced")
}

func incidentCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := incidentConfig{single: single{cluster: c}}
	fs := flag.NewFlagSet("incident", flag.ContinueOnError)
	cfg.flags(fs, time.Now())
	e.Words = cfg.cluster.words(ctx)
	if code, ok := e.Parse(fs, incidentAbout, args, func() []error { return append(cfg.validate(fs.Args()), cfg.twice()...) }); !ok {
		return code
	}
	if err := cfg.run(ctx, e); err != nil {
		return e.Fail("incident", err)
	}
	return cli.OK
}

// twice returns an error if the time of the archive is set twice: by --around and by --when.
func (c *incidentConfig) twice() []error {
	if c.when == "" || c.around == "" {
		return nil
	}
	return []error{errors.New("--when waits for the time of the archive, and --around gives it: use one of them")}
}

// run fetches the archive of one pod.
func (c *incidentConfig) run(ctx context.Context, e cli.Env) error {
	s, dest, err := c.persisted(ctx, e, "incident")
	if err != nil {
		return err
	}
	sent, err := os.CreateTemp("", "ullage-incident-*")
	if err != nil {
		return fmt.Errorf("make a file for what the sidecar sends: %w", err)
	}
	defer os.Remove(sent.Name())
	defer sent.Close()
	doing := "collecting what is known about "
	if c.when != "" {
		doing = "waiting for a stop in "
	}
	stop := cli.NewProgress(e.Stderr).Wait(doing + s.pod)
	said, err := s.collect(ctx, c.incidentArgs(dest), incident.MaxArchive, sent)
	stop()
	if err != nil {
		return fmt.Errorf("collect in the sidecar: %w", err)
	}
	name, err := save(c.output, s.pod+"-incident", ".zip", func(w io.Writer) error {
		size, err := sent.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		return incident.Remake(w, sent, size, "pod "+s.String())
	})
	if err != nil {
		return err
	}
	for line := range strings.Lines(said) {
		fmt.Fprintln(e.Stderr, printable.Line(strings.TrimSuffix(line, "\n")))
	}
	if _, err := fmt.Fprintln(e.Stdout, name); err != nil {
		return fmt.Errorf("print the name of the file: %w", err)
	}
	return nil
}

// incidentArgs returns the arguments for the sidecar's program.
func (c *incidentConfig) incidentArgs(dest string) []string {
	args := []string{"incident", "--until-eof", "--output=-"}
	for _, flag := range [][2]string{{"around", c.around}, {"when", c.when}, {"within", c.within}} {
		if flag[1] != "" {
			args = append(args, "--"+flag[0]+"="+flag[1])
		}
	}
	if c.threads {
		args = append(args, "--threads")
	}
	if c.histogram {
		args = append(args, "--histogram")
	}
	return append(args, dest)
}
