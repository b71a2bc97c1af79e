// Command kubectl-ullage is a plugin of kubectl, which runs it as `kubectl
// ullage`: log levels, state and persisted lines of the pods that have ullage
// as a sidecar. It reaches the cluster by running kubectl, so it
// has the rights, the clusters and the credentials of its user. It needs the
// rights to get and patch pods, to exec in them, and to forward their ports.
package main

import (
	"context"
	"flag"
	"slices"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/settings"
)

// usage is the whole of `kubectl ullage help`.
const usage = `kubectl ullage shows and controls the ullage sidecars of pods, which ship the
logs of JVMs.

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

TARGET is a pod, web-0, or a workload, written as for kubectl: deploy/web,
sts/db, ds/NAME, job/NAME, rollout/NAME (of Argo Rollouts),
deployments.apps/web. Of a workload, levels, status and top take all pods; logs,
open and report take one, the oldest that is ready, and say which on stderr;
doctor looks at the template and the newest pod.

Every command but version takes -n, --context and --kubeconfig, as kubectl does,
and -l SELECTOR instead of TARGET; status and top take -A as well. Flags may be
before or after names.

Examples:
  kubectl ullage levels web-0 'gc*=debug,safepoint=info' --for 10m
  kubectl ullage logs web-0 -f --level warning
  kubectl ullage logs deploy/web --since 5m
  kubectl ullage top -A
  kubectl ullage open web-0
  kubectl ullage doctor deploy/web

It runs the kubectl on the PATH, or the program in $KUBECTL. It needs the right
to get and list pods and to exec in them (create pods/exec), for a workload the
right to get it; 'levels' also needs the right to patch pods, 'open' to forward
ports (create pods/portforward), and 'doctor' says which rights it lacks. Roles
with just these rights for people on call:
` + build.Docs + `plugin.md#rights

Exit status: 0 success, 1 run-time failure, 2 usage error.
`

// program is the name in messages: kubectl runs kubectl-ullage as that.
const program = "kubectl ullage"

func main() { cli.Main(program, dispatch) }

// dispatch runs the command that args begins with, or has after flags that
// name a cluster, and returns the exit code.
func dispatch(ctx context.Context, args []string, e cli.Env) int {
	e.FlagsOnly = true
	c := cluster{kubectl: "kubectl"}
	if name, ok := e.LookupEnv("KUBECTL"); ok && name != "" {
		c.kubectl = name
	}
	if len(args) > 0 && !slices.Contains([]string{"--version", "-v", "-V"}, args[0]) {
		var bad []error
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		c.flags(fs)
		args, bad = settings.ParseLeading(fs, args)
		if cli.HelpWanted(bad) {
			args, bad = []string{"help"}, nil
		}
		if len(bad) > 0 {
			return e.Misused("", bad)
		}
	}
	commands := map[string]cli.Command{"version": cli.Version(version)}
	for name, run := range map[string]func(context.Context, []string, cli.Env, cluster) int{
		"levels": levelsCmd,
		"status": statusCmd,
		"top":    topCmd,
		"logs":   logsCmd,
		"open":   openCmd,
		"report": reportCmd,
		"doctor": doctorCmd,
	} {
		commands[name] = func(ctx context.Context, args []string, e cli.Env) int { return run(ctx, args, e, c) }
	}
	return e.Dispatch(ctx, args, usage, commands)
}
