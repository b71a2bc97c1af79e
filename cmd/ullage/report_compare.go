package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/read/report/view"
)

// versus is the word between two groups of inputs.
const versus = "vs"

// Limits on how much is read at the same time. Reading a log takes about 20 MiB of memory. The marks of a pod take
// little memory, but they are many objects, and a distant server takes long to send each one.
const (
	mostReaders = 4  // logs
	mostPods    = 32 // inputs
)

// side is an input of a comparison.
type side struct {
	input string
	group string // empty: there are no groups
	name  string // the name that the comparison shows; empty: the name in the report
}

// sidesOf returns the inputs with their groups.
func sidesOf(args []string) (all []side) {
	group, second := "", ""
	if slices.Contains(args, versus) {
		group, second = view.GroupA, view.GroupB
	}
	for _, arg := range args {
		if arg == versus {
			group = second
			continue
		}
		all = append(all, side{input: arg, group: group})
	}
	return all
}

// badComparison returns the errors in the inputs of a comparison.
func badComparison(args []string) (bad []error) {
	count := map[string]int{}
	for _, arg := range args {
		count[arg]++
	}
	switch groups := count[versus]; {
	case groups == 0 && len(args) < 2 && !slices.ContainsFunc(args, inBucket):
		bad = append(bad, fmt.Errorf("--compare needs at least two directories or files, got %d", len(args)))
	case groups > 1:
		bad = append(bad, errors.New("--compare compares two groups, but vs occurs more than once (write ./vs for a file of that name)"))
	case groups == 1 && (args[0] == versus || args[len(args)-1] == versus):
		bad = append(bad, errors.New("vs has nothing on one side: name directories or files on both (write ./vs for a file of that name)"))
	case groups == 1:
		for _, arg := range slices.Compact(slices.Sorted(slices.Values(args))) {
			if count[arg] > 1 {
				bad = append(bad, fmt.Errorf("%s occurs more than once: each log is one sample of one group", arg))
			}
		}
	}
	return bad
}

// compareAll compares more than two inputs, and keeps only a few figures of each. It names the inputs that cannot
// be read. The others are compared.
func (c *reportConfig) compareAll(ctx context.Context, inputs []side, e cli.Env) error {
	inputs, err := podsOf(ctx, inputs)
	if err != nil {
		return err
	}
	fleet, failed := c.readAll(ctx, inputs, e)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, err := range failed {
		if err != nil {
			fleet.Miss(cmp.Or(inputs[i].name, inputs[i].input), err)
		}
	}
	if len(fleet.Logs) == 0 {
		return errors.Join(failed...)
	}
	if inputs[0].group == "" {
		fleet.Compare()
	} else {
		fleet.CompareGroups()
	}
	return c.write(func(w io.Writer, style view.Style) error {
		switch {
		case c.json:
			return fleet.JSON(w)
		case c.text:
			return fleet.Text(w, style)
		}
		return fleet.HTML(w)
	}, e)
}

// readAll reads the inputs, several at a time. It returns one error or nil for each.
func (c *reportConfig) readAll(ctx context.Context, inputs []side, e cli.Env) (*view.Fleet, []error) {
	var mu sync.Mutex // of the fleet and the progress
	fleet, progress, done := &view.Fleet{}, cli.NewProgress(e.Stderr), 0
	defer progress.Clear()
	failed := make([]error, len(inputs))
	logs := make(chan struct{}, min(runtime.GOMAXPROCS(0), mostReaders))
	var readers errgroup.Group
	readers.SetLimit(mostPods)
	for i, in := range inputs {
		readers.Go(func() error {
			r, err := readSide(ctx, in.input, c.Config, logs)
			failed[i] = err
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				r.Name = cmp.Or(in.name, r.Name)
				fleet.Add(in.group, r)
			}
			done++
			progress.Show(fmt.Sprintf("reading: %d of %d logs", done, len(inputs)))
			return nil
		})
	}
	_ = readers.Wait() // the errors are in failed
	return fleet, failed
}
