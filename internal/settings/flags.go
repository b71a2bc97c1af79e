package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// EnvPrefix begins the name of every environment variable that sets a flag.
const EnvPrefix = "ULLAGE_"

// EnvName returns the environment variable that sets the named flag:
// "sync-interval" is ULLAGE_SYNC_INTERVAL.
func EnvName(flagName string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// Parse sets the flags of fs from args and, for those that args leave alone,
// from the environment, which lookup reads (os.LookupEnv). It returns one error for
// each bad value, so a user can fix all of them at once. The errors include
// [flag.ErrHelp] if args ask for help. Arguments that are not flags stay in fs.Args.
func Parse(fs *flag.FlagSet, args []string, lookup func(string) (string, bool)) []error {
	fs.Init(fs.Name(), flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var bad []error
	for {
		err := fs.Parse(args)
		if err == nil {
			break
		}
		bad = append(bad, describe(fs, err))
		if errors.Is(err, flag.ErrHelp) {
			return bad
		}
		// The flag package has already stepped over the bad flag.
		args = fs.Args()
	}
	return append(bad, parseEnv(fs, lookup)...)
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

// badValue matches the flag package's error for a bad value.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value ".*" for (?:flag )?-([^:]+): (.*)$`)

// describe turns an error of the flag package into one that spells the flag as
// our help does and says how to write the value. A flag with a bad value gets
// its default back, so no later check reports its value again.
func describe(fs *flag.FlagSet, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if m := badValue.FindStringSubmatch(text); m != nil {
		if f := fs.Lookup(m[1]); f != nil {
			reset(f)
			text = strings.TrimSuffix(text, m[2]) + hint(f, m[2])
		}
	}
	for _, before := range []string{"for flag -", "not defined: -", "argument: -"} {
		text = strings.Replace(text, before, before+"-", 1)
	}
	text = strings.Replace(text, "for flag --", "for --", 1)
	text = strings.Replace(text, "flag provided but not defined: ", "unknown flag ", 1)
	return errors.New(text)
}

// reset gives a flag its default back.
func reset(f *flag.Flag) { _ = f.Value.Set(f.DefValue) }

// hint replaces the flag package's "parse error" by how to write the value.
func hint(f *flag.Flag, text string) string {
	getter, ok := f.Value.(flag.Getter)
	if text != "parse error" || !ok {
		return text
	}
	switch getter.Get().(type) {
	case time.Duration:
		return "write it like 500ms, 10s or 24h"
	case bool:
		return "write true or false"
	}
	return text
}

// A Row describes one flag for a help text or a reference table.
type Row struct {
	Flag    string // with its dashes and its placeholder: "--source DIR"
	Default string // empty where there is none
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

// PrintFlags writes a help text for the flags of fs.
func PrintFlags(w io.Writer, fs *flag.FlagSet) {
	for _, r := range Rows(fs) {
		fmt.Fprintf(w, "  %s\n      %s", r.Flag, strings.ReplaceAll(r.Usage, "\n", "\n      "))
		if r.Default != "" && r.Default != "false" {
			fmt.Fprintf(w, " (default %s)", r.Default)
		}
		fmt.Fprintln(w)
	}
}
