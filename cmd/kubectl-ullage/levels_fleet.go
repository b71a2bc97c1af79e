package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
)

// members returns the selected pods that have not ended.
func (c *levelsConfig) members(ctx context.Context) ([]pod, error) {
	if c.target != (target{}) {
		return c.cluster.members(ctx, c.target)
	}
	return c.cluster.labelled(ctx)
}

// fleet does for many pods what [levelsConfig.do] does for one. A failure of one pod does not
// affect the others.
func (c *levelsConfig) fleet(ctx context.Context, e cli.Env) int {
	pods, err := c.members(ctx)
	if err != nil {
		return e.Fail("levels", err)
	}
	results := make([]outcome, len(pods))
	shown := newProgress(e.Stderr, len(pods))
	var g errgroup.Group
	g.SetLimit(atOnce)
	w := c.wanted()
	for i, p := range pods {
		g.Go(func() error {
			results[i] = c.member(ctx, p, w, shown)
			shown.step()
			return nil
		})
	}
	_ = g.Wait() // the errors are in the results
	shown.clear()
	done, code := 0, cli.OK
	for _, r := range results {
		if printed := e.Print("levels", r.text); printed != cli.OK {
			return printed
		}
		if r.err != nil {
			code = e.Fail("levels", r.err)
		} else {
			done++
		}
	}
	did := "shown"
	switch {
	case c.reset:
		did = "reset"
	case c.raises():
		did = "raised"
	}
	if printed := e.Print("levels", fmt.Sprintf("%s: %d of %d pods\n", did, done, len(pods))); printed != cli.OK {
		return printed
	}
	return code
}

// member shows or changes the levels of one of the pods.
func (c *levelsConfig) member(ctx context.Context, p pod, w wanted, shown *progress) outcome {
	name := printable.Line(p.Metadata.Name)
	found := c.cluster.sidecars(p)
	if len(found) == 0 {
		return outcome{err: fmt.Errorf("pod %s: %w", name, errNoSidecar)}
	}
	o := c.do(ctx, found, w, shown)
	if o.text != "" {
		o.text = indented(name, o.text)
	}
	return o
}

// indented puts the lines of a pod below its name.
func indented(name, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", name)
	for line := range strings.Lines(text) {
		fmt.Fprintf(&b, "  %s", line)
	}
	return b.String()
}

// progress reports on stderr how many pods are done.
type progress struct {
	w        io.Writer
	terminal bool // w is a terminal and shows a count of pods; otherwise, only lines are printed
	of       int

	mu   sync.Mutex
	done int
}

func newProgress(w io.Writer, of int) *progress {
	return &progress{w: w, terminal: cli.NewScreen(w) != nil, of: of}
}

func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.count()
}

// count shows the count, in the terminal's last line.
func (p *progress) count() {
	if p.terminal && p.of > 1 {
		fmt.Fprintf(p.w, "\r%d of %d pods", p.done, p.of)
	}
}

// line prints a line above the count.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
	p.count()
}

// clear erases the count.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
