package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

// single selects the one pod and sidecar for a command such as logs, check or report.
type single struct {
	cluster   cluster
	target    target // zero: a pod of a label
	container string // of the sidecar; empty: the first one
	without   bool   // of a workload's pods, one without a sidecar is preferred
}

func (s *single) flags(fs *flag.FlagSet) {
	s.cluster.flags(fs)
	s.cluster.labelFlags(fs)
	fs.StringVar(&s.container, "container", "", "`NAME` of the sidecar, if the pod has several")
	fs.StringVar(&s.container, "c", "", "short for --container `NAME`")
}

func (s *single) validate(args []string) []error {
	switch {
	case s.cluster.selector != "" && len(args) > 0:
		return []error{errNameAndLabel}
	case s.cluster.selector != "":
		return nil
	case len(args) == 0:
		return []error{errNoTarget}
	}
	var bad []error
	var err error
	if s.target, err = parseTarget(args[0]); err != nil {
		bad = append(bad, err)
	}
	return append(bad, cli.Unexpected(args[1:])...)
}

// find returns the chosen sidecar. It reports which pod of a workload it has chosen, and which sidecar if the pod has
// several. The name is the command's.
func (s *single) find(ctx context.Context, e cli.Env, name string) (sidecar, error) {
	p, err := s.choose(ctx, e, name)
	if err != nil {
		return sidecar{}, err
	}
	found, err := s.cluster.running(p)
	if err != nil {
		return sidecar{}, err
	}
	var names []string
	for _, one := range found {
		if one.container.Name == s.container {
			return one, nil
		}
		names = append(names, one.container.Name)
	}
	if s.container != "" {
		return sidecar{}, fmt.Errorf("pod %s has no sidecar %q: it has %s", found[0].pod, s.container, strings.Join(names, ", "))
	}
	if len(found) > 1 {
		fmt.Fprintf(e.Stderr, "kubectl ullage %s: using %s; -c selects another of %s\n", name, names[0], strings.Join(names, ", "))
	}
	return found[0], nil
}

// choose returns the chosen pod.
func (s *single) choose(ctx context.Context, e cli.Env, name string) (pod, error) {
	if s.target.kind == podKind {
		return s.cluster.the(ctx, s.target.name)
	}
	var pods []pod
	var err error
	of := s.target.String()
	if s.target == (target{}) {
		of = "-l " + s.cluster.selector
		pods, err = s.cluster.labelled(ctx)
	} else {
		pods, err = s.cluster.members(ctx, s.target)
	}
	if err != nil {
		return pod{}, err
	}
	p := s.cluster.best(pods, s.without)
	fmt.Fprintf(e.Stderr, "kubectl ullage %s: using pod %s of %s (1 of %d)\n", name, printable.Line(p.Metadata.Name), printable.Line(of), len(pods))
	return p, nil
}
