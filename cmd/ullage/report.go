package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/read/report"
	"github.com/ullage/ullage/internal/read/report/view"
)

const reportAbout = `ullage report shows where a JVM's time went: stops and their causes, the heap,
and what is missing from the log.

Usage:
  ullage report [--since T] [--until T] [--stall-floor D] [--text|--json|--perfetto]
                [--output FILE] [DIR|FILE|URL...]
  ullage report --compare [flags] DIR|FILE|URL...
  ullage report --compare [flags] DIR|FILE|URL... vs DIR|FILE|URL...

Examples:
  ullage report /var/lib/ullage
  ullage report --text --since 1h /var/lib/ullage
  ullage report --compare before/gc.log after/gc.log
  ullage report --compare pods/*/gc.log
  ullage report --compare stable/*.log vs canary/*.log
  ullage report --compare 's3://logs/prod?region=eu-central-1'
  ullage report --json gc.log | jq .totals
  ullage report --perfetto gc.log > trace.json
  kubectl exec POD -c ullage -- ullage report --json > pod.json

DIR is a destination (the --dest of 'ullage run'), the directory of one stream
in it, or a directory of log files; the default is the destination in
ULLAGE_DEST. FILE is a segment, or any other log of Unified Logging (-Xlog) or
of JDK 8 (-Xloggc), plain or compressed by gzip or zstd. Files of one rotated
set (gc.log, gc.log.0, gc.log.1.gz) are read as one stream, in the order of
their dates. URL is that of a sink, s3://BUCKET/PREFIX?..., with namespace= and
pod= to select: the segments are fetched into the directory for temporary files,
one pod at a time for each of --compare's readers, and removed afterwards. For
an hour or more, --compare reads only the marks of the sidecars, unless they
lack a part of the log, or --stall-floor is set.

The report is a page that needs no network, written to ullage-report.html, or
with --text or --json text or JSON, written to stdout. With --perfetto it is a
trace that ui.perfetto.dev opens. --output FILE changes where it goes, and
--output - is stdout. Text has colors on a terminal, unless NO_COLOR
is set. --compare puts the reports of two inputs side by side. Of more inputs,
or of the pods in a bucket, it shows the main figures in a table, their spread,
and the outliers first. With the word vs among the inputs, it also says which
figures of those after it (B) differ from those before it (A) beyond chance, and
by how much; six inputs on each side are enough to say so. A file of the name vs
is ./vs. With --json, --compare prints that table as JSON, even for two inputs.

--stall-floor is the shortest stop, or part of a stop outside its pauses, that
can be suspected of being a stall.

In a destination, lines without a date have the time that 'ullage logs' shows.
In other files, --since and --until leave out lines whose time is not known, and
the report mentions that. The report also says what could not be read, and how
much that is.

Exit status: 0 the report was written, 1 it was not, 2 usage error.
`

// defaultPage is the file to which the page is written without --output.
const defaultPage = "ullage-report.html"

// reportConfig has the settings of `ullage report`.
type reportConfig struct {
	report.Config
	text, json bool // print this instead of a page; perfetto likewise
	perfetto   bool
	output     string
	compare    bool
}

func (c *reportConfig) flags(fs *flag.FlagSet, now time.Time) {
	readFlags(fs, &c.Config, now)
	fs.BoolVar(&c.text, "text", false, "write text, for a terminal, instead of a page")
	cli.JSONFlags(fs, &c.json, "write JSON instead of a page")
	fs.BoolVar(&c.perfetto, "perfetto", false, "write a trace for ui.perfetto.dev instead of a page")
	fs.StringVar(&c.output, "output", "", "write to `FILE`; - is stdout (default: "+defaultPage+" for a page, else stdout)")
	fs.BoolVar(&c.compare, "compare", false, "put the reports of two inputs side by side, or the figures of more in a table, or of two groups (A vs B)")
}

// readFlags declares the flags that select the lines of a report.
func readFlags(fs *flag.FlagSet, c *report.Config, now time.Time) {
	windowFlags(fs, &c.Since, &c.Until, now)
	c.Floor.Flags(fs)
}

func (c *reportConfig) validate(args []string) []error {
	bad := c.Validate()
	if c.text && c.json {
		bad = append(bad, errors.New("--text and --json exclude each other: use one of them"))
	}
	if c.perfetto && (c.text || c.json || c.compare) {
		bad = append(bad, errors.New("--perfetto writes a trace of one report: leave out --text, --json and --compare"))
	}
	switch {
	case c.compare:
		bad = append(bad, badComparison(args)...)
	case len(args) == 0:
		bad = append(bad, errNothingToReport)
	}
	return bad
}

var errNothingToReport = errors.New("nothing to report on: name the --dest of 'ullage run' (or set ULLAGE_DEST to it), a stream's directory in it, or files")

func reportCmd(ctx context.Context, args []string, e cli.Env) int {
	var cfg reportConfig
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	now := time.Now()
	cfg.flags(fs, now)
	e.Operand = "FILE"
	if code, ok := e.Parse(fs, reportAbout, args, func() []error { return cfg.validate(whatToRead(fs, e)) }); !ok {
		return code
	}
	e.NoteFuture("report", cfg.Since, now)
	inputs := [][]string{whatToRead(fs, e)}
	if cfg.compare && (fs.NArg() > 2 || cfg.json || slices.ContainsFunc(fs.Args(), inBucket)) {
		if err := cfg.compareAll(ctx, sidesOf(fs.Args()), e); err != nil {
			return e.Fail("report", err)
		}
		return cli.OK
	}
	if cfg.compare {
		inputs = [][]string{fs.Args()[:1], fs.Args()[1:]}
	}
	var all []*view.Report
	for _, input := range inputs {
		r, err := readReport(ctx, input, cfg.Config, e)
		if err != nil {
			return e.Fail("report", err)
		}
		all = append(all, r)
	}
	print := func(w io.Writer, style view.Style) error { return cfg.print(w, all, style) }
	if err := cfg.write(print, e); err != nil {
		return e.Fail("report", err)
	}
	return cli.OK
}

// readReport reads one input. On a terminal, it shows the progress on stderr.
func readReport(ctx context.Context, input []string, cfg report.Config, e cli.Env) (*view.Report, error) {
	progress := cli.NewProgress(e.Stderr)
	defer progress.Clear()
	cfg.Progress = progress.Read
	return readInputs(ctx, input, cfg)
}

// write writes the output of print to the place that the flags name.
func (c *reportConfig) write(print func(io.Writer, view.Style) error, e cli.Env) error {
	to := c.output
	if to == "" && !c.text && !c.json && !c.perfetto {
		to = defaultPage
	}
	if to == "" || to == "-" {
		return print(e.Stdout, reportStyle(e))
	}
	var text bytes.Buffer
	if err := print(&text, view.Style{}); err != nil {
		return err
	}
	size := text.Len()
	if err := writeWhole(to, 0o644, func(w io.Writer) error { _, err := text.WriteTo(w); return err }); err != nil {
		return err
	}
	fmt.Fprintf(e.Stderr, "wrote %s, %s\n", printable.Line(to), printable.Bytes(int64(size)))
	return nil
}

func (c *reportConfig) print(w io.Writer, all []*view.Report, style view.Style) error {
	switch {
	case c.json:
		return view.JSON(w, all[0])
	case c.text:
		return view.Text(w, style, all...)
	case c.perfetto:
		return view.Perfetto(w, all[0])
	}
	return view.HTML(w, all...)
}

// reportStyle returns the style of stdout: with colors on a terminal.
func reportStyle(e cli.Env) view.Style {
	noColor, _ := e.LookupEnv("NO_COLOR")
	return view.Style{Color: noColor == "" && cli.NewScreen(e.Stdout) != nil}
}

// writeWhole replaces a file with what print writes, so that a reader never sees half of it.
func writeWhole(path string, mode os.FileMode, print func(io.Writer) error) error {
	if stat, err := os.Stat(path); err == nil && !stat.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // a device or a pipe cannot be replaced
		if err != nil {
			return err
		}
		return errors.Join(print(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ullage-report-*")
	if err != nil {
		return fmt.Errorf("create the file: %w", err)
	}
	defer os.Remove(f.Name()) // fails once the file has been renamed
	err = errors.Join(print(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	return nil
}
