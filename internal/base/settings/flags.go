package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// EnvPrefix begins the name of every environment variable that sets a flag.
const EnvPrefix = "ULLAGE_"

// EnvName returns the environment variable that sets the named flag:
// "sync-interval" is ULLAGE_SYNC_INTERVAL.
func EnvName(flagName string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// Parse sets the flags of fs from args. Flags that args do not set are set from
// the environment, which lookup reads (os.LookupEnv). It returns one error for each
// bad value, so a user can fix all of them at once. The errors include
// [flag.ErrHelp] if args ask for help. Flags may be before and after the other
// arguments, which are in fs.Args afterwards; "--" ends the flags.
func Parse(fs *flag.FlagSet, args []string, lookup func(string) (string, bool)) []error {
	var names []string
	var bad []error
	for len(args) > 0 {
		var errs []error
		args, errs = ParseLeading(fs, args)
		bad = append(bad, errs...)
		switch {
		case slices.Contains(errs, flag.ErrHelp):
			return bad
		case len(args) > 0 && args[0] == "--":
			names, args = append(names, args[1:]...), nil
		case len(args) > 0:
			names, args = append(names, args[0]), args[1:]
		}
	}
	_ = fs.Parse(append([]string{"--"}, names...)) // cannot fail: no flags are left
	return append(bad, parseEnv(fs, lookup)...)
}

// ParseLeading sets the flags of fs at the beginning of args. It returns the other arguments,
// the first of which is not a flag or is "--", and one error for each bad value.
func ParseLeading(fs *flag.FlagSet, args []string) (rest []string, bad []error) {
	fs.Init(fs.Name(), flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		own := min(Arguments(fs, args[0]), len(args))
		if err := fs.Parse(args[:own]); err != nil {
			bad = append(bad, describe(fs, err))
			if errors.Is(err, flag.ErrHelp) {
				return nil, bad
			}
		}
		args = args[own:]
	}
	return args, bad
}

// Arguments returns how many arguments a flag of fs takes, including itself: two if its value is
// the next argument.
func Arguments(fs *flag.FlagSet, arg string) int {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	f := fs.Lookup(name)
	if f == nil {
		return 1 // not a flag of ours, or "--name=value"
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return 1
	}
	return 2
}

func parseEnv(fs *flag.FlagSet, lookup func(string) (string, bool)) []error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var bad []error
	fs.VisitAll(func(f *flag.Flag) {
		name := EnvName(f.Name)
		text, ok := lookup(name)
		if !ok || given[f.Name] {
			return
		}
		if err := fs.Set(f.Name, text); err != nil {
			reset(f)
			bad = append(bad, fmt.Errorf("invalid value %q for %s: %s", text, name, hint(f, err.Error())))
		}
	})
	return bad
}

// shortestGuess is how many letters the name of a flag must have to be suggested: almost any
// two shorter names are similar.
const shortestGuess = 4

// Misspelt returns an error for each variable of environ (os.Environ) that begins with
// [EnvPrefix], sets none of the named flags, and is similar to a variable that sets one. Other
// variables are ignored: Kubernetes sets ULLAGE_SERVICE_HOST and ULLAGE_PORT for a Service
// named ullage.
func Misspelt(environ, flagNames []string) []error {
	known := slices.DeleteFunc(slices.Clone(flagNames), func(name string) bool { return len(name) < shortestGuess })
	var bad []error
	for _, variable := range environ {
		variable, _, _ = strings.Cut(variable, "=")
		word, ours := strings.CutPrefix(variable, EnvPrefix)
		if !ours || slices.ContainsFunc(flagNames, func(name string) bool { return EnvName(name) == variable }) {
			continue
		}
		if guess := Nearest(strings.ReplaceAll(word, "_", "-"), known); guess != "" {
			bad = append(bad, fmt.Errorf("%s is not a setting and is ignored; did you mean %s?", variable, EnvName(guess)))
		}
	}
	return bad
}

// badValue matches the flag package's error for a bad value.
var badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-([^:]+): (.*)$`)

// describe turns an error of the flag package into one that spells the flag as our help does
// and says how to write the value. It resets a flag with a bad value to its default, so that
// later checks do not report the value again.
func describe(fs *flag.FlagSet, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if m := badValue.FindStringSubmatch(text); m != nil {
		if f := fs.Lookup(m[2]); f != nil {
			reset(f)
			return fmt.Errorf("invalid value %s for %s: %s", m[1], dashes(m[2]), hint(f, m[3]))
		}
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("flag needs an argument: %s", dashes(name))
	}
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Errorf("unknown flag %s%s", dashes(name), guessFlag(name, Names(fs)))
	}
	return err
}

// guessFlag suggests the known flag that is nearest to an unknown one. All names of one letter are
// similar, so it neither guesses for such a name nor suggests one.
func guessFlag(name string, known []string) string {
	known = slices.DeleteFunc(known, func(k string) bool { return len(k) < 2 })
	if len(name) < 2 {
		return ""
	}
	return DidYouMean(name, "--", known)
}

// Names returns the names of the flags of fs.
func Names(fs *flag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// reset sets a flag to its default.
func reset(f *flag.Flag) { _ = f.Value.Set(f.DefValue) }

// hint replaces the flag package's "parse error" for a boolean value with how to write the value.
func hint(f *flag.Flag, text string) string {
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() && text == "parse error" {
		return "write true or false"
	}
	return text
}

// A Row describes one flag for a help text or a reference table.
type Row struct {
	Flag    string // with its dashes and its placeholder: "--source DIR"
	Default string // empty for a flag without a default
	Env     string
	Usage   string
}

// Rows describes the flags of fs in lexical order. The placeholder of a flag
// is the back-quoted word in its usage, as in the flag package.
func Rows(fs *flag.FlagSet) []Row {
	var rows []Row
	fs.VisitAll(func(f *flag.Flag) {
		placeholder, usage := flag.UnquoteUsage(f)
		r := Row{Flag: dashes(f.Name), Default: shortDuration(f.DefValue), Env: EnvName(f.Name), Usage: usage}
		if placeholder != "" {
			r.Flag += " " + placeholder
		}
		rows = append(rows, r)
	})
	return rows
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// shortDuration drops the zeros that a [time.Duration] prints: 168h, not
// 168h0m0s. Any other text stays as it is.
func shortDuration(text string) string {
	if _, err := time.ParseDuration(text); err != nil {
		return text
	}
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// A Group is a list of flags under one title of the help.
type Group struct {
	Title string
	Flags func(fs *flag.FlagSet)
}

// Declare declares the flags of the groups on fs.
func Declare(fs *flag.FlagSet, groups []Group) {
	for _, g := range groups {
		g.Flags(fs)
	}
}

// helpWidth is the most columns of a help text of flags.
const helpWidth = 80

// PrintGroups writes a help text for the flags of the groups, each under its title.
func PrintGroups(w io.Writer, groups []Group) {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n", g.Title)
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		g.Flags(fs)
		PrintFlags(w, fs)
	}
}

// PrintFlags writes a help text for the flags of fs.
func PrintFlags(w io.Writer, fs *flag.FlagSet) {
	for _, r := range Rows(fs) {
		words := strings.Fields(r.Usage)
		if r.Default != "" && r.Default != "false" {
			words = append(words, fmt.Sprintf("(default %s)", r.Default)) // one word, which is not broken
		}
		fmt.Fprintf(w, "  %s\n", r.Flag)
		for _, line := range wrap(words, helpWidth-len(helpIndent)) {
			fmt.Fprintf(w, "%s%s\n", helpIndent, line)
		}
	}
}

const helpIndent = "      "

// wrap puts words into lines of at most width characters. A longer word has a line of its own.
func wrap(words []string, width int) (lines []string) {
	line := ""
	for _, word := range words {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
