package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/ullage/ullage/internal/settings"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // it failed while it ran
	exitUsage   = 2 // it was asked for in a wrong way, and did nothing
)

// env is what a subcommand has of the outside world.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool) // os.LookupEnv
}

// parse reads the flags of a subcommand from args and the environment, then
// asks validate, which may be nil, for what is wrong with their values. When
// it returns false the subcommand is over: return the code. Either help was
// asked for and printed, or all that is wrong was, one line each.
//
// The name of fs is the subcommand's; about is the first part of its help.
func (e env) parse(fs *flag.FlagSet, about string, args []string, validate func() []error) (code int, ok bool) {
	bad := settings.Parse(fs, args, e.lookupEnv)
	for _, err := range bad {
		if errors.Is(err, flag.ErrHelp) {
			e.help(fs, about)
			return exitOK, false
		}
	}
	if validate != nil {
		bad = append(bad, validate()...)
	}
	if len(bad) == 0 {
		return exitOK, true
	}
	for _, err := range bad {
		fmt.Fprintf(e.stderr, "ullage-injector %s: %s\n", fs.Name(), line(err.Error()))
	}
	fmt.Fprintf(e.stderr, "run 'ullage-injector %s --help' for what it takes\n", fs.Name())
	return exitUsage, false
}

func (e env) help(fs *flag.FlagSet, about string) {
	fmt.Fprintf(e.stdout, "%s\nFlags (each also as an environment variable, --some-flag as %s):\n",
		about, settings.EnvName("some-flag"))
	settings.PrintFlags(e.stdout, fs)
}

// fail reports why the subcommand failed while it ran.
func (e env) fail(name string, err error) int {
	fmt.Fprintf(e.stderr, "ullage-injector %s: %s\n", name, line(err.Error()))
	return exitFailure
}

// noArgs is a validation for subcommands that take only flags.
func noArgs(fs *flag.FlagSet) []error {
	var bad []error
	for _, arg := range fs.Args() {
		bad = append(bad, fmt.Errorf("unexpected argument %q", arg))
	}
	return bad
}

// line keeps a message on one line, and its control characters from the
// terminal: it may quote names that another program chose.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '?'
		}
		return r
	}, s)
}
