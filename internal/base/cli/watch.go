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

// WatchFlags declares --watch and -w, as in kubectl.
func WatchFlags(fs *flag.FlagSet, watch *bool) {
	fs.BoolVar(watch, "watch", false, "refresh every two seconds until interrupted")
	fs.BoolVar(watch, "w", false, "short for --watch")
}

// CheckWatch returns an error about --watch and --json, if both are given.
func CheckWatch(watch, asJSON bool) []error {
	if watch && asJSON {
		return []error{errors.New("--watch shows a table: leave out --json")}
	}
	return nil
}

// Watch repeatedly calls look and prints the text that it returns, until ctx ends. On a terminal,
// each text replaces the previous one; elsewhere, a text is printed only if it has changed. An
// error of the first call ends the watch. A later error is shown until a call succeeds.
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
			return OK // this is the usual end
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
