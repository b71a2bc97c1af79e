package attach

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
)

// MaxCommand is the greatest length of a command line in bytes. HotSpot's attach protocol accepts
// arguments of up to 1024 bytes, excluding the NUL. If an argument is longer, HotSpot closes the
// connection without a reply (JDK 17 and 25).
const MaxCommand = 1024

// maxMerged is the greatest number of items in the selection of a raised output. HotSpot aborts
// ("Cannot find maximal selection") if the items give the same level to all tag sets except the one
// without tags, which only "all" selects, and that one has a different level. A command of 56 items
// and 948 bytes aborted 17.0.15. The abort needs an item for each tag set that consists of a single
// tag: JDK 17 has 43 such tag sets, JDK 25 has 54. A listed selection alone never causes the abort.
const maxMerged = 32

// Command is one VM.log command line, or a fixed text of other commands, such as that of [Describe].
// Only the functions of this package create a Command, from parsed values, so that it can never
// contain any other command. The zero value is not a command.
type Command struct {
	line string
	dump bool // the answer is long
}

// String returns the command line, without a newline.
func (c Command) String() string { return c.line }

// List is the command that lists the log configuration. [ParseList] parses the reply.
func List() Command { return Command{line: "VM.log list"} }

// Rotate is the command that rotates every file output of the JVM that has archives.
func Rotate() Command { return Command{line: "VM.log rotate"} }

// Threads is the command that prints the stack of each thread. The JVM stops for that.
func Threads() Command { return Command{"Thread.print", true} }

// Histogram is the command that prints the number of objects of each class and their bytes. The JVM
// stops while it walks the heap. Unreachable objects are included: to leave them out, the JVM would
// collect the whole heap first.
func Histogram() Command { return Command{"GC.class_histogram -all", true} }

// Flags is the command that prints the flags that differ from HotSpot's defaults, including flags
// that the JVM has chosen itself. Their values may contain secrets: pass them to mark.Flags.
func Flags() Command { return Command{"VM.flags", true} }

// Configure sets base's output to base's own selection, followed by raise. The current selection
// of the output does not matter, because a listed selection begins with "all=". With the zero
// Selection, Configure restores base. It does not change options.
//
// Configure fails if base.Err is set, if base does not have the form that [ParseList] returns, if
// raise and base have more than 32 items together, or if the command would exceed [MaxCommand].
// Every raise that succeeds can be restored, because the command for the restore is shorter.
func Configure(base Output, raise ask.Selection) (Command, error) {
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
		return Command{}, fmt.Errorf("configure output %.200q: the command has %d bytes, but the JVM accepts at most %d: raise fewer items, with wildcards",
			base.Name, len(line), MaxCommand)
	}
	return Command{line: line}, nil
}

// Create makes a JVM create a file output with a selection. The JVM must not already list an output
// with that name: otherwise, the JVM would add the selection to that output's own and refuse the
// options. The options have the form in which the JVM lists them.
func Create(o Output, what ask.Selection) (Command, error) {
	err := o.Err
	switch {
	case err != nil:
	case o.File() == "" || what.IsZero():
		err = errors.New("it is not a file with a selection")
	case !areDecorators(o.Decorators) || !areOptions(o.Options) || o.Options == "":
		err = fmt.Errorf("decorators %.80q or options %.80q are not as the JVM lists them", o.Decorators, o.Options)
	default:
		err = checkName(o.Name)
	}
	if err != nil {
		return Command{}, fmt.Errorf("create output %.200q: %w", o.Name, err)
	}
	line := `VM.log output="` + o.Name + `" what=` + what.String() + " decorators=" + o.Decorators + " output_options=" + o.Options
	if len(line) > MaxCommand {
		return Command{}, fmt.Errorf("create output %.200q: the command has %d bytes, but the JVM accepts at most %d: name fewer items, with wildcards",
			o.Name, len(line), MaxCommand)
	}
	return Command{line: line}, nil
}

// Delete makes a JVM close and forget a file output. The file remains. The JVM must list an output
// with that name: otherwise, it would open a file with that name and rename an existing file.
func Delete(name string) (Command, error) {
	err := checkName(name)
	if err == nil && !strings.HasPrefix(name, filePrefix) {
		err = errors.New("it is not a file")
	}
	line := `VM.log output="` + name + `" what=all=off`
	if err == nil && len(line) > MaxCommand {
		err = fmt.Errorf("the command has %d bytes, but the JVM accepts at most %d", len(line), MaxCommand)
	}
	if err != nil {
		return Command{}, fmt.Errorf("delete output %.200q: %w", name, err)
	}
	return Command{line: line}, nil
}

// checkName accepts the names that an output of a JVM can have and that can be written between
// double quotes. A quote after a backslash would be read as part of the name. No name contains a
// double quote: -Xlog and VM.log remove or refuse it.
func checkName(name string) error {
	path, isFile := strings.CutPrefix(name, filePrefix)
	switch {
	case name == "stdout" || name == "stderr":
		return nil
	case !isFile || path == "":
		return fmt.Errorf("output %.200q is neither stdout, stderr nor a file", name)
	case strings.Contains(name, `"`):
		return fmt.Errorf("output %.200q has a double quote in its name, which no command can contain: rename the file in -Xlog", name)
	case strings.HasSuffix(name, `\`):
		return fmt.Errorf("output %.200q has a backslash at the end of its name, which no command can contain: rename the file in -Xlog", name)
	}
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == 0x7f {
			return fmt.Errorf("output %.200q has a control character in its name: rename the file in -Xlog", name)
		}
	}
	return nil
}
