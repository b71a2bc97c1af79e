package cli

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/base/settings"
)

// completeCommand is the hidden command that prints the candidates for its last argument, given the
// other arguments. Each candidate is on its own line, followed by a tab and its meaning. The last
// line has a colon and a code for what the shell adds. kubectl expects this form from its plugins.
const completeCommand = "__complete"

// Codes that tell a shell what to add to the candidates.
const (
	addFiles       = 0
	addNothing     = 4
	addDirectories = 16
)

// Words maps the name of a flag to a function that returns candidates for the flag's value, and
// "" to a function that returns candidates for an argument. Without a function, the candidates
// are files or directories if the placeholder is FILE or DIR. The functions are called after the
// flags in the preceding arguments have been set.
type Words map[string]func() []string

// candidate is a word and its meaning.
type candidate struct{ word, is string }

// suggest prints the candidates that begin with word.
func (e Env) suggest(word string, all []candidate, add int) int {
	var b strings.Builder
	for _, c := range all {
		if strings.HasPrefix(c.word, word) && c.word == printable.Line(c.word) {
			fmt.Fprintf(&b, "%s\t%s\n", c.word, printable.Line(c.is))
		}
	}
	fmt.Fprintf(&b, ":%d\n", add)
	return e.Print(completeCommand, b.String())
}

// complete prints the candidates for the last of args: a command, a flag that may precede a
// command, or an argument of the command that args name.
func (p Program) complete(ctx context.Context, fs *flag.FlagSet, args []string, e Env) int {
	if len(args) == 0 {
		args = []string{""}
	}
	before, word := args[:len(args)-1], args[len(args)-1]
	rest, _ := settings.ParseLeading(fs, before)
	if len(rest) == 0 && (strings.HasPrefix(word, "-") || valueOf(fs, before) != "") {
		if c := p.named(p.Default); c != nil {
			return c.Run(ctx, args, e)
		}
		return e.completeWord(fs, before, word)
	}
	if len(rest) > 0 && !isHelp(rest[0]) {
		if c := p.named(rest[0]); c != nil {
			return c.Run(ctx, append(rest[1:], word), e)
		}
		return e.suggest(word, nil, addNothing)
	}
	var all []candidate
	for _, c := range p.Commands {
		if c.Summary != "" {
			all = append(all, candidate{c.Name, c.Summary})
		}
	}
	return e.suggest(word, all, addNothing)
}

// completeWord prints the candidates for a word of a command with the flags of fs. before has
// the arguments that precede the word.
func (e Env) completeWord(fs *flag.FlagSet, before []string, word string) int {
	_ = settings.Parse(fs, before, e.variables()) // errors are reported when the command runs
	if name := valueOf(fs, before); name != "" {
		return e.completeValue(fs.Lookup(name), "", word)
	}
	flags := !slices.Contains(before, "--")
	if name, value, ok := strings.Cut(word, "="); ok && flags && strings.HasPrefix(name, "-") {
		if f := fs.Lookup(strings.TrimLeft(name, "-")); f != nil {
			return e.completeValue(f, name+"=", value)
		}
	}
	if flags && strings.HasPrefix(word, "-") {
		all := []candidate{{"--help", "print what the command does"}}
		for _, r := range settings.Rows(fs) {
			name, _, _ := strings.Cut(r.Flag, " ")
			does, _, _ := strings.Cut(r.Usage, "\n")
			all = append(all, candidate{name, does})
		}
		return e.suggest(word, all, addNothing)
	}
	return e.offer("", word, e.Words[""], e.Operand)
}

// completeValue prints the candidates for the value of a flag, each after prefix.
func (e Env) completeValue(f *flag.Flag, prefix, value string) int {
	words := e.Words[f.Name]
	if choice, ok := f.Value.(interface{ Choices() []string }); ok {
		words = choice.Choices
	}
	placeholder, _ := flag.UnquoteUsage(f)
	return e.offer(prefix, value, words, placeholder)
}

// offer prints the words, each after prefix. If the placeholder is FILE or DIR, it makes the
// shell add files or directories.
func (e Env) offer(prefix, word string, words func() []string, placeholder string) int {
	var all []candidate
	if words != nil {
		for _, w := range words() {
			all = append(all, candidate{prefix + w, ""})
		}
	}
	add := addNothing
	switch placeholder {
	case "FILE":
		add = addFiles
	case "DIR":
		add = addDirectories
	}
	return e.suggest(prefix+word, all, add)
}

// valueOf returns the name of the flag whose value must follow args, or "" if args do not end
// with such a flag.
func valueOf(fs *flag.FlagSet, args []string) string {
	for i := 0; i < len(args) && args[i] != "--"; {
		n := 1
		if len(args[i]) > 1 && args[i][0] == '-' {
			n = settings.Arguments(fs, args[i])
		}
		if i += n; i > len(args) {
			return strings.TrimLeft(args[len(args)-1], "-")
		}
	}
	return ""
}

//go:embed completion
var scripts embed.FS

const completionAbout = `PROGRAM completion prints a script with which a shell completes
commands, flags and names.

Usage:
  PROGRAM completion bash|zsh|fish

Examples:
  source <(PROGRAM completion bash)     # in ~/.bashrc
  source <(PROGRAM completion zsh)      # in ~/.zshrc, after compinit
  PROGRAM completion fish | source      # in ~/.config/fish/config.fish
`

// shells are the shells for which there is a script.
var shells = []string{"bash", "zsh", "fish"}

// Completion returns the command that prints the scripts for shells.
func Completion() Command {
	return Command{Name: "completion", Summary: "print a script for completion in bash, zsh or fish", Run: completion}
}

func completion(_ context.Context, args []string, e Env) int {
	fs := flag.NewFlagSet("completion", flag.ContinueOnError)
	e.Words = Words{"": func() []string { return shells }}
	code, ok := e.Parse(fs, strings.ReplaceAll(completionAbout, "PROGRAM", e.Program), args, func() []error {
		if fs.NArg() == 0 {
			return []error{errors.New("no shell given: use bash, zsh or fish")}
		}
		bad := Unexpected(fs.Args()[1:])
		if !slices.Contains(shells, fs.Arg(0)) {
			bad = append(bad, fmt.Errorf("unknown shell %q; use bash, zsh or fish", fs.Arg(0)))
		}
		return bad
	})
	if !ok {
		return code
	}
	script, err := scripts.ReadFile("completion/" + fs.Arg(0))
	if err != nil {
		return e.Fail("completion", err)
	}
	function := strings.ReplaceAll(e.Program, "-", "_")
	return e.Print("completion", strings.NewReplacer("PROGRAM", e.Program, "FUNCTION", function).Replace(string(script)))
}
