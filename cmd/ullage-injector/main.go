// Command ullage-injector gives pods with JVMs a tmpfs for their logs and a
// sidecar that ships them.
package main

import (
	"context"
	"flag"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/settings"
)

// usage is the output of `ullage-injector help`.
const usage = `ullage-injector gives pods with JVMs a tmpfs for their logs, and a sidecar
that ships them.

Usage:
  ullage-injector check    check the settings of 'serve', before it serves
  ullage-injector inject   do it to the pods and pod templates of a YAML file
  ullage-injector serve    be the admission webhook that does it to new pods
  ullage-injector version  print what this program was built from
  ullage-injector help     print this text; 'help inject' is 'inject --help'

Try it, without a cluster:
  ullage-injector inject --image localhost/ullage:v1 -f deployment.yaml | kubectl apply -f -

Every flag can also be set in the environment: --image as ULLAGE_IMAGE. A flag
overrides the environment.

Exit status: 0 success, 1 run-time failure, 2 usage error.
`

func main() { cli.Main("ullage-injector", dispatch) }

// dispatch runs the subcommand that args begins with and returns the exit code.
func dispatch(ctx context.Context, args []string, e cli.Env) int {
	e.FlagNames = flagNames
	return e.Dispatch(ctx, args, usage, map[string]cli.Command{
		"check":   checkCmd,
		"inject":  injectCmd,
		"serve":   serveCmd,
		"version": cli.Version(version),
	})
}

// flagNames returns the names of the flags of all subcommands.
func flagNames() []string {
	var names []string
	for _, flags := range []func(*flag.FlagSet){new(injectConfig).flags, new(serveConfig).flags} { // check has the flags of both
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		flags(fs)
		names = append(names, settings.Names(fs)...)
	}
	return names
}
