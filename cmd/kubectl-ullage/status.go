package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

const statusAbout = `kubectl ullage status shows the state of many sidecars.

Usage:
  kubectl ullage status [TARGET...] [-w | -o json]
  kubectl ullage status -l SELECTOR | -A [-w | -o json]

Examples:
  kubectl ullage status
  kubectl ullage status deploy/web -w
  kubectl ullage status -l app=web -o json
  kubectl ullage status -A
  kubectl exec POD -c ullage -- ullage status    # the full state of one sidecar

TARGET is a pod, or a workload such as deploy/web for all its pods that have not
ended. Without a TARGET it asks every pod of the namespace that has an ullage
sidecar and lists the pods that should have one but do not. A pod with several
JVM containers has a sidecar, and a row, for each.

  READY     whether it persists what it reads
  USED      how much of the budget (the part of the tmpfs for logs) is used
  BACKLOG   bytes that the JVM has written and that are not yet durable
  LAG       age of the oldest line that is not yet durable
  LEVEL     "own", or what the level was raised to, and for how much longer;
            "off": the sidecar does not change levels
  ERRORS    what is wrong, or why the sidecar cannot be reached

If sidecars are older than others or than this program, as after an upgrade of
the injector, a line on stderr reports how many: a pod keeps its old sidecar
until it is recreated.

It exits with 1 if a sidecar that should run cannot be reached, or if a pod
lacks the sidecar that it should have. To find such pods in namespaces with the
label ullage.dev/injection, you need the right to list namespaces.
`

func statusCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	s := survey{cluster: c}
	fs := flag.NewFlagSet("status", flag.ContinueOnError)
	s.flags(fs)
	e.Words = s.cluster.words(ctx)
	if code, ok := e.Parse(fs, statusAbout, args, func() []error { return s.validate(fs.Args()) }); !ok {
		return code
	}
	answers, code := s.show(ctx, e, "status", func(answers []answer) string { return statusTable(answers, s.cluster.all) })
	if answers == nil {
		return code
	}
	if text := outdated(answers, build.Read(version).Version); text != "" {
		fmt.Fprintf(e.Stderr, "kubectl ullage status: %s\n", printable.Line(text))
	}
	return code
}

// statusTable has a row for each answer. Only the last cell of a row may contain spaces.
func statusTable(answers []answer, namespaces bool) string {
	header := "POD\tREADY\tUSED\tBACKLOG\tLAG\tLEVEL\tERRORS"
	return table(answers, namespaces, header, func(a answer) string {
		wrong := problems(a)
		if a.of.killed != "" {
			wrong = strings.TrimSuffix(a.of.killed+"; "+wrong, "; -")
		}
		if a.err != nil {
			return "?\t-\t-\t-\t-\t" + wrong
		}
		st := a.status
		return strings.Join([]string{yesNo(st.Ready), usedShare(st), printable.Quantity(st.BacklogBytes),
			printable.Seconds(st.LagSeconds), level(st), wrong}, "\t")
	})
}

// table puts the pod's name before each row of cells. If there are no answers, it is empty.
func table(answers []answer, namespaces bool, header string, cells func(answer) string) string {
	if len(answers) == 0 {
		return ""
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if namespaces {
		header = "NAMESPACE\t" + header
	}
	fmt.Fprintln(t, header)
	for _, a := range answers {
		if namespaces {
			fmt.Fprintf(t, "%s\t", cmp.Or(word(a.of.cluster.namespace), "-"))
		}
		fmt.Fprintf(t, "%s\t%s\n", word(a.of.String()), cells(a))
	}
	_ = t.Flush() // writing to a Builder never fails
	return b.String()
}
