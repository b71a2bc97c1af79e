// Package cli is what the programs share as command lines: how a program meets
// signals and finds its subcommand, how that reads its flags, tells what is
// wrong with all of them at once, helps, fails and says what it was built from.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/ullage/ullage/internal/printable"
	"github.com/ullage/ullage/internal/settings"
)

// Exit codes.
const (
	OK      = 0
	Failure = 1 // it failed while it ran
	Usage   = 2 // usage error: nothing was done
)

// Env is what a subcommand has of the outside world.
type Env struct {
	Program        string // its name, for messages
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool) // os.LookupEnv
}

// Parse reads the flags of a subcommand from args and the environment, then
// asks validate, which may be nil, for what is wrong with their values. When
// it returns false the subcommand is over: return the code. Either help was
// asked for and printed, or all that is wrong was, one line each.
//
// The name of fs is the subcommand's; about is the first part of its help.
func (e Env) Parse(fs *flag.FlagSet, about string, args []string, validate func() []error) (code int, ok bool) {
	bad := settings.Parse(fs, args, e.LookupEnv)
	for _, err := range bad {
		if errors.Is(err, flag.ErrHelp) {
			e.Help(fs, about)
			return OK, false
		}
	}
	if validate != nil {
		bad = append(bad, validate()...)
	}
	if len(bad) == 0 {
		return OK, true
	}
	for _, err := range bad {
		fmt.Fprintf(e.Stderr, "%s %s: %s\n", e.Program, fs.Name(), printable.Line(err.Error()))
	}
	fmt.Fprintf(e.Stderr, "run '%s %s --help' for what it takes\n", e.Program, fs.Name())
	return Usage, false
}

// Help prints about and the flags.
func (e Env) Help(fs *flag.FlagSet, about string) {
	fmt.Fprintf(e.Stdout, "%s\nFlags (each also as an environment variable, --some-flag as %s):\n",
		about, settings.EnvName("some-flag"))
	settings.PrintFlags(e.Stdout, fs)
}

// Fail reports why the subcommand failed while it ran.
func (e Env) Fail(name string, err error) int {
	fmt.Fprintf(e.Stderr, "%s %s: %s\n", e.Program, name, printable.Line(err.Error()))
	return Failure
}

// Unexpected is a complaint about each of args, those that the subcommand has no
// use for.
func Unexpected(args []string) []error {
	var bad []error
	for _, arg := range args {
		bad = append(bad, fmt.Errorf("unexpected argument %q", arg))
	}
	return bad
}
