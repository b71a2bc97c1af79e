package attach

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/ul"
)

const (
	maxList    = maxReply
	maxOutputs = 256
	filePrefix = "file="
	listHeader = "Log output configuration:\n"
)

// If a JDK before 20 lists a selection of lossLen bytes or more, an item may be missing although
// the selection looks well-formed. Such a JVM writes each item into a buffer of 256 bytes, doubled
// as needed. If the text so far fills the buffer to the last byte, the comma overwrites the final
// NUL. The first attempt to write the next item then fails and leaves a NUL in place of the comma,
// at offset 255 (or 511). A later attempt writes the item after that NUL, so it is not listed. If
// there is not even room for the tags of an item, a "=" replaces a comma, and the tags may be
// missing. The latter can happen at about 240 bytes or more, and the result is never well-formed.
// OpenJDK fixed both bugs with JDK-8294362.
const lossLen = 255

// Output is one log output as VM.log lists it. All texts are verbatim.
type Output struct {
	Index        int    // changes when an earlier output is deleted: address the output by Name
	Name         string // "stdout", "stderr" or "file=/var/log/jvm/gc-%p.log", unexpanded
	Selection    string // "all=off,gc*=info"
	Decorators   string // "uptime,level,tags" or "none"
	Options      string // "filecount=2,filesize=0B,async=false", may be empty
	Reconfigured bool   // reconfigured at run time, by any process
	Err          error  // why the output was not understood or must not be reconfigured
}

// File returns the path of a file output as the JVM's command line has it, and "" for stdout and
// stderr.
func (o Output) File() string {
	path, ok := strings.CutPrefix(o.Name, filePrefix)
	if !ok {
		return ""
	}
	return path
}

// FileOutput returns the name of the output that writes to the file at a path.
func FileOutput(path string) string { return filePrefix + path }

// HasLevel reports whether each line of the output shows its level.
func (o Output) HasLevel() bool {
	return slices.Contains(strings.Split(o.Decorators, ","), ul.LevelDecorator.String())
}

// OnNoDisk reports whether a path is that of a pipe, a terminal or /dev/null. A log to /dev/stdout
// or /proc/1/fd/1 is written to the output of a container.
func OnNoDisk(file string) bool {
	return strings.HasPrefix(file, "/proc/") || strings.HasPrefix(file, "/dev/fd/") || slices.Contains([]string{"/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty"}, file)
}

// ParseList reads the reply to VM.log list, of at most 256 KiB and 256 outputs,
// as JDK 17, 21 and 25 write it:
//
//	#<n>: <name> all=<level>(,<tags>[*]=<level>)* (none|<decorator>(,<decorator>)*)[ <k=v,...>][ (reconfigured)]
//
// If an output does not have exactly that form, it is returned with Err and with its readable parts. For any
// other output, [Configure] can make a command unless the command would be too long. ParseList itself fails only if
// there is no section "Log output configuration:" that begins with an output, or if the limits are exceeded.
func ParseList(text string) ([]Output, error) {
	if len(text) > maxList {
		return nil, fmt.Errorf("parse VM.log list: the reply has %d bytes, at most %d are allowed", len(text), maxList)
	}
	// Use the first occurrence: names, which may contain anything, follow it.
	_, section, ok := strings.Cut("\n"+text, "\n"+listHeader)
	if !ok {
		return nil, fmt.Errorf("parse VM.log list: the reply has no section %q", strings.TrimSpace(listHeader))
	}
	var outputs []Output
	for line := range strings.SplitSeq(strings.TrimSuffix(section, "\n"), "\n") {
		o, ok := parseOutput(line)
		switch {
		case ok && len(outputs) == maxOutputs:
			return nil, fmt.Errorf("parse VM.log list: it has more than %d outputs", maxOutputs)
		case ok:
			outputs = append(outputs, o)
		case len(outputs) == 0:
			return nil, errors.New("parse VM.log list: it does not begin with an output")
		default:
			outputs[len(outputs)-1].fail(errors.New("the line after this output is not an output: the name of this output may contain a newline"))
		}
	}
	checkOrder(outputs)
	return outputs, nil
}

// checkOrder sets Err for every output whose index differs from its position in the list. If the
// index is that of an earlier position, checkOrder also sets Err for the output at that position. A
// name with newlines can fake whole outputs.
func checkOrder(outputs []Output) {
	for i := range outputs {
		if at := outputs[i].Index; at != i {
			err := fmt.Errorf("output #%d is listed at position %d: a name may contain a newline", at, i)
			outputs[i].fail(err)
			if at < i {
				outputs[at].fail(err)
			}
		}
	}
}

// fail sets Err, unless Err is set already.
func (o *Output) fail(err error) {
	if o.Err == nil {
		o.Err = err
	}
}

// parseOutput parses a line of the list. It returns false if the line does not
// begin like an output.
func parseOutput(line string) (Output, bool) {
	rest, ok := strings.CutPrefix(line, " #")
	digits, rest, found := strings.Cut(rest, ": ")
	index, err := strconv.ParseUint(digits, 10, 16)
	// Only the canonical form of the index is valid: no leading zero.
	if !ok || !found || err != nil || strconv.FormatUint(index, 10) != digits {
		return Output{}, false
	}
	o := Output{Index: int(index)}
	if !o.split(rest) {
		o.Err = errors.New("its line does not end with a selection, decorators and options")
		return o, true
	}
	o.Err = o.check()
	return o, true
}

// split splits the text from its end. Any other way would be ambiguous, because a name can contain
// anything. The parts after the name contain no space, and only the options contain a "=".
func (o *Output) split(text string) bool {
	text, reconfigured := strings.CutSuffix(text, " (reconfigured)")
	text, decorators := cutLast(text)
	options := ""
	if strings.Contains(decorators, "=") {
		options = decorators
		text, decorators = cutLast(text)
	}
	name, selection := cutLast(text)
	if !areOptions(options) || !areDecorators(decorators) || !strings.HasPrefix(selection, "all=") {
		return false
	}
	o.Name, o.Selection, o.Decorators, o.Options, o.Reconfigured = name, selection, decorators, options, reconfigured
	return true
}

// cutLast cuts text at its last space. If there is no space, last is "".
func cutLast(text string) (before, last string) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// check returns why the output must not be reconfigured, or nil. If an output passes, a JVM can
// read a command made from it in only one way.
func (o *Output) check() error {
	if err := checkName(o.Name); err != nil {
		return err
	}
	if err := checkListed(o.Selection); err != nil {
		return err
	}
	folds := strings.HasPrefix(o.Options, "foldmultilines=") || strings.Contains(o.Options, ",foldmultilines=")
	switch {
	case !areDecorators(o.Decorators):
		return fmt.Errorf("decorators %.80q are not as the JVM lists them", o.Decorators)
	case !areOptions(o.Options):
		return fmt.Errorf("options %.80q are not as the JVM lists them", o.Options)
	case len(o.Selection) >= lossLen && !folds:
		return fmt.Errorf("its selection has %d bytes, and JDK 17 may omit parts of a selection of %d bytes or more: use wildcards in -Xlog, or a newer JDK",
			len(o.Selection), lossLen)
	case o.Selection == "all=off" && o.File() != "":
		return errors.New("it is off: restoring it would make the JVM delete the output")
	}
	return nil
}

// checkListed returns why text is not a selection in the form of VM.log list, or nil. That form is
// the level of all tag sets, followed by the exceptions. A level may be off.
func checkListed(text string) error {
	rest := text
	for i := 0; rest != ""; i++ {
		var item string
		item, rest, _ = strings.Cut(rest, ",")
		tags, level, _ := strings.Cut(item, "=")
		_, err := ul.ParseLevel(level)
		if err != nil && level != "off" || ask.CheckTags(tags) != nil || (i == 0) != (tags == "all") {
			return fmt.Errorf("item %.80q of its selection is damaged (JDK 17 damages long items): use wildcards in -Xlog, or a newer JDK", item)
		}
	}
	if text == "" || strings.HasSuffix(text, ",") {
		return errors.New("its selection is empty or ends with a comma")
	}
	return nil
}

// areDecorators reports whether text is a set of decorators in the order in
// which VM.log lists them.
func areDecorators(text string) bool {
	if len(text) > len((ul.Tags<<1 - 1).String()) {
		return false
	}
	var set ul.Decorator
	for name := range strings.SplitSeq(text, ",") {
		for d := ul.Time; d <= ul.Tags; d <<= 1 {
			if d.String() == name {
				set |= d
			}
		}
	}
	return set.String() == text
}

// areOptions reports whether text is "" or k=v,k=v. Options are never sent back to the JVM that
// listed them.
func areOptions(text string) bool {
	if text == "" {
		return true
	}
	for option := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(option, "=")
		if !ask.IsTag(key) || value == "" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			return false
		}
	}
	return true
}
