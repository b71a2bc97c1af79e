package jvm

import (
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// lineWith returns the first line of text that contains part.
func lineWith(t *testing.T, text, part string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	t.Fatalf("no line has %q:\n%s", part, text)
	return ""
}

const allDecorators = "time,utctime,uptime,timemillis,uptimemillis,timenanos,uptimenanos,hostname,pid,tid,level,tags"

// oddOutputs returns the flags of an application with unusual log outputs. The outputs whose names begin with
// "shipped" are shipped.
func oddOutputs(r *levelRig) []string {
	flags := []string{
		"-Xlog:gc=info:file=" + r.source + "/shipped one = 100%.log:uptime,level,tags:filecount=0",
		"-Xlog:all=warning,safepoint=info:file=" + r.source + "/shipped 'two' all=off.log:none:filecount=3,filesize=1M",
		"-Xlog:gc*=debug,safepoint*=trace:file=" + r.truth + "/own gc.log:" + allDecorators + ":filecount=0",
		"-Xlog:os*=info:file=" + r.truth + "/it's %p 5%.log:none",
		"-Xlog:gc+heap=trace,class+load=info:file=relative to it.log:pid,tags:filecount=2,filesize=64K",
		"-Xlog:gc=debug,logging=info:stdout:uptime,tags",
		"-Xlog:all=error:stderr:none",
	}
	if r.jdk.Version >= 21 {
		flags = append(flags, "-Xlog:exceptions=info:file="+r.truth+"/folded.log:time,tags:foldmultilines=true",
			"-Xlog:gc=info:file="+r.source+"/shipped folded.log:time,tags:foldmultilines=true,filecount=1,filesize=0")
	}
	return flags
}

// A raise changes only shipped outputs, never other outputs of the application. It leaves nothing behind. Outputs
// whose lines show no level are raised only by name.
func TestLevelsOfOddOutputs(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{dir: r.truth}, oddOutputs(r), "Churn", "600000", "5")
		before := jvm.configuration()
		r.bystander()
		for _, selection := range []string{"gc*=debug,safepoint=trace", "all=warning", "class+load=debug,os+thread*=trace,gc=error"} {
			r.log(0, "set", selection, "--for", "1h", "--stream", "shipped*")
			lab.Eventually(t, patience, "the JVM took "+selection, func() bool {
				l := r.levels()
				return len(l.JVMs) == 1 && l.JVMs[0].Applied == selection
			})
			raised := jvm.configuration()
			r.onlyShipped(before, raised)
			if n := changedLines(before, raised); n < 2 {
				t.Errorf("%s changes only %d outputs, want at least 2:\n%s", selection, n, raised)
			}
		}
		r.log(0, "set", "gc*=debug", "--for", "1h")
		raised := jvm.configuration()
		r.onlyShipped(before, raised)
		if n := changedLines(before, raised); n != 1 || !strings.Contains(lineWith(t, raised, "/shipped one"), "gc*=debug") {
			t.Errorf("without a name, %d outputs are raised, want only /shipped one:\n%s", n, raised)
		}
		if l := r.levels(); len(l.Errors) > 0 {
			t.Errorf("errors: %q, want none", l.Errors)
		}
		r.log(0, "reset")
		r.configured(jvm, before)
		if is := jvm.jcmd(); is != before {
			t.Errorf("the configuration is\n%swant the same as before\n%s", is, before)
		}
	})
}

// onlyShipped requires that only selections of shipped outputs have changed.
func (r *levelRig) onlyShipped(before, raised string) {
	r.Helper()
	was, is := strings.Split(before, "\n"), strings.Split(raised, "\n")
	if len(was) != len(is) {
		r.Fatalf("the raised configuration is\n%swant as many lines as before\n%s", raised, before)
	}
	for i := range was {
		if was[i] != is[i] && (!strings.Contains(was[i], "/shipped ") || leaveOut(was[i]) != leaveOut(is[i])) {
			r.Errorf("a raised output is\n%s\nwant a change only in the selection of a shipped output; before it was\n%s", is[i], was[i])
		}
	}
}

// changedLines counts the lines of b that differ from the same line of a.
func changedLines(a, b string) (n int) {
	lines := strings.Split(a, "\n")
	for i, line := range strings.Split(b, "\n") {
		if line != lines[i] {
			n++
		}
	}
	return n
}

// leaveOut returns a line of the list without its selection.
func leaveOut(line string) string {
	begin := strings.LastIndex(line, " all=") + 1
	end := begin + strings.IndexByte(line[begin:], ' ')
	return line[:begin] + line[end:]
}

// JDKs before 20 omit parts of a selection of 255 bytes or more from their list. Such an output could not be
// restored, so it is not raised. Later JDKs list the whole selection.
func TestLevelsOfALongSelection(t *testing.T) {
	var items []string
	for _, tags := range []string{"heap", "ergo", "age", "alloc", "metaspace", "phases", "ref", "start", "task", "humongous", "region", "remset", "stats"} {
		items = append(items, "gc+"+tags+"*=warning")
	}
	selection := strings.Join(items, ",")
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{"-Xlog:" + selection + ":file=" + r.source + "/long.log", r.gcLog()}, "Churn", "600000", "0")
		before := jvm.configuration()
		r.want("safepoint*=debug", "1h")
		if jdk.Version >= 20 {
			r.selects(jvm, "safepoint*=debug")
		} else {
			lab.Eventually(t, patience, "the sidecar reports that it does not change the output", func() bool {
				return strings.Contains(strings.Join(r.levels().Errors, "\n"), "is not changed")
			})
			t.Log(r.levels().Errors)
			r.configured(jvm, before)
		}
		r.annotate(nil)
		r.configured(jvm, before)
		lab.Eventually(t, patience, "no error is left", func() bool { return len(r.levels().Errors) == 0 })
	})
}
