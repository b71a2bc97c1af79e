package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/internal/base/cli"
)

// atOnce is how many sidecars are queried at the same time.
const atOnce = 8

// answer is the answer of one sidecar, or why it did not answer.
type answer struct {
	of     sidecar // for a pod without a sidecar, only the pod's name is set
	raw    json.RawMessage
	status admin.Status
	err    error // not nil: status is missing
}

// survey queries many sidecars, for status, top and levels.
type survey struct {
	cluster     cluster
	targets     []target // none: all pods that the flags select
	json, watch bool
	worstFirst  bool // the answers are sorted, and ended pods are left out
	levels      bool // JSON has only the levels
}

func (s *survey) flags(fs *flag.FlagSet) {
	s.cluster.flags(fs)
	s.cluster.manyFlags(fs)
	cli.JSONFlags(fs, &s.json, "print JSON")
	cli.WatchFlags(fs, &s.watch)
}

func (s *survey) validate(args []string) []error {
	bad := cli.CheckWatch(s.watch, s.json)
	for _, arg := range args {
		t, err := parseTarget(arg)
		if err != nil {
			bad = append(bad, err)
		} else if !slices.Contains(s.targets, t) {
			s.targets = append(s.targets, t)
		}
	}
	if len(args) > 0 && (s.cluster.all || s.cluster.selector != "") {
		bad = append(bad, errors.New("names cannot be combined with -l or -A: use one or the other"))
	}
	return bad
}

// pods returns the pods to query, each once, the names for which there is no pod, and the workloads without pods.
func (s *survey) pods(ctx context.Context) (pods []pod, gone, empty []string, err error) {
	for _, t := range s.targets {
		if t.kind == podKind {
			gone = append(gone, t.name)
		}
	}
	if len(gone) > 0 || len(s.targets) == 0 {
		if pods, err = s.cluster.pods(ctx, gone); err != nil {
			return nil, nil, nil, err
		}
	}
	named := func(name string) bool {
		return slices.ContainsFunc(pods, func(p pod) bool { return p.Metadata.Name == name })
	}
	gone = slices.DeleteFunc(gone, named)
	for _, t := range s.targets {
		if t.kind == podKind {
			continue
		}
		members, err := s.cluster.members(ctx, t)
		if errors.Is(err, errNoPods) {
			empty = append(empty, t.String())
		} else if err != nil {
			return nil, nil, nil, err
		}
		pods = append(pods, slices.DeleteFunc(members, func(p pod) bool { return named(p.Metadata.Name) })...)
	}
	return pods, gone, empty, nil
}

// run queries all sidecars. A named pod, or a pod of a named workload, always has an answer, whatever is wrong with it.
// A pod that the flags select has an answer only if it has a sidecar or should have one.
func (s *survey) run(ctx context.Context) ([]answer, error) {
	pods, gone, empty, err := s.pods(ctx)
	if err != nil {
		return nil, err
	}
	var answers []answer
	enabled := s.cluster.enabledNamespaces(ctx)
	for _, p := range pods {
		found := s.cluster.sidecars(p)
		if len(found) == 0 {
			missing := answer{of: sidecar{cluster: s.cluster.in(p.Metadata.Namespace), pod: p.Metadata.Name}}
			if missing.err = errNoSidecar; p.asks(enabled) {
				missing.err = p.whyMissing()
			}
			if len(s.targets) > 0 || missing.err != errNoSidecar {
				answers = append(answers, missing)
			}
		}
		for _, one := range found {
			answers = append(answers, answer{of: one})
		}
	}
	for _, name := range gone {
		answers = append(answers, answer{of: sidecar{cluster: s.cluster, pod: name}, err: errNoPod})
	}
	for _, workload := range empty {
		answers = append(answers, answer{of: sidecar{cluster: s.cluster, pod: workload}, err: errNoPods})
	}
	askAll(ctx, answers)
	if s.worstFirst {
		answers = slices.DeleteFunc(answers, func(a answer) bool { return a.of.ended })
		slices.SortStableFunc(answers, worse)
	}
	return answers, ctx.Err()
}

// show queries all sidecars and prints the answers, as JSON or as the text of render, once or, with -w,
// until it is interrupted. It returns the exit code, and the answers if the caller may say more about them.
func (s *survey) show(ctx context.Context, e cli.Env, name string, render func([]answer) string) ([]answer, int) {
	if s.watch {
		return nil, e.Watch(ctx, name, func(ctx context.Context) (string, error) {
			answers, err := s.run(ctx)
			return render(answers), err
		})
	}
	answers, err := s.run(ctx)
	if err != nil {
		return nil, e.Fail(name, err)
	}
	text := render(answers)
	if s.json {
		if text, err = answersJSON(answers, s.fill()); err != nil {
			return nil, e.Fail(name, err)
		}
	}
	if code := e.Print(name, text); code != cli.OK {
		return nil, code
	}
	return answers, s.outcome(name, e, answers)
}

// fill returns the function that adds an answer's content to JSON.
func (s *survey) fill() func(answer, *answerJSON) {
	if s.levels {
		return levelsOf
	}
	return statusOf
}

// askAll queries every sidecar that has no answer and no error yet.
func askAll(ctx context.Context, answers []answer) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range answers {
		a := &answers[i]
		if a.err == nil {
			g.Go(func() error {
				a.raw, a.status, a.err = a.of.ask(ctx)
				return nil
			})
		}
	}
	_ = g.Wait() // the errors are in the answers
}

// outcome returns the exit code. If a sidecar should have answered but did not, that is a failure. If there
// are no sidecars at all, outcome reports that.
func (s *survey) outcome(name string, e cli.Env, answers []answer) int {
	if len(answers) == 0 {
		where := "in the namespace"
		if s.cluster.all {
			where = "in any namespace"
		}
		fmt.Fprintf(e.Stderr, "kubectl ullage %s: no matching pod %s has an ullage sidecar (label ullage.dev/inject: \"true\")\n", name, where)
	}
	for _, a := range answers {
		if a.err != nil && !a.of.ended {
			return cli.Failure
		}
	}
	return cli.OK
}
