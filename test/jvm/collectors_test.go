package jvm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ullage/ullage/internal/line/ul"
	"github.com/ullage/ullage/test/lab"
)

// Each collector words its messages differently. JVMs with all the collectors log to one source, one
// after the other.
func TestEveryCollector(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		collectors, err := Collectors(jdk)
		if err != nil {
			t.Fatal(err)
		}
		if len(collectors) < 4 {
			t.Fatalf("only %d collectors, want at least 4: %v", len(collectors), collectors)
		}
		r := newRig(t, jdk, "64m")
		for _, c := range collectors {
			flags := r.outputs(Output{Selection: "gc*=debug", File: c.Name + ".log"})
			r.run(append(flags, c.Flags...), "Churn", "700", "300")
		}
		r.emptied()
		r.noLevelUnknown()
		r.stop()
		for _, c := range collectors {
			t.Run(c.Name, func(t *testing.T) {
				r := *r
				r.T = t
				persisted := r.persisted(c.Name + ".log")
				r.same(r.written(c.Name+".log"), persisted)
				kinds := r.classified(persisted)
				if kinds[ul.Text] > 0 || kinds[ul.Drop] > 0 {
					t.Errorf("kinds of lines: %v, want no lines of the kinds text and drop", kinds)
				}
			})
		}
	})
}

// noLevelUnknown requires that the sidecar recognised the level of every line.
func (r *rig) noLevelUnknown() {
	r.Helper()
	_, metrics, err := r.side.Get("/metrics")
	if err != nil {
		r.Fatal(err)
	}
	if !strings.Contains(metrics, "\nullage_persisted_lines_total{") {
		r.Error("no persisted lines are counted, want some")
	}
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "ullage_persisted_lines_total{") && strings.Contains(line, `level="unknown"`) {
			r.Error(line)
		}
	}
}

// classified requires that every line has a level, and counts their kinds.
func (r *rig) classified(text []byte) map[ul.Kind]int {
	r.Helper()
	kinds := map[ul.Kind]int{}
	var lines ul.Classifier
	for line := range bytes.Lines(text) {
		class := lines.Classify(bytes.TrimSuffix(line, newline))
		kinds[class.Kind]++
		if class.Level == ul.Unknown {
			r.Errorf("the line has no level, want one: %q", line)
		}
	}
	return kinds
}

// Every exception is a message of three lines. On JDK 17 and 21, the second and third line have no
// decorations at all.
func TestMessagesOfSeveralLines(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		flags := r.outputs(Output{Selection: "exceptions=info", File: "app.log", Decorations: "time,uptime,level,tags"})
		r.run(append(flags, "-XX:+UseSerialGC"), "Throw", "4000", "20", "1e9")
		r.emptied()
		r.noLevelUnknown()
		r.stop()
		persisted := r.persisted("app.log")
		r.identical(r.written("app.log"), persisted)
		kinds := r.classified(persisted)
		if kinds[ul.Continuation] < 2*4000 || kinds[ul.Text] > 0 {
			t.Errorf("the kinds of lines are %v; want at least %d continuations and no text", kinds, 2*4000)
		}
	})
}

// Each JVM has its own file, and so its own stream.
func TestSeveralJVMsAtOnce(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newRig(t, jdk, "64m")
		flags := append(r.outputs(Output{Selection: debug, File: "gc-%p.log"}), "-XX:+UseSerialGC")
		var running []*Process
		for range 3 {
			running = append(running, r.start(flags, "Churn", "1500", "100"))
		}
		for _, jvm := range running {
			if err := jvm.Wait(patience); err != nil {
				t.Fatal(err)
			}
		}
		r.emptied()
		r.stop()
		for _, jvm := range running {
			name := streamOf(jvm)
			r.same(r.written(name), r.persisted(name))
			if paths, err := lab.Segments(r.dest, name); err != nil || len(paths) != 1 {
				t.Errorf("%d segments of %s, want 1: %v", len(paths), name, err)
			}
		}
	})
}
