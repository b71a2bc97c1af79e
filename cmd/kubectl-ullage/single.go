package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/cli"
)

// single is the one sidecar that a command is about: logs, open and report.
type single struct {
	cluster   cluster
	pod       string
	container string // of the sidecar; empty: the first
}

func (s *single) flags(fs *flag.FlagSet) {
	s.cluster.flags(fs)
	fs.StringVar(&s.container, "container", "", "`NAME` of the sidecar, if the pod has several")
	fs.StringVar(&s.container, "c", "", "short for --container `NAME`")
}

func (s *single) validate(args []string) []error {
	if len(args) == 0 {
		return []error{errors.New("no pod is given: name one that 'kubectl get pods' shows")}
	}
	var bad []error
	var err error
	if s.pod, err = podName(args[0]); err != nil {
		bad = append(bad, err)
	}
	return append(bad, cli.Unexpected(args[1:])...)
}

// find returns the sidecar that is meant, and reports which if there are others. The
// name is the command's.
func (s *single) find(ctx context.Context, e env, name string) (sidecar, error) {
	found, err := s.cluster.the(ctx, s.pod)
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
		return sidecar{}, fmt.Errorf("pod %s has no sidecar %q: it has %s", s.pod, s.container, strings.Join(names, ", "))
	}
	if len(found) > 1 {
		fmt.Fprintf(e.stderr, "kubectl ullage %s: this is %s; -c names another of %s\n", name, names[0], strings.Join(names, ", "))
	}
	return found[0], nil
}
