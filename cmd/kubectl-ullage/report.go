package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/read/report/view"
)

// maxReport limits the size of a report in bytes. The report of a day's log is under 2 MB.
const maxReport = 16 << 20

const reportAbout = `kubectl ullage report makes a report from what a pod's sidecar has persisted and
opens it in the browser: pauses, heap, rates, stalls and gaps, on one page that
needs no network.

Usage:
  kubectl ullage report TARGET [--since T] [--until T] [--output FILE | -o json] [-c NAME]

Examples:
  kubectl ullage report web-0
  kubectl ullage report deploy/web --since 24h
  kubectl ullage report -l app=web --since 24h
  kubectl ullage report web-0 --since 16:00 --until 17:00 --output incident.html
  kubectl ullage report web-0 -o json | jq .totals

TARGET is a pod, or a workload such as deploy/web: of its pods, the command
takes the oldest that is ready, and says on stderr which that is. Or it is -l
SELECTOR: of several pods, the page is one table, each pod a row, the outliers
first. A pod that cannot be read is named there and on stderr.

It runs 'ullage report --json' in the sidecar, makes a page from the figures,
and writes it to FILE: by default POD-report.html in the current directory
(pods-report.html for several pods), with a number if that file exists. Nothing
that the container sends is run in the browser. T is a duration before now (10m,
36h), a time with its zone, or a local time (16:45, 2026-11-20T16:45). The
command prints the name of the file. If there is no browser, open the file
yourself; set BROWSER to use another one.

With -o json it prints the figures instead: with -l, those of the table, even
for a single pod.

A pod with several JVM containers has a sidecar for each: -c names one.
`

// reportConfig has the settings of `kubectl ullage report`.
type reportConfig struct {
	single
	since, until string // in the form that 'ullage report' takes
	output       string // empty: a new name
	json         bool   // print the figures and write no page
}

// flags declares the settings on fs. A time without a zone is in the zone of now.
func (c *reportConfig) flags(fs *flag.FlagSet, now time.Time) {
	c.single.flags(fs)
	zonedVar(fs, &c.since, "since", now, "only lines at `T` or later: a duration before now, or a time")
	zonedVar(fs, &c.until, "until", now, "only lines up to `T`, as for --since")
	fs.StringVar(&c.output, "output", "", "`FILE` to write the page to; an existing file is replaced")
	cli.JSONFlags(fs, &c.json, "print the figures as JSON, as 'ullage report --json' does")
}

func (c *reportConfig) validate(args []string) []error {
	bad := c.single.validate(args)
	if c.json && c.output != "" {
		bad = append(bad, errors.New("-o json prints the figures, but --output names the file of a page: use one of them"))
	}
	return bad
}

// one creates the report for one pod.
func (c *reportConfig) one(ctx context.Context, e cli.Env) error {
	s, dest, err := c.persisted(ctx, e, "report")
	if err != nil {
		return err
	}
	stop := cli.NewProgress(e.Stderr).Wait("reading what " + s.pod + " persisted")
	figures, err := s.report(ctx, c.reportArgs(dest))
	stop()
	if err != nil {
		return fmt.Errorf("make the report in the sidecar: %w", err)
	}
	if c.json {
		return view.JSON(e.Stdout, figures)
	}
	page, err := s.page(figures)
	if err != nil {
		return err
	}
	return c.show("report", s.pod, page, e)
}

// show saves the page of a command, opens it and prints the name of its file. Without --output, the file is named after
// `of`, such as a pod.
func (c *reportConfig) show(command, of string, page []byte, e cli.Env) error {
	file, err := save(c.output, of+"-report", ".html", func(w io.Writer) error { _, err := w.Write(page); return err })
	if err != nil {
		return err
	}
	if err := browse(e, fileURL(file)); err != nil {
		fmt.Fprintf(e.Stderr, "kubectl ullage %s: open the file in a browser: %s\n", command, printable.Line(err.Error()))
	}
	if _, err := fmt.Fprintln(e.Stdout, file); err != nil {
		return fmt.Errorf("print the name of the file: %w", err)
	}
	return nil
}

// reportArgs returns the arguments for the sidecar's program.
func (c *reportConfig) reportArgs(dest string) []string {
	args := []string{"report", "--json"}
	if c.since != "" {
		args = append(args, "--since="+c.since)
	}
	if c.until != "" {
		args = append(args, "--until="+c.until)
	}
	return append(args, dest)
}

// report runs the sidecar's program and returns the figures.
func (s sidecar) report(ctx context.Context, args []string) (*view.Report, error) {
	var text bytes.Buffer
	if _, err := s.collect(ctx, args, maxReport, &text); err != nil {
		return nil, err
	}
	return view.Decode(text.Bytes())
}

// collect runs the sidecar's program, writes its output to a file or a buffer, and returns what it printed on stderr.
// It takes as long as the copy takes to read, and only Ctrl-C ends it early. More than limit bytes are an error.
func (s sidecar) collect(ctx context.Context, args []string, limit int, to io.Writer) (said string, err error) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := s.cluster.command(call, s.execWithStdin(args...)...)
	text, complaint := &head{limit: limit, to: to, over: cancel}, &head{limit: maxComplaint, over: func() {}}
	cmd.Stdout, cmd.Stderr = text, complaint
	stdin, err := cmd.StdinPipe() // as in sidecar.stream: closing it ends the program in the sidecar
	if err != nil {
		return "", fmt.Errorf("make a pipe for kubectl: %w", err)
	}
	defer stdin.Close()
	err = cmd.Run()
	switch {
	case text.more:
		return "", fmt.Errorf("it is longer than %s: choose a shorter time", printable.Bytes(int64(limit)))
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", s.cluster.explain(err, string(complaint.kept))
	}
	return string(complaint.kept), nil
}

// page creates the page on this machine. A page from the container could contain any script, since a tenant
// decides what runs in the container.
func (s sidecar) page(figures *view.Report) ([]byte, error) {
	figures.Name = "pod " + s.String() + ": " + printable.Line(figures.Name)
	var page bytes.Buffer
	if err := view.HTML(&page, figures); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}

// save writes a file, completely or not at all, and returns its name: output or, if that is empty, a new name that
// begins with `of`. The file contains log lines, so only its owner may read it.
func save(output, of, ext string, print func(io.Writer) error) (name string, err error) {
	dir := filepath.Dir(output)
	if output == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, ".ullage-*")
	if err != nil {
		return "", fmt.Errorf("write the file: %w", err)
	}
	defer os.Remove(f.Name()) // has no effect once the file has its final name
	if err := errors.Join(print(f), f.Close()); err != nil {
		return "", err
	}
	if output == "" {
		return unused(f.Name(), of, ext)
	}
	if err := os.Rename(f.Name(), output); err != nil {
		return "", fmt.Errorf("write the file: %w", err)
	}
	return output, nil
}

// mostFiles limits the number that makes the name of a file unique in a directory.
const mostFiles = 1000

// unused gives a file a name that is not in use yet.
func unused(file, name, ext string) (string, error) {
	for n := 1; n < mostFiles; n++ {
		to := name + ext
		if n > 1 {
			to = fmt.Sprintf("%s-%d%s", name, n, ext)
		}
		if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.Rename(file, to); err != nil {
			return "", fmt.Errorf("write the file: %w", err)
		}
		return to, nil
	}
	return "", fmt.Errorf("there are %d files %s already: name a file with --output", mostFiles-1, name+ext)
}

// fileURL returns the URL of a file.
func fileURL(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") { // C:/...
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}
