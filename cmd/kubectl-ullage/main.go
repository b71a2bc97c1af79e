// Command kubectl-ullage is a plugin of kubectl, which runs it as `kubectl ullage`. For pods that have ullage as a
// sidecar, it shows and changes log levels, shows their state and prints persisted lines. It reaches the cluster by
// running kubectl, so it has the rights, the clusters and the credentials of its user. It needs the rights to get and
// patch pods, to exec in them, and to forward their ports.
package main

import (
	"context"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
)

// program is the name in messages, because people run kubectl-ullage as 'kubectl ullage'.
const program = "kubectl ullage"

func main() { cli.Main(program, dispatch) }

// dispatch runs the command at the beginning of args and returns the exit code. Flags that name a cluster may precede
// the command.
func dispatch(ctx context.Context, args []string, e cli.Env) int {
	e.FlagsOnly = true
	c := cluster{kubectl: "kubectl"}
	if name, ok := e.LookupEnv("KUBECTL"); ok && name != "" {
		c.kubectl = name
	}
	return commandLine(&c).Run(ctx, args, e)
}

// commandLine has the commands. They apply to the cluster that the flags before them name.
func commandLine(c *cluster) cli.Program {
	at := func(run func(context.Context, []string, cli.Env, cluster) int) func(context.Context, []string, cli.Env) int {
		return func(ctx context.Context, args []string, e cli.Env) int { return run(ctx, args, e, *c) }
	}
	return cli.Program{
		About: `kubectl ullage shows and controls the ullage sidecars of pods, which ship JVM
logs.
`,
		Flags:     c.flags,
		Elsewhere: map[string]string{"run": "ullage", "prune": "ullage"},
		Commands: []cli.Command{
			{Name: "levels", Summary: "show what the JVMs of pods log, raise it for a while", Run: at(levelsCmd)},
			{Name: "status", Summary: "the state of the sidecars, as a table", Run: at(statusCmd)},
			{Name: "top", Summary: "budget used, headroom and lag, the worst first", Run: at(topCmd)},
			{Name: "logs", Summary: "print what was persisted", Run: at(logsCmd)},
			{Name: "check", Summary: "report whether what was persisted is complete", Run: at(checkCmd)},
			{Name: "pauses", Summary: "print how long the application was stopped, by cause", Run: at(pausesCmd)},
			{Name: "open", Summary: "the live page of a pod, in the browser", Run: at(openCmd)},
			{Name: "report", Summary: "a report of what was persisted, in the browser", Run: at(reportCmd)},
			{Name: "incident", Summary: "what is known about an incident, as one archive", Run: at(incidentCmd)},
			{Name: "adopt", Summary: "ship the log of a JVM that has no sidecar, for a while", Run: at(adoptCmd)},
			{Name: "doctor", Summary: "why a pod has no sidecar, or what is wrong with it", Run: at(doctorCmd)},
			cli.Version(version),
		},
		More: more,
	}
}

const more = `Examples:
  kubectl ullage levels web-0 'gc*=debug,safepoint=info' --for 10m
  kubectl ullage logs web-0 -f --level warning
  kubectl ullage logs deploy/web --since 5m
  kubectl ullage report sts/db --since 24h
  kubectl ullage incident web-0 --around 16:45
  kubectl ullage top -A
  kubectl ullage open web-0
  kubectl ullage adopt deploy/web --for 10m
  kubectl ullage doctor deploy/web

Commands take a TARGET, a pod, web-0, or a workload, written as for kubectl:
deploy/web, sts/db, ds/NAME, job/NAME, rollout/NAME (of Argo Rollouts),
deployments.apps/web. Of a workload, levels, status and top take all pods; logs,
check, pauses, open, report, incident and adopt take one, the oldest that is
ready, and say which on stderr; doctor looks at the template and the newest pod.

Every command except version accepts -n, --context and --kubeconfig, as kubectl
does, and -l SELECTOR instead of TARGET; status and top also accept -A. Flags may
be before or after names.

It runs the kubectl on the PATH, or the program in $KUBECTL. It needs the rights
to get and list pods and to exec in them (create pods/exec), and to get a
workload that you name; 'levels' also needs the right to patch pods, 'open' to
forward ports (create pods/portforward), 'adopt' to update
pods/ephemeralcontainers, and 'doctor' reports which rights it lacks. Roles for
people on call, without the rights of 'adopt':
` + build.Docs + `plugin.md#rights

Exit status: 0 success, 1 run-time failure, 2 usage error.
`
