// Command ullage-injector gives pods with JVMs a tmpfs for their logs and a
// sidecar that ships them.
package main

import (
	"context"
	"flag"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/settings"
)

// program describes the command line.
func program() cli.Program {
	return cli.Program{
		About: `ullage-injector gives pods with JVMs a tmpfs for their logs and a sidecar that
ships them.
`,
		Commands: []cli.Command{
			{Name: "check", Summary: "check the settings of 'serve' without serving", Run: checkCmd},
			{Name: "inject", Summary: "add the sidecar to the pods in a YAML file", Run: injectCmd},
			{Name: "serve", Summary: "run the admission webhook, which adds it to new pods", Run: serveCmd},
			cli.Completion(),
			cli.Version(version),
		},
		More: `Try it, without the webhook:
  ullage-injector inject --image localhost/ullage:v1 -f deployment.yaml | kubectl apply -f -

Every flag can also be set in the environment: --image as ULLAGE_IMAGE. A flag
overrides the environment.

Exit status: 0 success, 1 run-time failure, 2 usage error.
`,
	}
}

func main() { cli.Main("ullage-injector", dispatch) }

// dispatch runs the subcommand at the beginning of args and returns the exit code.
func dispatch(ctx context.Context, args []string, e cli.Env) int {
	e.FlagNames = flagNames
	return program().Run(ctx, args, e)
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
