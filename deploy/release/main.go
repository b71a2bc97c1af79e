package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

const usage = `usage: release make --version 0.1.0 --out DIR
       release push --version 0.1.0 --registry registry.example/team
       release sign --version 0.1.0 --registry registry.example/team --out DIR`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the options of the command line.
type options struct {
	root, version, out, registry, builder, cosign string
}

// run runs the command that args begins with. Only the output of the command goes to
// stdout; progress goes to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || !slices.Contains([]string{"make", "push", "sign"}, args[0]) {
		return errors.New(usage)
	}
	var o options
	fs := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.root, "root", "../..", "the checkout")
	fs.StringVar(&o.version, "version", "", "the `VERSION`, such as 0.1.0")
	fs.StringVar(&o.out, "out", "", "the `DIRECTORY` that make writes; an earlier release in it is replaced")
	fs.StringVar(&o.registry, "registry", "", "the `REGISTRY` that push pushes to and the chart names, with a path if need be")
	fs.StringVar(&o.builder, "builder", "", "the `URI` of the platform that builds, for the provenance; by default a person's machine")
	fs.StringVar(&o.cosign, "cosign", "cosign", "the `COMMAND` that signs, with arguments")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	src, err := newSource(ctx, o.root, o.version)
	if err != nil {
		return err
	}
	src.progress = stderr
	switch args[0] {
	case "push":
		return push(ctx, src, o.registry, stdout)
	case "sign":
		return signer{source: src, registry: o.registry, dir: o.out, cosign: strings.Fields(o.cosign)}.sign(ctx)
	}
	src.registry, src.builder = cmp.Or(o.registry, published), cmp.Or(o.builder, byHand)
	return makeRelease(ctx, src, allTargets, o.out)
}
