// Command kubectl-ullage is a plugin of kubectl, which runs it as `kubectl
// ullage`: log levels, state and persisted lines of the pods that have ullage
// as a sidecar. It reaches the cluster by running kubectl, so it
// has the rights, the clusters and the credentials of its user. It needs the
// rights to get and patch pods, to exec in them, and to forward their ports.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
)

// usage is the whole of `kubectl ullage help`.
const usage = `kubectl ullage shows and controls the ullage sidecars of pods, which ship the logs of JVMs.

Usage:
  kubectl ullage levels TARGET|-l SELECTOR SELECTION [--for 10m]
                                                    raise what its JVMs log, for a time
  kubectl ullage levels TARGET|... [--reset]        show the levels, or end the raise
  kubectl ullage status [TARGET...]                 the state of the sidecars, as a table
  kubectl ullage top [TARGET...]                    headroom and lag, the worst first
  kubectl ullage logs TARGET [-f] [--since 10m]     print what was persisted
  kubectl ullage open TARGET                        its live page, in the browser
  kubectl ullage report TARGET [--since 24h]        a report of what was persisted, in the browser
  kubectl ullage doctor [TARGET]                    why a pod has no sidecar, or what is wrong with it
  kubectl ullage version                            print what this program was built from
  kubectl ullage help                               print this text; 'help levels' is 'levels --help'

TARGET is a pod, web-0, or a workload, written as for kubectl: deploy/web, sts/db, ds/NAME,
job/NAME, rollout/NAME (of Argo Rollouts), deployments.apps/web. Of a workload, levels,
status and top take all pods; logs, open and report take one, the oldest that is ready,
and say which on stderr; doctor looks at the template and the newest pod.

Every command but version takes -n, --context and --kubeconfig, as kubectl does, and
-l SELECTOR instead of TARGET; status and top take -A as well. Flags may be before or
after names.

Examples:
  kubectl ullage levels web-0 'gc*=debug,safepoint=info' --for 10m
  kubectl ullage logs web-0 -f --level warning
  kubectl ullage logs deploy/web --since 5m
  kubectl ullage top -A
  kubectl ullage open web-0
  kubectl ullage doctor deploy/web

It runs the kubectl on the PATH, or the program in $KUBECTL. It needs the
right to get and list pods and to exec in them (create pods/exec), for a workload the
right to get it; 'levels' also needs the right to patch pods, 'open' to forward ports
(create pods/portforward), and 'doctor' says which rights it lacks. Roles with
just these rights for people on call:
` + build.Docs + `plugin.md#rights

Exit status: 0 success, 1 run-time failure, 2 usage error.
`

func main() {
	// The first signal ends the context, and with it every kubectl that was
	// started; a second Ctrl-C kills as usual.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	code := dispatch(ctx, os.Args[1:], env{stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv})
	cancel()
	os.Exit(code)
}

// dispatch runs the command that args begins with, or has after flags that
// name a cluster, and returns the exit code.
func dispatch(ctx context.Context, args []string, e env) int {
	c, args, bad := e.cluster(args)
	if len(bad) > 0 {
		return e.misused("", bad)
	}
	if len(args) == 0 {
		io.WriteString(e.stderr, usage)
		return cli.Usage
	}
	name, rest := args[0], args[1:]
	if name == "help" {
		if len(rest) == 0 || rest[0] == "help" {
			return e.print("help", usage)
		}
		return dispatch(ctx, []string{rest[0], "--help"}, e)
	}
	commands := map[string]func(context.Context, []string, env, cluster) int{
		"levels":  levelsCmd,
		"status":  statusCmd,
		"top":     topCmd,
		"logs":    logsCmd,
		"open":    openCmd,
		"report":  reportCmd,
		"doctor":  doctorCmd,
		"version": versionCmd,
	}
	if run, ok := commands[name]; ok {
		return run(ctx, rest, e, c)
	}
	known := slices.Sorted(maps.Keys(commands))
	fmt.Fprintf(e.stderr, "kubectl ullage: %s\nrun 'kubectl ullage help' for a list\n", cli.Unknown("command", name, known))
	return cli.Usage
}
