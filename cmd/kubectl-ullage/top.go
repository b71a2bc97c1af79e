package main

import (
	"cmp"
	"context"
	"flag"
	"strings"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

const topAbout = `kubectl ullage top shows which sidecars are closest to losing lines, the worst
first.

Usage:
  kubectl ullage top [TARGET...] [-w | -o json]
  kubectl ullage top -l SELECTOR | -A [-w | -o json]

Examples:
  kubectl ullage top -A
  kubectl ullage top -l app=web -w
  kubectl ullage top deploy/web sts/db

TARGET is a pod, or a workload such as deploy/web for all its pods.

Sidecars that cannot be reached are listed first. The others follow by how much
of their budget is used, in tenths, and then by lag, the greatest first. Pods
that have ended are left out.

  USED      how much of the budget (the part of the tmpfs for logs) is used
  HEADROOM  free bytes of the tmpfs that the JVM writes to
  BACKLOG   bytes that the JVM has written and that are not yet durable
  LAG       age of the oldest line that is not yet durable
`

func topCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	s := survey{cluster: c}
	fs := flag.NewFlagSet("top", flag.ContinueOnError)
	s.flags(fs)
	e.Words = s.cluster.words(ctx)
	if code, ok := e.Parse(fs, topAbout, args, func() []error { return s.validate(fs.Args()) }); !ok {
		return code
	}
	s.worstFirst = true
	_, code := s.show(ctx, e, "top", func(answers []answer) string { return topTable(answers, s.cluster.all) })
	return code
}

func topTable(answers []answer, namespaces bool) string {
	return table(answers, namespaces, "POD\tUSED\tHEADROOM\tBACKLOG\tLAG\tERRORS", func(a answer) string {
		if a.err != nil {
			return "?\t?\t?\t?\t" + problems(a)
		}
		st := a.status
		return strings.Join([]string{usedShare(st), printable.Quantity(st.HeadroomBytes), printable.Quantity(st.BacklogBytes), printable.Seconds(st.LagSeconds), problems(a)}, "\t")
	})
}

// worse compares answers: the worst comes first.
func worse(a, b answer) int {
	if known := cmp.Compare(rank(a.err == nil), rank(b.err == nil)); known != 0 || a.err != nil {
		return known
	}
	// Lag matters more than small differences in the used budget.
	x, y := a.status, b.status
	return cmp.Or(
		cmp.Compare(int(10*x.FreeShare()), int(10*y.FreeShare())),
		cmp.Compare(y.LagSeconds, x.LagSeconds),
		cmp.Compare(x.FreeShare(), y.FreeShare()),
	)
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
