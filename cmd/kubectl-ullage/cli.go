package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/ullage/ullage/internal/base/cli"
	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
)

// env is what a command has of the outside world. It is not a cli.Env: flags are not
// read from the environment here, and those that name a cluster may be before the
// command too.
type env struct {
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool) // os.LookupEnv
}

// noEnv is where flags are looked up: the environment is the sidecar's, and
// kubectl has no such variables either.
func noEnv(string) (string, bool) { return "", false }

// cluster reads the flags that are before the command and name a cluster. It
// returns the arguments from the command on.
func (e env) cluster(args []string) (cluster, []string, []error) {
	c := cluster{kubectl: "kubectl"}
	if name, ok := e.lookupEnv("KUBECTL"); ok && name != "" {
		c.kubectl = name
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.flags(fs)
	args, bad := settings.ParseLeading(fs, args)
	if helpWanted(bad) {
		return c, []string{"help"}, nil
	}
	return c, args, bad
}

// parse reads the flags and the names of a command, in any order, and then
// asks validate, which may be nil, for what is wrong with them. When it
// returns false the command is over: return the code. Either help was asked
// for and printed, or all that is wrong was, one line each.
//
// The name of fs is the command's; about is the first part of its help.
func (e env) parse(fs *flag.FlagSet, about string, args []string, validate func(names []string) []error) (code int, ok bool) {
	bad := settings.Parse(fs, args, noEnv)
	if helpWanted(bad) {
		return e.help(fs, about), false
	}
	if bad = append(bad, validate(fs.Args())...); len(bad) == 0 {
		return cli.OK, true
	}
	return e.misused(fs.Name(), bad), false
}

// jsonFlags declares --json, and -o json, which is how kubectl has it.
func jsonFlags(fs *flag.FlagSet, asJSON *bool, usage string) {
	fs.BoolVar(asJSON, "json", false, usage)
	fs.Func("o", "`json` is short for --json", func(format string) error {
		if format != "json" {
			return errors.New("the only format is json")
		}
		*asJSON = true
		return nil
	})
}

func helpWanted(bad []error) bool {
	for _, err := range bad {
		if errors.Is(err, flag.ErrHelp) {
			return true
		}
	}
	return false
}

func (e env) help(fs *flag.FlagSet, about string) int {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nFlags:\n", about)
	settings.PrintFlags(&b, fs)
	return e.print(fs.Name(), b.String())
}

// misused reports everything that is wrong with the arguments. An empty name
// is that of the program alone.
func (e env) misused(name string, bad []error) int {
	command := strings.TrimSpace("kubectl ullage " + name)
	for _, err := range bad {
		fmt.Fprintf(e.stderr, "%s: %s\n", command, printable.Line(err.Error()))
	}
	fmt.Fprintf(e.stderr, "run '%s --help' for what it takes\n", command)
	return cli.Usage
}

// fail reports why the command failed while it ran, one line for each error
// that was joined.
func (e env) fail(name string, err error) int {
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	for text := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(e.stderr, "kubectl ullage %s: %s\n", name, printable.Line(text))
	}
	return cli.Failure
}

// print prints what the command was asked for.
func (e env) print(name, text string) int {
	if _, err := io.WriteString(e.stdout, text); err != nil {
		return e.fail(name, fmt.Errorf("print: %w", err))
	}
	return cli.OK
}
