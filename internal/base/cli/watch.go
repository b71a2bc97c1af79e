package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
)

// watchEvery is how long a command that watches waits between two looks.
const watchEvery = 2 * time.Second

// WatchFlags declares --watch and -w, as kubectl has them.
func WatchFlags(fs *flag.FlagSet, watch *bool) {
	fs.BoolVar(watch, "watch", false, "look again every two seconds, until interrupted")
	fs.BoolVar(watch, "w", false, "short for --watch")
}

// CheckWatch returns an error about --watch and --json, if both are given.
func CheckWatch(watch, asJSON bool) []error {
	if watch && asJSON {
		return []error{errors.New("--watch shows a table: leave --json out")}
	}
	return nil
}

// Watch prints what look returns, again and again, until ctx ends. On a terminal, each text
// replaces the one before; elsewhere, a text is printed if it has changed. An error ends the
// watch if it is the first answer: a later one is shown until there is an answer again.
func (e Env) Watch(ctx context.Context, name string, look func(context.Context) (string, error)) int {
	return e.watch(ctx, name, watchEvery, look)
}

func (e Env) watch(ctx context.Context, name string, every time.Duration, look func(context.Context) (string, error)) int {
	again := time.NewTicker(every)
	defer again.Stop()
	home := ""
	if NewScreen(e.Stdout) != nil {
		home = "\033[H\033[2J"
	}
	for last, first := "", true; ; first = false {
		text, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return OK // that is how it ends
		case err != nil && first:
			return e.Fail(name, err)
		case err != nil:
			text = fmt.Sprintf("%s %s: %s\n", e.Program, name, printable.Line(reason(err)))
		}
		if first || text != last || home != "" {
			if code := e.Print(name, home+strings.TrimSuffix(text, "\n")+"\n"); code != OK {
				return code
			}
		}
		last = text
		select {
		case <-ctx.Done():
			return OK
		case <-again.C:
		}
	}
}
