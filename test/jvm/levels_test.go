package jvm

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// gcLog returns the flag of a shipped output, with collections and safepoints at level info.
func (r *levelRig) gcLog() string {
	return Output{Selection: "gc*=info,safepoint=info", File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}.Flag()
}

// A person edits the annotation. Lines at the new level are persisted at once. When the time is over, the JVM has its
// earlier configuration again.
func TestLevelsRaiseByAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		from  int
		flags []string
	}{"synchronous": {0, nil}, "async": {asyncLogging, []string{"-Xlog:async"}}} {
		t.Run(name, func(t *testing.T) {
			alongsideFrom(t, tc.from, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk)
				jvm := r.listening(place{}, append(tc.flags, r.gcLog(), "-Xmn4m"), "Churn", "600000", "200")
				r.shipped("gc.log", "[gc")
				before := jvm.jcmd()
				asked := time.Now()
				r.want("gc*=debug,safepoint*=debug", "2s")
				r.shipped("gc.log", "[debug")
				t.Logf("the first new line was persisted after %s", time.Since(asked).Round(time.Millisecond))
				raised := jvm.configuration()
				r.configured(jvm, before)
				lasted := time.Since(asked)
				t.Logf("restored after %s", lasted.Round(time.Millisecond))
				if !strings.Contains(raised, "gc*=debug") || lasted < 2*time.Second {
					t.Errorf("raised for %s, want at least 2 s; want \"gc*=debug\" in\n%s", lasted, raised)
				}
				if is := jvm.jcmd(); is != before {
					t.Errorf("the configuration is\n%swant the same as before\n%s", is, before)
				}
			})
		})
	}
}

// The second raise replaces the first instead of adding to it.
func TestLevelsRaiseTwiceAndRemove(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{r.gcLog()}, "Churn", "600000", "0")
		before := jvm.configuration()
		r.want("gc*=trace,os+thread=debug", "1h")
		r.selects(jvm, "gc*=trace")
		r.want("safepoint*=debug", "1h")
		r.selects(jvm, "safepoint*=debug")
		if is := jvm.configuration(); strings.Contains(is, "gc*=trace") || strings.Contains(is, "os+thread") {
			t.Errorf("the first raise is still in effect, want only the second:\n%s", is)
		}
		r.annotate(nil)
		r.configured(jvm, before)
	})
}

// A JVM to which nothing has attached yet has no socket. The sidecar makes the JVM open one by SIGQUIT, but only once
// the JVM handles SIGQUIT: that signal would kill a JVM that is still starting. The JVM prints nothing about the
// signal.
func TestLevelsOfAJVMThatDoesNotListenYet(t *testing.T) {
	for name, flags := range map[string][]string{"default": nil, "without signals": {"-Xrs"}} {
		t.Run(name, func(t *testing.T) {
			alongside(t, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk)
				r.want("gc*=debug", "1h")
				lab.Eventually(t, patience, "the sidecar waits", func() bool { return len(r.levels().Errors) > 0 })
				jvm := r.launch(place{}, append(flags, r.gcLog()), "Churn", "600000", "0")
				r.raisedUntil()
				r.selects(jvm, "gc*=debug")
				r.annotate(nil)
				lab.Eventually(t, patience, "the raise is over", func() bool { return r.metric("ullage_level_restores_total") == 1 })
				is := jvm.configuration()
				jvm.Kill()
				if said := jvm.said.String(); said != "" {
					t.Errorf("the JVM said %q, want nothing", said)
				}
				r.stop()
				twin := r.launch(place{}, append(flags, r.gcLog()), "Churn", "600000", "0")
				r.hasLogged(twin)
				if was := twin.jcmd(); is != was {
					t.Errorf("the configuration is\n%swant the configuration of an untouched JVM\n%s", is, was)
				}
			})
		})
	}
}

// hasLogged waits until a JVM has opened its log: by then it handles SIGQUIT.
func (r *levelRig) hasLogged(p *listened) {
	r.Helper()
	lab.Eventually(r, patience, "the JVM logs", func() bool { return size(r.rig, filepath.Join(r.source, "gc.log")) > 0 })
}
