package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

const doctorAbout = `kubectl ullage doctor explains why a pod has no sidecar, or what is wrong with
its sidecar.

Usage:
  kubectl ullage doctor               is the injector healthy?
  kubectl ullage doctor POD           ... and this pod?
  kubectl ullage doctor deploy/NAME   ... and this workload: its template and newest pod?
                                    (also sts/NAME, ds/NAME, job/NAME, rollout/NAME ...)
  kubectl ullage doctor -l SELECTOR   ... and one pod with these labels?

Examples:
  kubectl ullage doctor
  kubectl ullage doctor web-0
  kubectl ullage doctor deploy/web -n shop
  kubectl ullage doctor web-0 -o json | jq -r '.[] | select(.mark == "problem").text'

It looks at the labels and annotations of the pod, its workload and its
namespace, at the webhook with its certificate and pods, at the sidecar, and at
the JVM's container and its total memory. If there is no sidecar, a dry run
asks the API server whether a new pod would get one. It changes nothing.

Each finding begins with "ok", "note", "problem", or, where you lack the right
to look, "unknown". The command exits with 1 if there is a problem or if no
finding is "ok".
`

// Marks of findings.
const (
	markOK      = "ok"
	markNote    = "note"
	markProblem = "problem"
	markUnknown = "unknown"
)

// finding is one result, with a hint on what to do.
type finding struct{ mark, text, hint string }

// findingJSON is a finding for programs.
type findingJSON struct {
	Mark string `json:"mark"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// doctor collects the findings about one subject.
type doctor struct {
	cluster cluster
	subject subject // zero: only the injector is examined
	hooks   hooks

	namespace    *metadata // nil: not known
	namespaceErr error
	trial        trial
	answers      []answer // answers of the sidecars
	deaths       []finding
}

func doctorCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	d := doctor{cluster: c}
	var about single // zero: only the injector
	fs := flag.NewFlagSet("doctor", flag.ContinueOnError)
	d.cluster.flags(fs)
	d.cluster.labelFlags(fs)
	var asJSON bool
	cli.JSONFlags(fs, &asJSON, "print JSON")
	e.Words = d.cluster.words(ctx)
	code, ok := e.Parse(fs, doctorAbout, args, func() []error {
		names := fs.Args()
		if about.cluster = d.cluster; len(names) == 0 {
			return nil
		}
		return about.validate(names)
	})
	if !ok {
		return code
	}
	if d.cluster.selector != "" {
		p, err := about.choose(ctx, e, "doctor")
		if err != nil {
			return e.Fail("doctor", err)
		}
		about.target, d.cluster.selector = target{podKind, p.Metadata.Name}, ""
	}
	findings, err := d.run(ctx, about.target)
	if err != nil {
		return e.Fail("doctor", err)
	}
	text := findingsText(findings)
	if asJSON {
		if text, err = findingsJSON(findings); err != nil {
			return e.Fail("doctor", err)
		}
	}
	if printed := e.Print("doctor", text); printed != cli.OK {
		return printed
	}
	return exitCode(findings)
}

func findingsText(findings []finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%-8s %s\n", f.mark, printable.Line(f.text))
		if f.hint != "" {
			fmt.Fprintf(&b, "         %s\n", printable.Line(f.hint))
		}
	}
	return b.String()
}

func findingsJSON(findings []finding) (string, error) {
	all := []findingJSON{}
	for _, f := range findings {
		all = append(all, findingJSON{f.mark, printable.Line(f.text), printable.Line(f.hint)})
	}
	return jsonText(all)
}

// exitCode returns Failure if there is a problem or if no finding is ok.
func exitCode(findings []finding) int {
	has := func(mark string) bool {
		return slices.ContainsFunc(findings, func(f finding) bool { return f.mark == mark })
	}
	if has(markProblem) || !has(markOK) {
		return cli.Failure
	}
	return cli.OK
}

// run gathers facts in two rounds of concurrent calls and judges them.
func (d *doctor) run(ctx context.Context, about target) ([]finding, error) {
	var g errgroup.Group
	g.Go(func() error { d.hooks = d.cluster.hooks(ctx); return nil })
	if about != (target{}) {
		g.Go(func() (err error) { d.subject, err = d.cluster.subject(ctx, about); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	g.Go(func() error { d.hooks.look(ctx, d.cluster); return nil })
	if about != (target{}) {
		d.examine(ctx, &g)
	}
	_ = g.Wait() // missing facts become findings
	findings := d.hooks.findings()
	if about != (target{}) {
		findings = append(findings, d.subjectFindings()...)
		findings = append(findings, d.hidden(ctx)...)
	}
	return findings, ctx.Err()
}

// examine queries everything about the subject.
func (d *doctor) examine(ctx context.Context, g *errgroup.Group) {
	in := d.cluster.in(d.subject.namespace)
	g.Go(func() error { d.namespace, d.namespaceErr = in.namespaceOf(ctx, d.subject.namespace); return nil })
	if d.subject.pod == nil || len(in.sidecars(*d.subject.pod)) == 0 {
		g.Go(func() error { d.trial = in.try(ctx, d.subject.manifest()); return nil })
	}
	if p := d.subject.pod; p != nil {
		for _, s := range in.sidecars(*p) {
			d.answers = append(d.answers, answer{of: s})
		}
		g.Go(func() error { askAll(ctx, d.answers); return nil })
		g.Go(func() error { d.deaths = in.deaths(ctx, *p); return nil })
	}
}
