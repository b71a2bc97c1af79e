package jvm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/test/lab"
)

// The sidecar ends while the JVM is raised, and is started again. A restart neither prolongs nor forgets a raise.
func TestLevelsAfterARestart(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{r.gcLog()}, "Churn", "600000", "0")
		before := jvm.configuration()
		for name, test := range map[string]func(*levelRig, *listened, string){
			"goes on to its time": goesOn, "annotation removed meanwhile": removed, "time over meanwhile": timeOver,
			"asked to end": drained, "another one ends": besideAnother,
		} {
			t.Run(name, func(t *testing.T) {
				r, own := *r, *r.rig
				r.rig = &own
				r.T = t
				jvm := *jvm
				jvm.r = &r
				if r.side.Exited() {
					r.up()
				}
				test(&r, &jvm, before)
				r.annotate(nil)
				r.configured(&jvm, before)
				r.stop()
			})
		}
	})
}

// killRaised raises for the given time, kills the sidecar, and returns when the raise is to end.
func (r *levelRig) killRaised(jvm *listened, lasts string) time.Time {
	r.Helper()
	r.want("gc*=debug", lasts)
	until := r.raisedUntil()
	r.side.Kill()
	r.selects(jvm, "gc*=debug")
	return until
}

func goesOn(r *levelRig, jvm *listened, before string) {
	until := r.killRaised(jvm, "3s")
	r.up()
	if again := r.raisedUntil(); !again.Equal(until) {
		r.Errorf("the raise ends at %s, want %s", again, until)
	}
	r.selects(jvm, "gc*=debug")
	r.configured(jvm, before)
	if late := time.Since(until); late < 0 {
		r.Errorf("restored %s after the end of the raise, want no earlier than its end", late)
	} else {
		r.Logf("restored %s after the end of the raise", late.Round(time.Millisecond))
	}
}

// drained ends the sidecar with SIGTERM instead of kill -9: nothing stays raised. The next sidecar continues the
// raise until the same time.
func drained(r *levelRig, jvm *listened, before string) {
	r.want("gc*=debug", "1h")
	until := r.raisedUntil()
	r.stop()
	if is := jvm.configuration(); is != before {
		r.Errorf("after the drain, the configuration is\n%swant the same as before\n%s", is, before)
	}
	r.up()
	if again := r.raisedUntil(); !again.Equal(until) {
		r.Errorf("the raise ends at %s, want %s", again, until)
	}
}

// besideAnother starts a second sidecar on the same source, with its own destination. The second sidecar waits and
// does not change the levels.
func besideAnother(r *levelRig, jvm *listened, before string) {
	r.want("gc*=debug", "1h")
	r.raisedUntil()
	raised := jvm.configuration()
	first, flags := r.side, r.flags
	r.flags = append(slices.Clone(flags), "--dest", r.T.TempDir())
	r.up()
	second := r.side
	r.side, r.flags = first, flags
	lab.Eventually(r, patience, "the second sidecar waits", func() bool {
		return strings.Contains(second.Stderr(), "waiting for the owner of the source")
	})
	if err := second.Stop(patience); err != nil {
		r.Error(err)
	}
	if is := jvm.configuration(); is != raised {
		r.Errorf("after the second sidecar's end, the configuration is\n%swant it still raised\n%s", is, raised)
	}
}

func removed(r *levelRig, jvm *listened, before string) {
	r.killRaised(jvm, "1h")
	r.annotate(nil)
	restoresAtOnce(r, jvm, before)
}

func timeOver(r *levelRig, jvm *listened, before string) {
	until := r.killRaised(jvm, "1s")
	lab.Eventually(r, patience, "the raise's time is over", func() bool { return time.Now().After(until) })
	restoresAtOnce(r, jvm, before)
}

func restoresAtOnce(r *levelRig, jvm *listened, before string) {
	r.Helper()
	begun := time.Now()
	r.up()
	r.configured(jvm, before)
	took := time.Since(begun)
	r.Logf("restored %s after the start", took.Round(time.Millisecond))
	if l := r.levels(); l.Raise != nil || len(l.Errors) > 0 {
		r.Errorf("/status has raise %v, errors %q, want neither", l.Raise, l.Errors)
	}
}

// A raise outlives a JVM: the next JVM gets it too. In the end, that JVM has its own configuration
// again.
func TestLevelsAfterARestartOfTheJVM(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		first := r.listening(place{}, []string{r.gcLog()}, "Churn", "600000", "0")
		before := first.configuration()
		r.want("gc*=debug", "1h")
		until := r.raisedUntil()
		first.Kill()
		second := r.listening(place{}, []string{r.gcLog(), "-Xlog:safepoint*=trace:file=" + r.truth + "/own.log"}, "Churn", "600000", "0")
		r.selects(second, "gc*=debug")
		if again := r.raisedUntil(); !again.Equal(until) {
			t.Errorf("the raise ends at %s, want %s", again, until)
		}
		r.annotate(nil)
		const own = " #3: "
		r.configured(second, before+lineWith(t, second.configuration(), own))
		lab.Eventually(t, patience, "no error is left", func() bool { return len(r.levels().Errors) == 0 })
	})
}
