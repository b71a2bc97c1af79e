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

// The JVM itself drops lines that its buffer for -Xlog:async cannot take, and reports that in the log. The sidecar
// counts the reported lines.
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
		t.Logf("the JVM reports %d times that it dropped lines, %d in all", len(reports), said)
		if said == 0 || counted != float64(said) {
			t.Errorf("%v counted, the JVM said %d", counted, said)
		}
	})
}
