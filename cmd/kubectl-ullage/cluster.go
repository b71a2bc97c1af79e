package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
)

const (
	// callTimeout limits one call of kubectl, unless it streams.
	callTimeout = 20 * time.Second

	// endTimeout is how long kubectl may take to end once asked.
	endTimeout = 2 * time.Second

	maxComplaint = 8 << 10 // bytes of kubectl's stderr that are kept
)

// cluster is a Kubernetes cluster and the kubectl that reaches it.
type cluster struct {
	kubectl string // a path, or a name on the PATH

	// In the form that kubectl accepts; empty: kubectl's own default.
	kubeconfig, context, namespace string

	// Which pods are selected, for commands that accept many.
	all      bool
	selector string
}

// flags declares the flags that name a cluster. The values of c are the defaults.
func (c *cluster) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.kubeconfig, "kubeconfig", c.kubeconfig, "kubeconfig `FILE` of kubectl")
	fs.StringVar(&c.context, "context", c.context, "`NAME` of the context in the kubeconfig")
	fs.StringVar(&c.namespace, "namespace", c.namespace, "`NAME` of the pods' namespace")
	fs.StringVar(&c.namespace, "n", c.namespace, "short for --namespace `NAME`")
}

// manyFlags declares the flags that select pods, for commands that accept several.
func (c *cluster) manyFlags(fs *flag.FlagSet) {
	fs.BoolVar(&c.all, "all-namespaces", false, "the pods of all namespaces")
	fs.BoolVar(&c.all, "A", false, "short for --all-namespaces")
	c.labelFlags(fs)
}

func (c *cluster) labelFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.selector, "selector", "", "only pods whose labels match `SELECTOR`")
	fs.StringVar(&c.selector, "l", "", "short for --selector `SELECTOR`")
}

// in returns the cluster with another namespace.
func (c cluster) in(namespace string) cluster {
	if namespace != "" {
		c.namespace = namespace
	}
	return c
}

// command returns a call of kubectl. kubectl is asked to end when ctx ends. The flags are written with "=", so that
// no value is mistaken for a flag.
func (c cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	var all []string
	for _, f := range [][2]string{{"kubeconfig", c.kubeconfig}, {"context", c.context}, {"namespace", c.namespace}} {
		if f[1] != "" {
			all = append(all, "--"+f[0]+"="+f[1])
		}
	}
	cmd := exec.CommandContext(ctx, c.kubectl, append(all, args...)...)
	cmd.Cancel = func() error { return end(cmd.Process) }
	cmd.WaitDelay = endTimeout
	return cmd
}

// end asks a kubectl to end. Windows cannot send an interrupt, so kubectl is killed there. (On every system, a Ctrl-C
// on the terminal reaches kubectl by itself.)
func end(kubectl interface {
	Signal(os.Signal) error
	Kill() error
}) error {
	err := kubectl.Signal(os.Interrupt)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return kubectl.Kill()
}

// run calls kubectl and returns its stdout. More than limit bytes is an error. A nonzero exit status is an error with
// kubectl's text.
func (c cluster) run(ctx context.Context, limit int, args ...string) ([]byte, error) {
	return c.runWith(ctx, nil, limit, args...)
}

// runWith is like run, with something on kubectl's stdin.
func (c cluster) runWith(ctx context.Context, stdin io.Reader, limit int, args ...string) ([]byte, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := c.command(call, args...)
	cmd.Stdin = stdin
	out, complaint := &head{limit: limit, over: cancel}, &head{limit: maxComplaint, over: func() {}}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := cmd.Run()
	switch {
	case out.more:
		return nil, fmt.Errorf("the answer is longer than %d bytes", limit)
	case err == nil:
		return out.kept, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case call.Err() != nil:
		return nil, fmt.Errorf("no answer within %s", callTimeout)
	}
	return nil, c.explain(err, string(complaint.kept))
}

// klogLine matches the beginning of a line of kubectl's own log, which repeats the error in a library's words, once
// for each attempt.
var klogLine = regexp.MustCompile(`^[EWIF][0-9]{4} [0-9:.]+ +[0-9]+ [^ ]+:[0-9]+\] `)

// explain explains how kubectl ended, from its error and stderr.
func (c cluster) explain(err error, complaint string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return c.notRun(err)
	}
	var said, logged []string
	for text := range strings.Lines(complaint) {
		switch text = strings.TrimSpace(text); {
		case text == "", strings.HasPrefix(text, "command terminated with exit code"): // kubectl adds this to the output of the program it ran
		case klogLine.MatchString(text):
			logged = append(logged, klogLine.ReplaceAllString(text, ""))
		default:
			said = append(said, text)
		}
	}
	if len(said) == 0 && len(logged) > 0 {
		said = logged[len(logged)-1:]
	}
	if len(said) == 0 {
		return fmt.Errorf("kubectl gave no reason (%w)", err)
	}
	return errors.New(printable.Line(strings.Join(said, " ")))
}

// notRun returns why kubectl could not be started.
func (c cluster) notRun(err error) error {
	return fmt.Errorf("run kubectl: %w (put it on the PATH, or name it in KUBECTL)", err)
}

// head keeps the first bytes that are written to it, or passes them on.
type head struct {
	limit int
	to    io.Writer // nil: the bytes are kept
	kept  []byte
	n     int    // bytes that were kept or passed on
	more  bool   // there was more
	over  func() // called when more is written
}

// Write implements [io.Writer]. It fails only if the bytes cannot be passed on.
func (h *head) Write(p []byte) (_ int, err error) {
	keep := p[:min(len(p), h.limit-h.n)]
	h.n += len(keep)
	if h.to != nil {
		_, err = h.to.Write(keep)
	} else {
		h.kept = append(h.kept, keep...)
	}
	if len(keep) < len(p) && !h.more {
		h.more = true
		h.over()
	}
	return len(p), err
}
