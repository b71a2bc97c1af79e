package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/ullage/ullage/internal/base/settings"
)

// Command is a subcommand or a whole program: it runs with its arguments and
// returns the exit code. When ctx ends, Command finishes what must not be
// interrupted, and returns.
type Command func(ctx context.Context, args []string, e Env) int

// Main is the main function of the program with this name. It runs the command
// with the arguments and streams of the process, and exits with the command's
// exit code. SIGINT and SIGTERM cancel the command's context. Main does not
// return.
func Main(name string, run Command) {
	// The first signal cancels the context: finish, drain, exit. A second
	// Ctrl-C kills the process as usual. A second SIGTERM does not: an
	// orchestrator may repeat it, and it must not interrupt the drain.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	code := run(ctx, os.Args[1:], Env{Program: name, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		LookupEnv: os.LookupEnv, Environ: os.Environ()})
	cancel()
	os.Exit(code)
}

// renamed has the commands that had another name before, by that name. Only a command line has
// the earlier names: help, messages and documents have the present ones.
var renamed = map[string]string{
	"cat": "logs",
	"log": "levels",
}

// Dispatch runs the command that args begins with, and returns its exit code.
// For help it prints usage, and for "help NAME" the output of that command's
// --help. --version, -v and -V run the command version. A missing or unknown command is a
// usage error. An earlier name of a command runs it as well.
func (e Env) Dispatch(ctx context.Context, args []string, usage string, commands map[string]Command) int {
	if len(args) == 0 {
		io.WriteString(e.Stderr, usage)
		return Usage
	}
	name, rest := args[0], args[1:]
	if IsHelp(name) {
		if len(rest) == 0 || IsHelp(rest[0]) {
			if _, err := io.WriteString(e.Stdout, usage); err != nil {
				return e.Fail("help", err)
			}
			return OK
		}
		name, rest = rest[0], []string{"--help"}
	}
	if slices.Contains([]string{"--version", "-v", "-V"}, name) {
		name = "version"
	}
	if now := renamed[name]; commands[name] == nil && commands[now] != nil {
		name = now
	}
	if run, ok := commands[name]; ok {
		return run(ctx, rest, e)
	}
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, Unknown("command", name, slices.Sorted(maps.Keys(commands))))
	fmt.Fprintf(e.Stderr, "run '%s help' for a list\n", e.Program)
	return Usage
}

// Unknown returns an error about a word that is not one of the known words of a kind.
func Unknown(kind, word string, known []string) error {
	return fmt.Errorf("unknown %s %q%s", kind, word, settings.DidYouMean(word, "", known))
}

// IsHelp reports whether a word in the place of a command asks for help.
func IsHelp(name string) bool {
	return name == "help" || name == "-h" || name == "-help" || name == "--help"
}
