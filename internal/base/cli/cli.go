// Package cli holds what the command lines of the programs share: handling of
// signals, dispatch to subcommands, parsing of flags with all errors reported
// at once, help, failures, and the version.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
)

// Exit codes.
const (
	OK      = 0
	Failure = 1 // the command failed at run time
	Usage   = 2 // usage error: the command did nothing
)

// Env is the environment of a subcommand.
type Env struct {
	Program        string // the program's name, for messages
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool) // os.LookupEnv

	// Environ is os.Environ, and FlagNames returns the names of the flags of all subcommands.
	// Together they find misspelt variables. If FlagNames is nil, none are reported.
	Environ   []string
	FlagNames func() []string
}

// Parse reads the flags of a subcommand from args and the environment, then
// calls validate, which may be nil, to check their values. If Parse returns
// false, the subcommand must return code: Parse has printed either the help
// that args asked for, or all errors, one a line. Parse also prints a warning for each
// misspelt variable. That is not an error: other programs may use the prefix too.
//
// fs has the name of the subcommand. about is the first part of its help.
func (e Env) Parse(fs *flag.FlagSet, about string, args []string, validate func() []error) (code int, ok bool) {
	bad := settings.Parse(fs, args, e.LookupEnv)
	for _, err := range bad {
		if errors.Is(err, flag.ErrHelp) {
			e.Help(fs, about)
			return OK, false
		}
	}
	e.warnMisspelt(fs.Name())
	if validate != nil {
		bad = append(bad, validate()...)
	}
	if len(bad) == 0 {
		return OK, true
	}
	for _, err := range bad {
		fmt.Fprintf(e.Stderr, "%s %s: %s\n", e.Program, fs.Name(), printable.Line(err.Error()))
	}
	fmt.Fprintf(e.Stderr, "run '%s %s --help' for usage\n", e.Program, fs.Name())
	return Usage, false
}

func (e Env) warnMisspelt(subcommand string) {
	if e.FlagNames == nil {
		return
	}
	for _, err := range settings.Misspelt(e.Environ, e.FlagNames()) {
		fmt.Fprintf(e.Stderr, "%s %s: warning: %s\n", e.Program, subcommand, printable.Line(err.Error()))
	}
}

// Help prints about and the flags, if there are any.
func (e Env) Help(fs *flag.FlagSet, about string) {
	if len(settings.Names(fs)) == 0 {
		io.WriteString(e.Stdout, about)
		return
	}
	fmt.Fprintf(e.Stdout, "%s\nFlags (each can also be set in the environment, --some-flag as %s):\n",
		about, settings.EnvName("some-flag"))
	settings.PrintFlags(e.Stdout, fs)
}

// Fail reports why the subcommand failed at run time.
func (e Env) Fail(name string, err error) int {
	fmt.Fprintf(e.Stderr, "%s %s: %s\n", e.Program, name, printable.Line(reason(err)))
	return Failure
}

// reason returns the text of err, in which a path that leads nowhere is worded one way,
// whichever system call found that out.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) && errors.Is(at.Err, fs.ErrNotExist) {
		return strings.Replace(err.Error(), at.Error(), printable.Name(at.Path)+" does not exist", 1)
	}
	return err.Error()
}

// Unexpected returns an error for each of args, the arguments that the
// subcommand does not accept.
func Unexpected(args []string) []error {
	var bad []error
	for _, arg := range args {
		bad = append(bad, fmt.Errorf("unexpected argument %q", arg))
	}
	return bad
}
