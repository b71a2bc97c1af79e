package attach

import (
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/selection"
)

// MaxCommand is the greatest length of a command line in bytes. HotSpot's
// attach protocol takes arguments of up to 1024 bytes without their NUL, and
// closes the connection without a reply on longer ones (JDK 17 and 25).
const MaxCommand = 1024

// maxMerged is the greatest number of items in the selection of a raised
// output. HotSpot aborts ("Cannot find maximal selection") if its items give
// one level to all tag sets but the one without tags, which only "all" selects,
// and that has another: one command of 56 items and 948 bytes did it to 17.0.15.
// It takes an item for each tag set of a single tag, which JDK 17 has 43 of and
// JDK 25 has 54. A listed selection alone never does it.
const maxMerged = 32

// Command is one VM.log command line. It is made by the functions here alone,
// from parsed values, so that it is one command and never another than VM.log.
// The zero value is not a command.
type Command struct{ line string }

// String returns the command line, without a newline.
func (c Command) String() string { return c.line }

// List asks for the log configuration. [ParseList] reads the reply.
func List() Command { return Command{"VM.log list"} }

// Rotate rotates every file output of the JVM that keeps archives.
func Rotate() Command { return Command{"VM.log rotate"} }

// Configure sets base's output to base's own selection with raise on top of it.
// It does so whatever the output is set to now, since a listed selection begins
// with "all=". With the zero Selection it restores base. Options stay.
//
// It fails if base.Err is set, if base is not as [ParseList] returns it, which
// it checks again, if a raise makes more than 32 items with those of base, and
// if the command gets longer than [MaxCommand]. What can be raised can be
// restored: that command is shorter.
func Configure(base Output, raise selection.Selection) (Command, error) {
	err := base.Err
	if err == nil {
		err = base.check()
	}
	if err != nil {
		return Command{}, fmt.Errorf("configure output %.200q: %w", base.Name, err)
	}
	what := base.Selection
	if !raise.IsZero() {
		what += "," + raise.String()
		if n := 1 + strings.Count(what, ","); n > maxMerged {
			return Command{}, fmt.Errorf("configure output %.200q: its selection and the raise have %d items, at most %d are safe for the JVM: "+
				"use fewer, with wildcards such as gc*", base.Name, n, maxMerged)
		}
	}
	line := `VM.log output="` + base.Name + `" what=` + what + " decorators=" + base.Decorators
	if len(line) > MaxCommand {
		return Command{}, fmt.Errorf("configure output %.200q: the command has %d bytes and the JVM takes at most %d: raise fewer items, with wildcards",
			base.Name, len(line), MaxCommand)
	}
	return Command{line}, nil
}

// checkName takes the names that the JVM can have and that fit between double
// quotes. It reads a quote behind a backslash as part of the name. A name with
// a double quote in it can't be: -Xlog and VM.log take it off or refuse it.
func checkName(name string) error {
	path, isFile := strings.CutPrefix(name, filePrefix)
	switch {
	case name == "stdout" || name == "stderr":
		return nil
	case !isFile || path == "":
		return fmt.Errorf("output %.200q is neither stdout, stderr nor a file", name)
	case strings.Contains(name, `"`):
		return fmt.Errorf("output %.200q has a double quote in its name, which no command can carry: rename the file in -Xlog", name)
	case strings.HasSuffix(name, `\`):
		return fmt.Errorf("output %.200q has a backslash at its end, which no command can carry: rename the file in -Xlog", name)
	}
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == 0x7f {
			return fmt.Errorf("output %.200q has a control character in its name: rename the file in -Xlog", name)
		}
	}
	return nil
}
