package main

import (
	"context"
	"flag"
	"time"

	"github.com/ullage/ullage/internal/base/cli"
)

const checkAbout = `kubectl ullage check reports whether what a pod's sidecar has persisted is
complete.

Usage:
  kubectl ullage check TARGET [--since T] [--until T] [--stream S] [-o json] [-c NAME]

Examples:
  kubectl ullage check web-0
  kubectl ullage check deploy/web --since 1h
  kubectl ullage check web-0 --stream 'gc*.log' -o json

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR. Of several pods,
the command takes the oldest that is ready, and says on stderr which that is.

It runs 'ullage check' in the sidecar and accepts the same values. It exits with
0 if the copy is complete, and with 1 if it is not or cannot be read.

A pod with several JVM containers has a sidecar for each: -c names one.
`

const pausesAbout = `kubectl ullage pauses prints how long a pod's application was stopped, by cause,
and the ten longest stops with their lines.

Usage:
  kubectl ullage pauses TARGET [--since T] [--until T] [-o json] [-c NAME]

Examples:
  kubectl ullage pauses web-0 --since 10m
  kubectl ullage pauses deploy/web --since 16:00 --until 17:00

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR. Of several pods,
the command takes the oldest that is ready, and says on stderr which that is.

It runs 'ullage pauses' in the sidecar and takes the same values.
'kubectl ullage report' shows more.

A pod with several JVM containers has a sidecar for each: -c names one.
`

// question is a command that the sidecar's program answers as text: check or pauses.
type question struct {
	single
	name         string
	about        string
	since, until string // in the form that the sidecar's program accepts
	stream       string // only of check
	json         bool
}

// flags declares the settings on fs. A time without a zone is in the zone of now.
func (q *question) flags(fs *flag.FlagSet, now time.Time) {
	q.single.flags(fs)
	zonedVar(fs, &q.since, "since", now, "only lines at `T` or later: a duration before now, or a time")
	zonedVar(fs, &q.until, "until", now, "only lines up to `T`, as for --since")
	if q.name == "check" {
		fs.StringVar(&q.stream, "stream", "", "only streams whose name matches `GLOB`")
	}
	cli.JSONFlags(fs, &q.json, "print JSON")
}

func checkCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	return (&question{single: single{cluster: c}, name: "check", about: checkAbout}).run(ctx, args, e)
}

func pausesCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	return (&question{single: single{cluster: c}, name: "pauses", about: pausesAbout}).run(ctx, args, e)
}

func (q *question) run(ctx context.Context, args []string, e cli.Env) int {
	fs := flag.NewFlagSet(q.name, flag.ContinueOnError)
	q.flags(fs, time.Now())
	e.Words = q.cluster.words(ctx)
	if code, ok := e.Parse(fs, q.about, args, func() []error { return q.validate(fs.Args()) }); !ok {
		return code
	}
	s, dest, err := q.persisted(ctx, e, q.name)
	if err != nil {
		return e.Fail(q.name, err)
	}
	return s.stream(ctx, e, q.name, false, q.sidecarArgs(dest))
}

// sidecarArgs returns the arguments for the sidecar's program.
func (q *question) sidecarArgs(dest string) []string {
	args := []string{q.name}
	for _, flag := range [][2]string{{"since", q.since}, {"until", q.until}, {"stream", q.stream}} {
		if flag[1] != "" {
			args = append(args, "--"+flag[0]+"="+flag[1])
		}
	}
	if q.json {
		args = append(args, "--json")
	}
	return append(args, dest)
}
