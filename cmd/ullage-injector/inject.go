package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/kube/inject/manifest"
	"github.com/ullage/ullage/internal/kube/inject/wish"
)

const injectAbout = `ullage-injector inject adds the sidecar to the pods in a YAML file, as the
webhook does in a cluster that has it.

Usage:
  ullage-injector inject --image IMAGE -f FILE|- [flags]

Examples:
  ullage-injector inject --image localhost/ullage:v1 -f app.yaml | kubectl apply -f -
  ullage-injector inject --image localhost/ullage:v1 --default buffer=128Mi -f app.yaml

It injects the pods and the pod templates of workloads that have the label
ullage.dev/inject: "true". It prints the whole file; other documents are
unchanged. What was done is reported on stderr, with warnings.

If an object asks for a sidecar but cannot get one, nothing is printed and the
exit status is 1: its settings are invalid, its kind is unknown, or the label is
on the Deployment, is an annotation, or has a value other than "true". The kinds
are Pod, PodTemplate, ReplicationController, Deployment, StatefulSet, DaemonSet,
ReplicaSet, Job, CronJob, and Rollout of Argo Rollouts.
`

// maxManifest limits the size of the input.
const maxManifest = 64 << 20

// pairs is a flag that may be given several times, each time as NAME=VALUE. In the environment, each line holds one
// pair.
type pairs map[string]string

func (p pairs) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		lines = append(lines, name+"="+p[name])
	}
	return strings.Join(lines, "\n")
}

func (p pairs) Set(text string) error {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || name == "" {
			return errors.New("write it like buffer=128Mi")
		}
		p[name] = value
	}
	return nil
}

// injectConfig has the settings of `ullage-injector inject`.
type injectConfig struct {
	file, config, image string
	defaults            pairs
}

func (c *injectConfig) flags(fs *flag.FlagSet) {
	c.defaults = pairs{}
	fs.StringVar(&c.file, "f", "", "YAML `FILE` with pods or workloads; - is standard input")
	fs.StringVar(&c.config, "config", "", "YAML `FILE` with the injector's configuration, as for 'serve'")
	fs.StringVar(&c.image, "image", "", "`IMAGE` of the sidecar; overrides the image in --config")
	fs.Var(c.defaults, "default", "setting of all sidecars, `NAME=VALUE`; NAME is the name of the annotation without ullage.dev/;\noverrides the setting in --config; may be given several times")
}

// load returns the injector's configuration and the errors in it.
func (c *injectConfig) load() (wish.Config, []error) {
	cfg := wish.DefaultConfig()
	if c.config != "" {
		f, err := os.Open(c.config)
		if err != nil {
			return cfg, []error{fmt.Errorf("--config: %w", err)}
		}
		defer f.Close()
		if cfg, err = wish.LoadConfig(f); err != nil {
			return cfg, []error{fmt.Errorf("--config %s: %w", c.config, err)}
		}
	}
	cfg.Image = cmp.Or(c.image, cfg.Image)
	if cfg.Defaults == nil {
		cfg.Defaults = map[string]string{}
	}
	maps.Copy(cfg.Defaults, c.defaults)
	return cfg, cfg.Validate()
}

func injectCmd(_ context.Context, args []string, e cli.Env) int {
	var c injectConfig
	var cfg wish.Config
	fs := flag.NewFlagSet("inject", flag.ContinueOnError)
	c.flags(fs)
	code, ok := e.Parse(fs, injectAbout, args, func() []error {
		bad := cli.Unexpected(fs.Args())
		if c.file == "" {
			bad = append(bad, errors.New("no file given: write -f FILE, or -f - for standard input"))
		}
		var wrong []error
		cfg, wrong = c.load()
		return append(bad, wrong...)
	})
	if !ok {
		return code
	}
	text, err := c.read(e.Stdin)
	if err != nil {
		return e.Fail("inject", err)
	}
	out, notes, err := manifest.Inject(text, cfg)
	if err != nil {
		return e.Fail("inject", err)
	}
	printNotes(e.Stderr, notes)
	if _, err := e.Stdout.Write(out); err != nil {
		return e.Fail("inject", fmt.Errorf("write the manifest: %w", err))
	}
	return cli.OK
}

func (c *injectConfig) read(stdin io.Reader) ([]byte, error) {
	r := stdin
	if c.file != "-" {
		f, err := os.Open(c.file)
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("read the manifest: it is longer than %d MiB", maxManifest>>20)
	}
	return text, nil
}

func printNotes(w io.Writer, notes []manifest.Note) {
	injected := 0
	for _, n := range notes {
		if n.Injected {
			injected++
			fmt.Fprintf(w, "%s: injected\n", printable.Line(n.Object))
		} else if n.Text != "" {
			fmt.Fprintf(w, "%s: skipped: %s\n", printable.Line(n.Object), printable.Line(n.Text))
		}
		for _, text := range n.Warnings {
			fmt.Fprintf(w, "%s: %s\n", printable.Line(n.Object), printable.Line(text))
		}
	}
	fmt.Fprintf(w, "%d of %d injected\n", injected, len(notes))
}
