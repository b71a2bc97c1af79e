package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/ship/ring"
)

const ringAbout = `ullage ring prints the events that are in a ring file: of a flight recorder the
newest, of another ring the events that no sidecar has taken out yet.

Usage:
  ullage ring FILE

A line is "TIME (DELTA): MESSAGE". DELTA is the time since the event before, in
seconds. The file is what a JVM with the library of ullage writes: it survives a
kill -9 of that JVM, and can be printed while the JVM runs. Nothing in it is
changed.

Example:
  ULLAGE_EVENTS=/dev/shm,recorder java -jar app.jar
  ullage ring /dev/shm/recorder-4711-1763722140123.ring | tail -n 100
`

func ringCmd(_ context.Context, args []string, e cli.Env) int {
	fs := flag.NewFlagSet("ring", flag.ContinueOnError)
	code, ok := e.Parse(fs, ringAbout, args, func() []error {
		if fs.NArg() == 0 {
			return []error{errors.New("no file given: name a ring, as recorder-4711-1763722140123.ring")}
		}
		return cli.Unexpected(fs.Args()[1:])
	})
	if !ok {
		return code
	}
	found, err := ring.Print(e.Stdout, fs.Arg(0))
	if err != nil {
		return e.Fail("ring", err)
	}
	if n := found.Dropped.Total(); n > 0 {
		fmt.Fprintf(e.Stderr, "ullage ring: %s events were dropped since the JVM's start: the ring was full\n", printable.Count(int64(n)))
	}
	return cli.OK
}
