package attach

import (
	"strings"
	"time"

	"github.com/ullage/ullage/internal/base/printable"
	"github.com/ullage/ullage/internal/line/mark"
)

// Description is how a JVM describes itself. The JVM chose the texts: they are printable and
// bounded, but otherwise untrusted. Fields that a JVM did not report are empty.
type Description struct {
	Main      string // the main class, module or jar, without arguments
	Version   string // "17.0.15+6-Debian-1deb12u1"
	Collector string // "G1"; also empty for a collector that this package does not know
	Uptime    time.Duration
	Flags     string // as mark.Flags returns them
}

// maxDescribed bounds each text of a Description in bytes, and maxFlags bounds its Flags. maxFlags leaves room for the
// flags of the injector, which come first, and for flags that say what the JVM does when its heap is full.
const (
	maxDescribed = 128
	maxFlags     = 1024
)

// Describe is the command that makes a JVM describe itself. [ParseDescription] parses the reply.
// The arguments of the JVM, which may contain anything, come last.
func Describe() Command {
	return Command{line: "VM.uptime\nVM.version\nVM.flags\nVM.command_line"}
}

// collectors are the flags of HotSpot that select the collector.
var collectors = []struct{ flag, name string }{
	{"UseG1GC", "G1"},
	{"UseZGC", "ZGC"},
	{"UseParallelGC", "Parallel"},
	{"UseSerialGC", "Serial"},
	{"UseShenandoahGC", "Shenandoah"},
	{"UseConcMarkSweepGC", "CMS"},
	{"UseEpsilonGC", "Epsilon"},
}

// ParseDescription parses the reply to [Describe], as JDK 17 and 25 write it. It ignores lines that
// it does not recognize, and everything after a command that the JVM does not know.
func ParseDescription(text string) Description {
	var d Description
	head, args, _ := strings.Cut("\n"+text, "\nVM Arguments:\n")
	for line := range strings.SplitSeq(head, "\n") {
		if seconds, ok := strings.CutSuffix(line, " s"); ok && d.Uptime == 0 {
			d.Uptime = uptime(seconds)
		}
		if _, version, ok := strings.Cut(line, " version "); ok && d.Version == "" {
			d.Version = printable.Escaped(strings.TrimSpace(version), maxDescribed)
		}
		if strings.HasPrefix(line, "-XX:") && d.Collector == "" {
			d.Collector = collector(line)
		}
	}
	const command, options = "\njava_command: ", "\njvm_args: "
	args = "\n" + args
	if _, rest, ok := strings.Cut(args, options); ok {
		line, _, _ := strings.Cut(rest, "\n")
		d.Flags = printable.Escaped(mark.Flags(line), maxFlags)
	}
	if i := strings.LastIndex(args, command); i >= 0 {
		line, _, _ := strings.Cut(args[i+len(command):], "\n")
		main, _, _ := strings.Cut(line, " ")
		d.Main = printable.Escaped(main, maxDescribed)
	}
	return d
}

// uptime parses the seconds in the reply to VM.uptime.
func uptime(seconds string) time.Duration {
	d, err := time.ParseDuration(seconds + "s")
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// collector returns the collector that a line of VM.flags names.
func collector(flags string) string {
	for flag := range strings.FieldsSeq(flags) {
		for _, c := range collectors {
			if flag == "-XX:+"+c.flag {
				return c.name
			}
		}
	}
	return ""
}
