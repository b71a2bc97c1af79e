package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/settings"
)

// Command is one of the commands of a program.
type Command struct {
	Name    string
	Summary string // one line, for the program's help and for completion; empty: both leave the command out

	// Run runs the command with its arguments and returns the exit code. When ctx ends, Run
	// finishes the work that must not be interrupted and returns.
	Run func(ctx context.Context, args []string, e Env) int
}

// Program is a command line that begins with the name of a command. It is the command line of a
// program, or of a command that has subcommands.
type Program struct {
	About    string // begins the help
	More     string // ends the help
	Commands []Command

	// Flags declares the flags that may be before the name of a command. If nil, no flag may.
	Flags func(fs *flag.FlagSet)

	// Elsewhere maps the names of commands that a user may expect in this program to the
	// programs that have them.
	Elsewhere map[string]string

	// Default is the command that runs if no command is named. If Default is empty, that is a
	// usage error.
	Default string
}

// renamed maps the earlier names of commands to the present ones. The earlier names are only
// accepted on a command line: help, messages and documents use the present names.
var renamed = map[string]string{
	"cat": "logs",
	"log": "levels",
}

// Run runs the command that args begins with and returns its exit code. For "help", it prints
// the program's help, and for "help NAME", the output of that command's --help. --version, -v
// and -V run the command version, and the earlier name of a command runs that command. A
// missing or unknown command is a usage error.
func (p Program) Run(ctx context.Context, args []string, e Env) int {
	if len(args) > 0 && args[0] == completeCommand {
		e.completing = true
		args = args[1:]
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	if p.Flags != nil {
		p.Flags(fs)
	}
	if e.completing {
		return p.complete(ctx, fs, args, e)
	}
	args, bad := p.leading(fs, args)
	switch {
	case HelpWanted(bad):
		return e.Print("help", p.Usage(e.Program))
	case len(bad) > 0:
		return e.Misused("", bad)
	case len(args) == 0:
		io.WriteString(e.Stderr, p.Usage(e.Program))
		return Usage
	}
	name, rest := args[0], args[1:]
	if isHelp(name) {
		if len(rest) == 0 || isHelp(rest[0]) {
			return e.Print("help", p.Usage(e.Program))
		}
		name, rest = rest[0], []string{"--help"}
	}
	if c := p.named(name); c != nil {
		return c.Run(ctx, rest, e)
	}
	if program := p.Elsewhere[name]; program != "" {
		fmt.Fprintf(e.Stderr, "%s: %s is a command of '%s'\n", e.Program, name, program)
		return Usage
	}
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, Unknown("command", name, p.names()))
	fmt.Fprintf(e.Stderr, "run '%s help' for a list\n", e.Program)
	return Usage
}

// leading sets the flags of fs at the beginning of args and returns the other arguments. If there is
// a default command, and args are empty or begin with a flag that does not ask for help, leading
// instead returns args with that command in front.
func (p Program) leading(fs *flag.FlagSet, args []string) (rest []string, bad []error) {
	if p.Default != "" && (len(args) == 0 || strings.HasPrefix(args[0], "-") && !isHelp(args[0])) {
		return append([]string{p.Default}, args...), nil
	}
	if len(args) == 0 || isHelp(args[0]) || p.named(args[0]) != nil || len(settings.Names(fs)) == 0 {
		return args, nil
	}
	return settings.ParseLeading(fs, args)
}

// named returns the command that has or once had this name, or nil.
func (p Program) named(name string) *Command {
	if slices.Contains([]string{"--version", "-v", "-V"}, name) {
		name = "version"
	}
	for _, name := range []string{name, renamed[name]} {
		if i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == name }); i >= 0 {
			return &p.Commands[i]
		}
	}
	return nil
}

func (p Program) names() []string {
	var names []string
	for _, c := range p.Commands {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Usage returns the help of a program of this name.
func (p Program) Usage(program string) string {
	rows := slices.DeleteFunc(slices.Clone(p.Commands), func(c Command) bool { return c.Summary == "" })
	if p.Default == "" {
		example := rows[0].Name
		rows = append(rows, Command{Name: "help", Summary: fmt.Sprintf("print this text; 'help %s' is '%s --help'", example, example)})
	}
	width := 0
	for _, c := range rows {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nUsage:\n", p.About)
	for _, c := range rows {
		fmt.Fprintf(&b, "  %s %-*s  %s\n", program, width, c.Name, c.Summary)
	}
	fmt.Fprintf(&b, "\n%s", p.More)
	return b.String()
}

// Unknown returns the error for a word that is not one of the known words of a kind.
func Unknown(kind, word string, known []string) error {
	return fmt.Errorf("unknown %s %q%s", kind, word, settings.DidYouMean(word, "", known))
}

func isHelp(name string) bool {
	return name == "help" || name == "-h" || name == "-help" || name == "--help"
}
