// Command ullage ships a JVM's log files from a tmpfs to durable storage, so
// that no pause of the JVM ever waits for a disk.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ullage/ullage/internal/cli"
)

// usage is the whole of `ullage help`. What a subcommand takes is told by
// `ullage SUBCOMMAND --help`, from the flags themselves.
const usage = `ullage keeps headroom between a JVM that logs and a disk that stalls.

A JVM writes its log (-Xlog) to files on a tmpfs, where a write never waits for
a disk. ullage follows those files, copies their lines to durable storage, and
gives the memory back. A sidecar in Kubernetes, it runs as well on any Linux.

Usage:
  ullage run      follow a directory of log files and persist their lines
  ullage cat      print what was persisted
  ullage log      show a running JVM's log levels, raise them for a while
  ullage status   ask a running 'ullage run' how it is doing
  ullage version  print what this program was built from
  ullage help     print this text; 'ullage help run' is 'ullage run --help'

Try it, with a JVM on this machine (/dev/shm is a tmpfs):
  mkdir -p /dev/shm/jvm /tmp/durable
  ullage run --source /dev/shm/jvm --dest /tmp/durable &
  java -Xlog:gc*,safepoint:file=/dev/shm/jvm/gc.log::filecount=1,filesize=0 -version
  ullage status
  ullage cat /tmp/durable

Every flag of every subcommand can be set in the environment as well: --dest is
ULLAGE_DEST, --sync-interval is ULLAGE_SYNC_INTERVAL. A flag wins. Durations are
written like 500ms, 10s or 24h, sizes like 64Mi, 1Gi or 4096.

Exit status: 0 done, 1 failed while it ran, 2 asked for in a wrong way.
`

func main() {
	// The first signal ends the context: finish, drain, exit. A second Ctrl-C
	// kills as usual. A second SIGTERM does not: an orchestrator may repeat
	// it, and it must not cost what is being drained.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	code := dispatch(ctx, os.Args[1:], cli.Env{Program: "ullage", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv})
	cancel()
	os.Exit(code)
}

// dispatch runs the subcommand that args begins with and returns the exit code.
func dispatch(ctx context.Context, args []string, e cli.Env) int {
	if len(args) == 0 {
		io.WriteString(e.Stderr, usage)
		return cli.Usage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "run":
		return runCmd(ctx, rest, e)
	case "cat":
		return catCmd(ctx, rest, e)
	case "log":
		return logCmd(ctx, rest, e)
	case "status":
		return statusCmd(ctx, rest, e)
	case "version", "--version":
		return e.Version(rest, version)
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 || isHelp(rest[0]) {
			if _, err := io.WriteString(e.Stdout, usage); err != nil {
				return e.Fail("help", err)
			}
			return cli.OK
		}
		return dispatch(ctx, []string{rest[0], "--help"}, e)
	}
	fmt.Fprintf(e.Stderr, "ullage: unknown command %q\nrun 'ullage help' for what there is\n", name)
	return cli.Usage
}

// isHelp stops `ullage help help` and the like from going round in circles.
func isHelp(name string) bool {
	return name == "help" || name == "-h" || name == "-help" || name == "--help"
}
