package jvm

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

func streamOf(p *Process) string { return fmt.Sprintf("gc-%d.log", p.PID()) }

var jvmDrop = regexp.MustCompile(`(?m)^\[.*\] +(\d+) messages dropped due to async logging$`)

// With -Xlog:async, the JVM itself drops lines for which its buffer has no room, and reports their number in the
// log. The sidecar counts them.
func TestDropsOfTheJVMAreCounted(t *testing.T) {
	alongsideFrom(t, asyncLogging, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		flags := r.outputs(Output{Selection: "all=trace", File: "all.log"})[:1]
		r.run(append(flags, "-Xlog:async", "-XX:AsyncLogBufferSize=102400", "-XX:+UseSerialGC"), "Throw", "2000", "20", "1e9")
		r.emptied()
		counted := r.metric(`ullage_jvm_dropped_lines_total{stream="all.log"}`)
		r.stop()
		said, reports := 0, jvmDrop.FindAllSubmatch(r.persisted("all.log"), -1)
		for _, report := range reports {
			n, err := strconv.Atoi(string(report[1]))
			if err != nil {
				t.Fatal(err)
			}
			said += n
		}
		t.Logf("the JVM reported dropped lines %d times, %d lines in total", len(reports), said)
		if said == 0 || counted != float64(said) {
			t.Errorf("%v dropped lines are counted, the JVM reported %d; want the same number, and more than 0", counted, said)
		}
	})
}
