package main

import (
	"bytes"
	"context"
	"encoding/json"
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
  kubectl ullage status [TARGET...] [--json]
  kubectl ullage status -l SELECTOR | -A [--json]

TARGET is a pod, or a workload for all its pods that have not ended, as
deploy/web. Without names it asks every pod of the namespace that has an ullage
sidecar and lists the pods that should have one and have none. A pod with
several JVM containers has a sidecar, and a row, for each.

  READY     whether it persists what it reads
  BACKLOG   bytes that the JVM has written and that are not yet durable
  FREE      the free part of the budget, which is what the log may use of the tmpfs
  LAG       age of the oldest line that is not yet durable
  LEVEL     "own", or what the level was raised to, and for how much longer;
            "off": the sidecar does not change levels
  ERRORS    what is wrong, or why the sidecar cannot be reached

Where sidecars are older than others or than this program, as after an upgrade
of the injector, a line on stderr says how many: an old one stays until its pod
is recreated.

It exits with 1 if a sidecar that should run cannot be reached, or a pod lacks
the sidecar that it should have. Pods of namespaces with the label
ullage.dev/injection are known to lack theirs only to those who may list
namespaces. With --json, or -o json, it prints an array of objects with pod,
namespace, container, and error or status.

Examples:
  kubectl ullage status
  kubectl ullage status deploy/web
  kubectl ullage status -l app=web -o json
  kubectl ullage status -A
  kubectl exec POD -c ullage -- ullage status    # the full state of one sidecar
`

func statusCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	s := survey{cluster: c}
	fs := flag.NewFlagSet("status", flag.ContinueOnError)
	s.flags(fs)
	var asJSON bool
	cli.JSONFlags(fs, &asJSON, "print JSON")
	e.Words = s.cluster.words(ctx)
	if code, ok := e.Parse(fs, statusAbout, args, func() []error { return s.validate(fs.Args()) }); !ok {
		return code
	}
	answers, err := s.run(ctx)
	if err != nil {
		return e.Fail("status", err)
	}
	text := statusTable(answers, s.cluster.all)
	if asJSON {
		if text, err = statusJSON(answers); err != nil {
			return e.Fail("status", err)
		}
	}
	if code := e.Print("status", text); code != cli.OK {
		return code
	}
	if text := outdated(answers, build.Read(version).Version); text != "" {
		fmt.Fprintf(e.Stderr, "kubectl ullage status: %s\n", printable.Line(text))
	}
	return s.outcome("status", e, answers)
}

// statusTable has a row for each answer. No cell but the last has a space.
func statusTable(answers []answer, namespaces bool) string {
	header := "POD\tREADY\tBACKLOG\tFREE\tLAG\tLEVEL\tERRORS"
	return table(answers, namespaces, header, func(a answer) string {
		if a.err != nil {
			return "?\t-\t-\t-\t-\t" + problems(a)
		}
		st := a.status
		return strings.Join([]string{yesNo(st.Ready), printable.Quantity(st.BacklogBytes), freeShare(st),
			printable.Seconds(st.LagSeconds), level(st), problems(a)}, "\t")
	})
}

// table puts the pod's name before each row of cells. It is empty where there
// are no answers.
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
			fmt.Fprintf(t, "%s\t", dash(word(a.of.cluster.namespace)))
		}
		fmt.Fprintf(t, "%s\t%s\n", word(a.of.String()), cells(a))
	}
	_ = t.Flush() // a Builder takes everything
	return b.String()
}

// answerJSON is one answer, for programs.
type answerJSON struct {
	Namespace string          `json:"namespace,omitempty"` // empty where it is kubectl's default
	Pod       string          `json:"pod"`
	Container string          `json:"container,omitempty"` // the sidecar's
	Error     string          `json:"error,omitempty"`
	Status    json.RawMessage `json:"status,omitempty"` // as the sidecar gave it
}

// statusJSON prints the answers as they came, so that what a newer sidecar
// says beyond our own version is not lost.
func statusJSON(answers []answer) (string, error) {
	all := []answerJSON{}
	for _, a := range answers {
		one := answerJSON{Namespace: a.of.cluster.namespace, Pod: a.of.pod, Container: a.of.container.Name}
		if a.err != nil {
			one.Error = printable.Line(a.err.Error())
		} else {
			one.Status = a.raw
		}
		all = append(all, one)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return "", fmt.Errorf("print JSON: %w", err)
	}
	return printable.JSON(b.String()), nil
}
