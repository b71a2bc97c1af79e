// Command try shows ullage in a cluster, in one command: `make try`.
//
//	try up     a cluster, the images, the chart, a Java pod; raises its level
//	try down   remove what up made
//	try env    settings for a shell: eval "$(make -s try-env)"
//
// The cluster is that of test/cluster, which says how it is chosen: a running one, else kind in Docker or podman,
// else processes of this machine. The cluster of KUBECONFIG is used only with CLUSTER=existing.
//
// Everything in the cluster is in two namespaces of try's own, and the injector sees only the pods of one of them. So
// neither a cluster in use nor another injector is affected. `try down` removes the namespaces, and the cluster only
// if up started it.
//
// Progress goes to stderr, persisted lines go to stdout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "try:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	t := try{out: os.Stdout, errs: os.Stderr}
	fs := flag.NewFlagSet("try", flag.ContinueOnError)
	fs.StringVar(&t.version, "version", "", "`TAG` of the images")
	fs.StringVar(&t.java, "java", "", "`IMAGE` of the Java pod, for a cluster that pulls images")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return errors.New("usage: try [flags] up|down|env")
	}
	if err := t.locate(); err != nil {
		return err
	}
	switch fs.Arg(0) {
	case "up":
		return t.up(ctx)
	case "down":
		return t.down(ctx)
	case "env":
		return t.printEnv(ctx)
	}
	return fmt.Errorf("there is no command %q: up, down or env", fs.Arg(0))
}
