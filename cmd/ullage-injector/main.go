// Command ullage-injector gives pods with JVMs a tmpfs for their logs and a
// sidecar that ships them.
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

// usage is the whole of `ullage-injector help`.
const usage = `ullage-injector gives pods with JVMs a tmpfs for their logs, and a sidecar
that ships them.

Usage:
  ullage-injector inject   do it to the pods and pod templates of a YAML file
  ullage-injector serve    be the admission webhook that does it to new pods
  ullage-injector version  print what this program was built from
  ullage-injector help     print this text; 'help inject' is 'inject --help'

Try it, without a cluster:
  ullage-injector inject --image ullage:v1 -f deployment.yaml | kubectl apply -f -

Every flag of every subcommand can be set in the environment as well: --image is
ULLAGE_IMAGE. A flag wins.

Exit status: 0 done, 1 failed while it ran, 2 asked for in a wrong way.
`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	code := dispatch(ctx, os.Args[1:], cli.Env{Program: "ullage-injector", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv})
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
	case "inject":
		return injectCmd(ctx, rest, e)
	case "serve":
		return serveCmd(ctx, rest, e)
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
	fmt.Fprintf(e.Stderr, "ullage-injector: unknown command %q\nrun 'ullage-injector help' for what there is\n", name)
	return cli.Usage
}

// isHelp stops `ullage-injector help help` and the like from going round in
// circles.
func isHelp(name string) bool {
	return name == "help" || name == "-h" || name == "-help" || name == "--help"
}
