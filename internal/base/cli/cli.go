// Package cli holds what the command lines of the programs share: handling of
// signals, dispatch to subcommands, parsing of flags with all errors reported
// at once, help, failures, and the version.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

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

	// FlagsOnly means that the environment sets no flags, because its variables are for a sidecar.
	FlagsOnly bool

	// Environ is the result of os.Environ, and FlagNames returns the names of the flags of
	// all subcommands. Together they find misspelt variables. If FlagNames is nil, misspelt
	// variables are not reported.
	Environ   []string
	FlagNames func() []string

	// A command sets these for completion before it calls Parse. Operand is the placeholder of its
	// arguments: with FILE or DIR, files or directories are candidates too.
	Words   Words
	Operand string

	// Groups are the flags of a command with so many flags that its help shows them under titles.
	// If nil, the help lists the flags of the FlagSet.
	Groups []settings.Group

	completing bool // print candidates instead of running
}

// variables returns the function that looks up values of flags in the environment.
func (e Env) variables() func(string) (string, bool) {
	if e.FlagsOnly {
		return func(string) (string, bool) { return "", false }
	}
	return e.LookupEnv
}

// Parse reads the flags of a subcommand from args and the environment, then
// calls validate, which may be nil, to check their values. If Parse returns
// false, the subcommand must return code: Parse has printed the help that args
// asked for, or all errors, one on each line, or the candidates for the last
// argument. Parse also prints a warning for each misspelt variable. That is not an
// error: other programs may use the prefix too.
//
// fs has the name of the subcommand. about is the beginning of its help.
func (e Env) Parse(fs *flag.FlagSet, about string, args []string, validate func() []error) (code int, ok bool) {
	if e.completing {
		return e.completeWord(fs, args[:len(args)-1], args[len(args)-1]), false
	}
	bad := settings.Parse(fs, args, e.variables())
	if HelpWanted(bad) {
		return e.Help(fs, about), false
	}
	e.warnMisspelt(fs.Name())
	if validate != nil {
		bad = append(bad, validate()...)
	}
	if len(bad) == 0 {
		return OK, true
	}
	return e.Misused(fs.Name(), bad), false
}

// HelpWanted reports whether the errors about the arguments include a request for help.
func HelpWanted(bad []error) bool {
	return slices.ContainsFunc(bad, func(err error) bool { return errors.Is(err, flag.ErrHelp) })
}

// Misused reports all errors in the arguments. If name is empty, the message names only the
// program.
func (e Env) Misused(name string, bad []error) int {
	command := strings.TrimSpace(e.Program + " " + name)
	for _, err := range bad {
		fmt.Fprintf(e.Stderr, "%s: %s\n", command, printable.Line(err.Error()))
	}
	fmt.Fprintf(e.Stderr, "run '%s --help' for usage\n", command)
	return Usage
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
func (e Env) Help(fs *flag.FlagSet, about string) int {
	var b strings.Builder
	b.WriteString(about)
	if len(settings.Names(fs)) > 0 {
		environment := fmt.Sprintf(" (each can be set in the environment, --some-flag as %s)", settings.EnvName("some-flag"))
		if e.FlagsOnly {
			environment = ""
		}
		fmt.Fprintf(&b, "\nFlags%s:\n", environment)
		if e.Groups == nil {
			settings.PrintFlags(&b, fs)
		} else {
			b.WriteString("\n")
			settings.PrintGroups(&b, e.Groups)
		}
	}
	return e.Print(fs.Name(), b.String())
}

// Print prints the output of the subcommand.
func (e Env) Print(name, text string) int {
	if _, err := io.WriteString(e.Stdout, text); err != nil {
		return e.Fail(name, fmt.Errorf("print: %w", err))
	}
	return OK
}

// Fail reports why the subcommand failed at run time. Each line of the error, and each
// joined error, gets a line of its own.
func (e Env) Fail(name string, err error) int {
	// An error that wraps several errors in one sentence is not a join of them.
	if several, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(several.Unwrap()...).Error() {
		for _, err := range several.Unwrap() {
			e.Fail(name, err)
		}
		return Failure
	}
	for text := range strings.SplitSeq(reason(err), "\n") {
		fmt.Fprintf(e.Stderr, "%s %s: %s\n", e.Program, name, printable.Line(text))
	}
	return Failure
}

// reason returns the text of err. An interruption by a signal, a missing path and a path that is
// not a directory each have one wording, whichever call returned the error.
func reason(err error) string {
	text := err.Error()
	var at *fs.PathError
	if errors.As(err, &at) {
		switch {
		case errors.Is(at.Err, fs.ErrNotExist):
			text = strings.Replace(text, at.Error(), printable.Name(at.Path)+" does not exist", 1)
		case errors.Is(at.Err, syscall.ENOTDIR), at.Err.Error() == syscall.ENOTDIR.Error(): // os.OpenRoot has its own error
			text = strings.Replace(text, at.Error(), printable.Name(at.Path)+" is not a directory", 1)
		}
	}
	if errors.Is(err, context.Canceled) {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	return text
}

// JSONFlags declares --json, and -o json as in kubectl.
func JSONFlags(fs *flag.FlagSet, asJSON *bool, usage string) {
	fs.BoolVar(asJSON, "json", false, usage)
	fs.Var((*format)(asJSON), "o", "the `FORMAT` of the output: -o json is --json")
}

// format is the value of -o: true for JSON.
type format bool

func (f *format) String() string { return "" }

// Choices returns the formats.
func (f *format) Choices() []string { return []string{"json"} }

func (f *format) Set(text string) error {
	if text != "json" {
		return errors.New("the only format is json")
	}
	*f = true
	return nil
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
