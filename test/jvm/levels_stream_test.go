package jvm

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage/ullage/test/lab"
)

// streams returns the flags of three shipped outputs. The lines of the last one show no level.
func (r *levelRig) streams() []string {
	return []string{
		Output{Selection: "gc*=info", File: filepath.Join(r.source, "gc-%p.log"), Decorations: "uptime,level,tags"}.Flag(),
		Output{Selection: "safepoint=info", File: filepath.Join(r.source, "safe-%t.log"), Decorations: "time,level"}.Flag(),
		Output{Selection: "gc=info", File: filepath.Join(r.source, "plain.log"), Decorations: "uptime"}.Flag(),
	}
}

// A raise of one stream does not change the others. A raise of another stream replaces it. A raise without a
// stream omits outputs whose lines show no level.
func TestLevelsOfOneStream(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, r.streams(), "Churn", "600000", "5")
		before := jvm.configuration()
		r.bystander()
		for _, c := range []struct {
			stream string
			raised []string
		}{
			{fmt.Sprintf("gc-%d.log", jvm.PID()), []string{"gc-%p.log"}},
			{"safe-*", []string{"safe-%t.log"}},
			{"plain.log", []string{"plain.log"}},
			{"", []string{"gc-%p.log", "safe-%t.log"}},
		} {
			args := []string{"gc*=debug", "--for", "1h"}
			if c.stream != "" {
				args = append(args, "--stream", c.stream)
			}
			out, _ := r.log(0, "set", args...)
			for _, name := range c.raised {
				said(t, lineWith(t, out, name), "gc*=debug")
			}
			is := jvm.configuration()
			if n := changedLines(before, is); n != len(c.raised) {
				t.Errorf("%q: %d outputs are raised, want %d:\n%s", c.stream, n, len(c.raised), is)
			}
			for _, name := range c.raised {
				if !strings.Contains(lineWith(t, is, name), "gc*=debug") {
					t.Errorf("%q: %s is not raised, want it raised:\n%s", c.stream, name, is)
				}
			}
			list, _ := r.log(0, "list")
			if n := strings.Count(list, "yes, raised\n"); n != len(c.raised) {
				t.Errorf("%q: %d outputs are listed as raised, want %d:\n%s", c.stream, n, len(c.raised), list)
			}
		}
		_, complaint := r.log(1, "set", "gc*=trace", "--stream", "nosuch.log")
		said(t, complaint, `is the stream to raise, "nosuch.log"`, "plain.log")
		if is := jvm.configuration(); changedLines(before, is) != 2 {
			t.Errorf("the earlier raise is no longer in effect, want 2 raised outputs:\n%s", is)
		}
		r.log(0, "reset")
		r.configured(jvm, before)
		if is := jvm.jcmd(); is != before {
			t.Errorf("the configuration is\n%swant the same as before\n%s", is, before)
		}
	})
}

// The list names a JVM's main class, version and collector, whether it comes from a sidecar or from the JVM.
func TestLevelsCommandListNamesTheJVM(t *testing.T) {
	collectors := map[string]string{"-XX:+UseSerialGC": "Serial", "-XX:+UseG1GC": "G1", "-XX:+UseParallelGC": "Parallel"}
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := newLevelRig(t, jdk, "--attach", "process-namespace")
		pids := map[int]string{}
		for flag, name := range collectors {
			pids[r.listening(place{}, []string{r.ownLog(), "-XX:-UseSerialGC", flag}, "Churn", "600000", "0").PID()] = name
		}
		for _, how := range []string{"without a sidecar", "with one"} {
			text, _ := r.log(0, "list", "--json")
			var outputs []struct {
				PID                      int
				Main, Version, Collector string
				UptimeSeconds            float64
			}
			if err := json.Unmarshal([]byte(text), &outputs); err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			if len(outputs) < len(pids) {
				t.Fatalf("%s: %d outputs are listed, want at least %d:\n%s", how, len(outputs), len(pids), text)
			}
			for _, o := range outputs {
				if !strings.Contains(o.Main, "Churn") || !strings.HasPrefix(o.Version, fmt.Sprint(jdk.Version)) || o.Collector != pids[o.PID] || o.UptimeSeconds <= 0 {
					t.Errorf("%s: got %+v, want a running Churn with the collector %s", how, o, pids[o.PID])
				}
			}
			table, _ := r.log(0, "list")
			said(t, table, "COLLECTOR", "Churn", "Parallel")
			if how == "without a sidecar" {
				r.up()
				r.bystander()
			}
		}
	})
}
