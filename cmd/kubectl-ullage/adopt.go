package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/build"
	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/sink/address"
)

const adoptAbout = `kubectl ullage adopt ships the log of a running JVM in a pod for a while, copies
it here, and then restores the JVM's own logging. It needs no preparation: no
injector, no sidecar, no volume, no restart.

Usage:
  kubectl ullage adopt TARGET [SELECTION] [--for 10m] [-c NAME]

Examples:
  kubectl ullage adopt web-0
  kubectl ullage adopt deploy/web 'gc*=debug,safepoint=info' --for 5m
  kubectl ullage adopt web-0 --user 1000:1000 --image registry.example/ullage:v1
  kubectl ullage adopt web-0 --sink 'otlp+http://collector.otel:4318/v1/logs'

TARGET is a pod, a workload such as deploy/web, or -l SELECTOR. Of several pods,
the command takes the oldest that is ready and has no sidecar, and names it on
stderr.
SELECTION is written as in -Xlog; the default is
` + adoptSelection + `.

The command adds an ephemeral container, which runs 'ullage adopt' as the JVM's
user and sees the JVM's processes. The container complies with the policy
"restricted", unless the JVM runs as root. A dry run asks the cluster first: if
a right is missing or a policy forbids the container, the command reports that
and changes nothing. If only the image defines the JVM's user or group, a first
ephemeral container looks them up. The shipped lines are copied into a new
directory here as they arrive. When the time is up, or on Ctrl-C, the JVM logs
what it logged before, and the command writes a report, POD-report.html.

If the connection breaks, the command resumes where it was. If the command was
ended, run it again: it waits for the container and fetches the shipped lines.
The container keeps them for ` + adoptHoldText + ` after the adoption. If the pod or the
JVM's container ends first, the directory has all but the last two seconds or
so, the report says that it is not complete, and the command exits with 1.

A --sink gets the lines as well. Its options are checked first. A file that one
of them names must be in the image; if it is not, the container ends before it
adopts the JVM.

Kubernetes never removes an ephemeral container: it stays in the pod's spec
after it has ended. The command needs the rights to update
pods/ephemeralcontainers and to exec.
`

const (
	// adoptSelection is also the default of 'ullage adopt'.
	adoptSelection = "gc*=info,safepoint=info"

	// adoptHold is how long the container keeps its copy.
	adoptHold     = 10 * time.Minute
	adoptHoldText = "10 minutes"

	adoptRetain = "256Mi" // of the node's disk
)

// published is the repository of released images.
const published = "ghcr.io/ullage/ullage"

// adoptConfig has the settings of `kubectl ullage adopt`.
type adoptConfig struct {
	single    // single.container names the JVM's container, not a sidecar
	selection string
	lasts     time.Duration
	image     string
	user      string // UID:GID; empty: not known yet
	dest      string // a new directory on this machine
	sinks     address.URLs
	secret    string // the name of a Secret with the variables of the sinks; empty: they need none
}

func (c *adoptConfig) flags(fs *flag.FlagSet) {
	c.cluster.flags(fs)
	c.cluster.labelFlags(fs)
	fs.StringVar(&c.container, "container", "", "`NAME` of the JVM's container, if the pod has several")
	fs.StringVar(&c.container, "c", "", "short for --container `NAME`")
	settings.DurationVar(fs, &c.lasts, "for", 10*time.Minute, "`DURATION` after which the JVM is released")
	fs.StringVar(&c.image, "image", defaultImage(version), "`NAME` of ullage's image, which the pod's own pull secrets must reach")
	fs.StringVar(&c.user, "user", "", "`UID:GID` of the JVM (default: detected)")
	fs.StringVar(&c.dest, "dest", "", "new local `DIR` for the shipped lines (default POD-adopted-TIME)")
	fs.Var(&c.sinks, "sink", "also copy the shipped lines to this `URL`, as 'ullage run --sink' does; repeat it for several")
	fs.StringVar(&c.secret, "sink-secret", "", "`NAME` of a Secret in the pod's namespace with the variables that the sinks need, such as AWS_ACCESS_KEY_ID")
}

// defaultImage returns the image of a release. Other builds have no default image.
func defaultImage(version string) string {
	if v := build.Read(version).Version; released.MatchString(v) && !strings.ContainsAny(v, "+") && strings.Count(v, "-") < 2 {
		return published + ":" + strings.TrimPrefix(v, "v")
	}
	return ""
}

func (c *adoptConfig) validate(args []string) []error {
	var bad []error
	c.selection = adoptSelection
	if n := len(args); n > 1 || n == 1 && c.cluster.selector != "" {
		c.selection, args = args[n-1], args[:n-1]
	}
	if _, err := ask.ParseSelection(c.selection); err != nil {
		bad = append(bad, err)
	}
	if err := ask.CheckFor(c.lasts); err != nil {
		bad = append(bad, fmt.Errorf("--for: %w", err))
	}
	if c.user != "" {
		if _, err := parseUser(c.user); err != nil {
			bad = append(bad, fmt.Errorf("--user: %w", err))
		}
	}
	_, wrong := address.ParseAll(c.sinks, address.Schemes())
	bad = append(bad, wrong...)
	switch {
	case c.secret != "" && len(c.sinks) == 0:
		bad = append(bad, errors.New("--sink-secret needs --sink"))
	case c.secret != "" && !dnsName.MatchString(c.secret):
		bad = append(bad, fmt.Errorf("--sink-secret: %q is not the name of a Secret", c.secret))
	}
	if c.image == "" {
		bad = append(bad, errors.New("this build is not a release, so it has no default image: add --image NAME, such as that of a sidecar in the cluster"))
	}
	return append(bad, c.single.validate(args)...)
}

func adoptCmd(ctx context.Context, args []string, e cli.Env, c cluster) int {
	cfg := adoptConfig{single: single{cluster: c, without: true}}
	fs := flag.NewFlagSet("adopt", flag.ContinueOnError)
	cfg.flags(fs)
	e.Words = cfg.cluster.words(ctx)
	if code, ok := e.Parse(fs, adoptAbout, args, func() []error { return cfg.validate(fs.Args()) }); !ok {
		return code
	}
	if err := cfg.run(ctx, e); err != nil {
		return e.Fail("adopt", err)
	}
	return cli.OK
}

// run adopts a JVM and fetches what was shipped.
func (c *adoptConfig) run(ctx context.Context, e cli.Env) error {
	chosen, err := c.choose(ctx, e, "adopt")
	if err != nil {
		return err
	}
	in := c.cluster.in(chosen.Metadata.Namespace)
	a, err := getAdoptable(ctx, in, chosen.Metadata.Name)
	if err != nil {
		return err
	}
	guest := adopter{sidecar: sidecar{cluster: in, pod: a.Metadata.Name}, out: &shared{w: e.Stderr}}
	if there := a.adopter(); there != nil {
		if c.container != "" && there.Target != "" && c.container != there.Target {
			return fmt.Errorf("pod %s: container %s is adopting the JVM of container %s, not of %s: wait until it has ended, or fetch its copy with -c %[3]s", a.Metadata.Name, there.Name, printable.Name(there.Target), printable.Name(c.container))
		}
		guest.container = *there
		fmt.Fprintf(e.Stderr, "kubectl ullage adopt: container %s of pod %s already adopted the JVM, for %s: waiting for it\n", there.Name, a.Metadata.Name, guest.lasts())
	} else if guest.container, err = c.begin(ctx, e, in, a); err != nil {
		return fmt.Errorf("pod %s: %w", a.Metadata.Name, err)
	}
	if c.dest == "" {
		c.dest = a.Metadata.Name + "-adopted-" + time.Now().Format("20060102-150405")
	}
	figures, err := guest.bringBack(ctx, c.dest, guest.lasts()+adoptHold)
	if err != nil {
		err = fmt.Errorf("container %s of pod %s: %w", guest.container.Name, a.Metadata.Name, err)
	} else {
		fmt.Fprintf(e.Stderr, "kubectl ullage adopt: the JVM is released; its log is in %s\n", printable.Line(c.dest))
	}
	if figures == nil {
		return err
	}
	page, bad := guest.page(figures)
	if bad == nil {
		bad = (&reportConfig{}).show("adopt", a.Metadata.Name, page, e)
	}
	return errors.Join(err, bad)
}

// begin adds the container to the pod and returns it.
func (c *adoptConfig) begin(ctx context.Context, e cli.Env, in cluster, a adoptable) (container, error) {
	if err := c.checkDest(); err != nil {
		return container{}, err
	}
	jvm, err := a.jvm(c.container)
	if err == nil {
		err = a.check(jvm)
	}
	if err != nil {
		return container{}, err
	}
	who, known := a.userOf(jvm)
	switch {
	case c.user != "":
		who, err = parseUser(c.user)
	case !known:
		if who, err = c.look(ctx, e, in, a, jvm); err == nil {
			a, err = getAdoptable(ctx, in, a.Metadata.Name)
		}
	}
	if err != nil {
		return container{}, err
	}
	name := newName(adopterPrefix, time.Now())
	args := []string{"--all", c.selection, "--for=" + c.lasts.String(), "--hold=" + adoptHold.String(), "--dest=" + adoptedDir, "--retain-bytes=" + adoptRetain}
	args = append(args, c.sinkArgs(a, jvm)...)
	guest := c.guest(a, name, jvm, who, args...)
	if env := c.sinkEnv(); len(env) > 0 {
		guest["env"] = env
	}
	err = a.add(ctx, in, guest)
	if err != nil {
		return container{}, err
	}
	fmt.Fprintf(e.Stderr, "kubectl ullage adopt: container %s of pod %s adopts the JVM of %s for %s\n", name, a.Metadata.Name, jvm, c.lasts)
	return container{Name: name, Args: args}, nil
}

// checkDest returns why the copy cannot be brought to this machine, or nil.
func (c *adoptConfig) checkDest() error {
	if _, err := os.Lstat(c.dest); c.dest != "" && err == nil {
		return fmt.Errorf("%s already exists: --dest must name a new directory", printable.Line(c.dest))
	}
	trial, err := os.MkdirTemp(filepath.Dir(c.dest), partPattern)
	if err != nil {
		return fmt.Errorf("nothing was changed: create the local directory: %w", err)
	}
	return os.Remove(trial)
}

// sinkArgs returns the flags for the sinks, with the pod and the container that the sinks report.
func (c *adoptConfig) sinkArgs(a adoptable, jvm string) []string {
	if len(c.sinks) == 0 {
		return nil
	}
	args := []string{"--pod-namespace=" + a.Metadata.Namespace, "--pod-name=" + a.Metadata.Name, "--container-name=" + jvm}
	for _, one := range c.sinks {
		args = append(args, "--sink="+strings.ReplaceAll(one, "$", "$$")) // the kubelet expands $(NAME), and reads $$ as $
	}
	return args
}

// sinkEnv returns the variables that the sinks read, with values from the Secret. Only the kubelet reads the Secret. If
// a key is missing, the container still starts, and the sink reports the error.
func (c *adoptConfig) sinkEnv() (env []any) {
	sinks, _ := address.ParseAll(c.sinks, address.Schemes())
	var names []string
	for _, one := range sinks {
		names = append(names, address.Credentials(one.URL.Scheme)...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c.secret != "" {
			ref := map[string]any{"name": c.secret, "key": name, "optional": true}
			env = append(env, map[string]any{"name": name, "valueFrom": map[string]any{"secretKeyRef": ref}})
		}
	}
	return env
}

// guest returns an ephemeral container that runs 'ullage adopt' and sees the processes of a JVM's container.
func (c *adoptConfig) guest(a adoptable, name, jvm string, who user, args ...string) map[string]any {
	return map[string]any{
		"name": name, "image": c.image, "imagePullPolicy": "IfNotPresent",
		"targetContainerName": jvm, "securityContext": a.hardened(jvm, who), "terminationMessagePolicy": "FallbackToLogsOnError",
		"args": append([]string{"adopt"}, args...),
	}
}

// lookerUser is the user and group of a container that looks up a JVM's user and group. Every user can read both in
// /proc.
const lookerUser = 65532

// look finds the JVM's user by running a container. That is necessary if only the image defines the user.
func (c *adoptConfig) look(ctx context.Context, e cli.Env, in cluster, a adoptable, jvm string) (user, error) {
	group := int64(lookerUser)
	name := newName(lookerPrefix, time.Now())
	if err := a.add(ctx, in, c.guest(a, name, jvm, user{lookerUser, &group}, "--who")); err != nil {
		return user{}, err
	}
	fmt.Fprintf(e.Stderr, "kubectl ullage adopt: container %s of pod %s looks up the user of the JVM of %s\n", name, a.Metadata.Name, jvm)
	looker := adopter{sidecar: sidecar{cluster: in, pod: a.Metadata.Name, container: container{Name: name}}}
	var who user
	err := looker.await(ctx, func(st containerStatus) (over bool, err error) {
		end := st.State.Terminated
		if end == nil {
			return false, nil
		}
		words := strings.TrimSpace(looker.words(ctx))
		switch {
		case end.ExitCode != 0:
			return false, endedError(*end, words)
		case words == "":
			return false, errors.New("its log, which contains the answer, cannot be read")
		}
		who, err = parseUser(words)
		return true, err
	})
	if err != nil {
		return user{}, fmt.Errorf("find the user of container %s (or set it with --user UID:GID): %w", jvm, err)
	}
	return who, nil
}
