package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/internal/cli"
	"github.com/ullage/ullage/internal/printable"
)

const topAbout = `kubectl ullage top shows which sidecars are closest to losing lines, the worst first.

Usage:
  kubectl ullage top [POD...]
  kubectl ullage top -l SELECTOR | -A

Sidecars that cannot be reached come first. The others follow by headroom in
tenths of the budget, and among equals by lag, the greatest first. Pods that have
ended are left out.

  HEADROOM  free bytes of the tmpfs that the JVM writes to
  FREE      the same as a share of the budget that the backlog may take
  BACKLOG   bytes that the JVM has written and that are not yet durable
  LAG       age of the oldest line that is not yet durable

Examples:
  kubectl ullage top -A
  kubectl ullage top -l app=web
`

func topCmd(ctx context.Context, args []string, e env, c cluster) int {
	s := survey{cluster: c}
	fs := flag.NewFlagSet("top", flag.ContinueOnError)
	s.flags(fs)
	if code, ok := e.parse(fs, topAbout, args, s.validate); !ok {
		return code
	}
	answers, err := s.run(ctx)
	if err != nil {
		return e.fail("top", err)
	}
	answers = slices.DeleteFunc(answers, func(a answer) bool { return a.of.ended })
	slices.SortStableFunc(answers, worse)
	if code := e.print("top", topTable(answers, s.cluster.all)); code != cli.OK {
		return code
	}
	return s.outcome("top", e, answers)
}

func topTable(answers []answer, namespaces bool) string {
	return table(answers, namespaces, "POD\tHEADROOM\tFREE\tBACKLOG\tLAG\tERRORS", func(a answer) string {
		if a.err != nil {
			return "?\t?\t?\t?\t" + problems(a)
		}
		st, share := a.status, "?"
		if st.BudgetBytes > 0 {
			share = fmt.Sprintf("%.0f%%", 100*free(st))
		}
		return strings.Join([]string{printable.Quantity(st.HeadroomBytes), share, printable.Quantity(st.BacklogBytes), printable.Seconds(st.LagSeconds), problems(a)}, "\t")
	})
}

// worse orders answers, the worst first.
func worse(a, b answer) int {
	if known := cmp.Compare(rank(a.err == nil), rank(b.err == nil)); known != 0 || a.err != nil {
		return known
	}
	// Small differences of headroom say less than the lag does.
	x, y := a.status, b.status
	return cmp.Or(
		cmp.Compare(int(10*free(x)), int(10*free(y))),
		cmp.Compare(y.LagSeconds, x.LagSeconds),
		cmp.Compare(x.HeadroomBytes, y.HeadroomBytes),
	)
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// free is the headroom as a share of the budget, 0 to 1: a tmpfs may be larger
// than the budget. It is 0 where no budget is known.
func free(st admin.Status) float64 {
	if st.BudgetBytes <= 0 {
		return 0
	}
	return min(1, max(0, float64(st.HeadroomBytes)/float64(st.BudgetBytes)))
}
