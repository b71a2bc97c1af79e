package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
)

const levelsAbout = `kubectl ullage levels shows and changes what the JVMs of pods log, without a
restart.

Usage:
  kubectl ullage levels TARGET [-w | -o json]           what they log now
  kubectl ullage levels TARGET SELECTION [--for 10m] [--stream S]
                                                        raise it for a while
  kubectl ullage levels TARGET --app LEVELS [--for 10m] raise the application's
  kubectl ullage levels TARGET --reset                  end the raise now

Examples:
  kubectl ullage levels web-0 'gc*=debug' --for 10m
  kubectl ullage levels web-0 --app com.acme=debug --for 10m
  kubectl ullage levels web-0 --reset
  kubectl ullage levels deploy/web 'gc*=debug' --for 5m
  kubectl ullage levels deploy/web -w

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR; the command
changes all pods that it matches. A pod that has no sidecar, or whose sidecar
does not answer, is reported, and the other pods are raised all the same.

SELECTION is written as in -Xlog, "gc*=debug,safepoint=info", and adds to what a
JVM logs by itself. It raises the outputs whose lines show their level, or with
--stream the outputs whose stream matches. The command writes it into the pod's
annotations ullage.dev/log, log-for, log-stream and log-id, replacing earlier
values, and waits until every JVM has it. If the pod's kubelet is late with the
annotations, the command reports that and annotates the pod again. When the time
is up, the sidecar restores the JVMs' own levels. Each call writes a new log-id,
so the same selection can be raised again.

--app raises the application's events, of all loggers or of some, by app-log,
app-log-for and app-log-id. The verbs of 'ullage levels' are understood too:
list, set, and reset, which is --reset.

It exits with 1 if a JVM does not have the selection after --timeout, which
applies to each pod separately. The annotations stay, and take effect when the
cause is fixed.
`

// Names of the annotations.
const (
	logKey       = ask.Prefix + "log"
	logForKey    = ask.Prefix + "log-for"
	logIDKey     = ask.Prefix + "log-id"
	logStreamKey = ask.Prefix + "log-stream"
	appLogKey    = ask.Prefix + "app-log"
	appLogForKey = ask.Prefix + "app-log-for"
	appLogIDKey  = ask.Prefix + "app-log-id"
)

// levelsConfig has the settings of `kubectl ullage levels`.
type levelsConfig struct {
	cluster cluster
	target  target      // zero: the pods of a label
	request ask.Request // zero: show or reset
	lasts   string      // of the raise
	stream  string      // raise only streams that match this pattern; empty: all whose lines show their level
	app     string      // the levels of the application's events; empty: a selection is raised
	reset   bool
	timeout time.Duration

	json, watch bool // how levels are shown
}

func (c *levelsConfig) flags(fs *flag.FlagSet) {
	c.cluster.flags(fs)
	c.cluster.labelFlags(fs)
	fs.StringVar(&c.lasts, "for", "", "`DURATION` of the raise, 1s to 24h (default 15m)")
	fs.StringVar(&c.stream, "stream", "", "raise only the outputs whose stream matches `GLOB`")
	fs.StringVar(&c.app, "app", "", "raise the application's events to `LEVELS` such as debug or com.acme=debug,org.hibernate.SQL=trace")
	fs.BoolVar(&c.reset, "reset", false, "end the raise that the annotations ask for")
	settings.DurationVar(fs, &c.timeout, "timeout", 30*time.Second, "wait at most this `DURATION` for the JVMs")
	cli.JSONFlags(fs, &c.json, "print what the JVMs log as JSON")
	cli.WatchFlags(fs, &c.watch)
}

// validate holds the request to the sidecar's own rules.
func (c *levelsConfig) validate(args []string) []error {
	bad := cli.CheckWatch(c.watch, c.json)
	verb, args := levelsVerb(args)
	c.reset = c.reset || verb == "reset"
	if c.timeout <= 0 {
		bad = append(bad, fmt.Errorf("invalid value %q for --timeout: it must be positive", c.timeout))
	}
	if c.cluster.selector == "" {
		if len(args) == 0 {
			return append(bad, errNoTarget)
		}
		var err error
		if c.target, err = parseTarget(args[0]); err != nil {
			bad = append(bad, err)
		}
		args = args[1:]
	}
	switch {
	case verb == "rotate" || verb == "save":
		return append(bad, fmt.Errorf("%s is a command of the sidecar: kubectl exec POD -c ullage -- ullage levels %s", verb, verb))
	case verb == "set" && c.app == "" && len(args) == 0:
		return append(bad, errors.New("no selection given: write it like 'gc*=debug,safepoint=info'"))
	case c.app != "" && (len(args) > 0 || c.stream != "" || c.reset || c.json || c.watch):
		return append(bad, errors.New("--app raises events: leave out the selection, --stream, --reset, --json and --watch"))
	case c.app != "":
		return append(bad, c.parse(map[string]string{appLogKey: c.app, appLogForKey: c.lasts})...)
	case (c.json || c.watch) && (len(args) > 0 || c.reset):
		return append(bad, errors.New("--json and --watch show what JVMs log: leave out the selection and --reset"))
	case len(args) == 0 && c.lasts != "":
		return append(bad, errors.New("--for needs a selection; write it like 'gc*=debug,safepoint=info'"))
	case len(args) == 0 && c.stream != "":
		return append(bad, errors.New("--stream needs a selection; write it like 'gc*=debug,safepoint=info'"))
	case len(args) == 0:
		return bad
	case c.reset:
		return append(bad, errors.New("--reset ends the raise: leave out the selection"))
	case strings.TrimSpace(args[0]) == "":
		return append(bad, errors.New("the selection is empty: write it like 'gc*=debug,safepoint=info', or use --reset"))
	}
	bad = append(bad, c.parse(map[string]string{logKey: args[0], logForKey: c.lasts, logStreamKey: c.stream})...)
	return append(bad, cli.Unexpected(args[1:])...)
}

// levelsVerb removes a verb of 'ullage levels' from the arguments, where it may be before or after the target. Without
// a verb, the command sets the selection, or lists the levels if there is no selection.
func levelsVerb(args []string) (verb string, rest []string) {
	for i, arg := range args[:min(len(args), 2)] {
		if slices.Contains([]string{"list", "set", "reset", "rotate", "save"}, arg) {
			return arg, slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return "", args
}

// parse reads the request that the annotations express.
func (c *levelsConfig) parse(annotations map[string]string) (bad []error) {
	request, problems := ask.ParseRequest(annotations, nil)
	for _, p := range problems {
		text := p.Text
		switch p.Key {
		case logForKey, appLogForKey:
			text = fmt.Sprintf("invalid value %q for --for: %s", p.Value, p.Text)
		case logStreamKey:
			text = "--stream: " + p.Text
		case appLogKey:
			text = "--app: " + p.Text
		}
		bad = append(bad, errors.New(text))
	}
	c.request = request
	return bad
}

func levelsCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := levelsConfig{cluster: c}
	fs := flag.NewFlagSet("levels", flag.ContinueOnError)
	cfg.flags(fs)
	e.Words = cfg.cluster.words(ctx)
	if code, ok := e.Parse(fs, levelsAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	if cfg.json || cfg.watch {
		return cfg.show(ctx, e)
	}
	if cfg.target.kind != podKind {
		return cfg.fleet(ctx, e)
	}
	p, err := cfg.cluster.the(ctx, cfg.target.name)
	if err != nil {
		return e.Fail("levels", err)
	}
	found, err := cfg.cluster.running(p)
	if err != nil {
		return e.Fail("levels", err)
	}
	o := cfg.do(ctx, found, cfg.wanted(), newProgress(e.Stderr, 1))
	if code := e.Print("levels", o.text); code != cli.OK || o.err == nil {
		return code
	}
	switch {
	case o.annotated && cfg.reset:
		o.err = fmt.Errorf("%w\nthe annotations are removed; the sidecar keeps trying", o.err)
	case o.annotated:
		o.err = fmt.Errorf("%w\nthe annotations stay; 'kubectl ullage levels %s --reset' removes them", o.err, cfg.target)
	}
	return e.Fail("levels", o.err)
}

// outcome is the result for one pod.
type outcome struct {
	text      string
	annotated bool // the pod was annotated before err occurred
	err       error
}

// do shows or changes what the JVMs of one pod log. It annotates the pod only if every sidecar of the pod has answered,
// because it must query them again afterwards.
func (c *levelsConfig) do(ctx context.Context, found []sidecar, w wanted, shown *progress) outcome {
	answers := make([]answer, len(found))
	for i, s := range found {
		answers[i].of = s
	}
	askAll(ctx, answers)
	for _, a := range answers {
		if a.err != nil {
			return outcome{err: fmt.Errorf("ask the sidecar of %s: %w", a.of, a.err)}
		}
		err := w.cannotRaise(a.status.Levels)
		if errors.Is(err, errOff) {
			err = a.whyOff()
		}
		if c.raises() && err != nil {
			return outcome{err: fmt.Errorf("%s: %w", a.of, err)}
		}
	}
	changes, judge := w.annotations(), w.judge
	switch {
	case c.reset:
		changes, judge = noAnnotations, judgeReset
	case !c.raises():
		return outcome{text: levelsText(answers)}
	}
	d, err := c.deliver(ctx, found[0], changes, w.idKey(), shown)
	if err != nil {
		return outcome{err: err}
	}
	text, err := c.wait(ctx, answers, judge, d)
	return outcome{text: text, annotated: true, err: err}
}

// raises reports whether a raise is requested.
func (c *levelsConfig) raises() bool { return c.request != ask.Request{} }

func (c *levelsConfig) wanted() wanted {
	if c.app != "" {
		return wanted{selection: c.request.AppLog.String(), lasts: c.request.AppLogFor, id: newID(), app: true}
	}
	return wanted{selection: c.request.Log.Selection.String(), lasts: c.request.Log.For, id: newID(), stream: c.request.Log.Stream}
}

// annotations returns the changes that request the raise, in the form that kubectl annotate
// accepts.
func (w wanted) annotations() []string {
	if w.app {
		return []string{appLogKey + "=" + w.selection, appLogForKey + "=" + w.lasts.String(), appLogIDKey + "=" + w.id}
	}
	stream := logStreamKey + "-" // an earlier raise may have left one
	if w.stream != "" {
		stream = logStreamKey + "=" + w.stream
	}
	return []string{logKey + "=" + w.selection, logForKey + "=" + w.lasts.String(), stream, logIDKey + "=" + w.id}
}

// noAnnotations are the changes that remove the request.
var noAnnotations = []string{logKey + "-", logForKey + "-", logStreamKey + "-", logIDKey + "-", appLogKey + "-", appLogForKey + "-", appLogIDKey + "-"}

// wait queries every sidecar until judge has a final verdict, or the time is over. It returns the text to print and
// the errors, in the order of the sidecars.
func (c *levelsConfig) wait(ctx context.Context, before []answer, judge judge, d *delivery) (string, error) {
	limit, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	done, errs := make([]string, len(before)), make([]error, len(before))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, a := range before {
		g.Go(func() error {
			v := poll(limit, a, judge, d)
			for _, text := range v.done {
				done[i] += prefix(a.of) + printable.Line(text) + "\n"
			}
			switch {
			case len(v.waiting) > 0 && ctx.Err() != nil:
				errs[i] = fmt.Errorf("%s: %w while waiting: %s", a.of, ctx.Err(), printable.Line(strings.Join(v.waiting, "; ")))
			case len(v.waiting) > 0:
				errs[i] = fmt.Errorf("%s: not done within %s: %s", a.of, c.timeout, printable.Line(strings.Join(slices.Concat(v.failed, v.waiting), "; ")))
			case len(v.failed) > 0:
				errs[i] = fmt.Errorf("%s: %s", a.of, printable.Line(strings.Join(v.failed, "; ")))
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	return strings.Join(done, ""), errors.Join(errs...)
}

// prefix distinguishes the sidecars of one pod.
func prefix(s sidecar) string {
	if s.several {
		return s.container.Name + ": "
	}
	return ""
}

// newID returns a value of the annotation log-id that no earlier raise has. Without a new ID, a sidecar could not
// distinguish a request for the same selection and duration from an earlier one, whose time may be over.
func newID() string { return strings.ToLower(rand.Text()[:idLetters]) }

// idLetters is the length of an ID. Each letter has five random bits.
const idLetters = 12
