package jvm

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/admin"
	"github.com/ullage/ullage/test/lab"
)

// trigger asks for raises of a second by a condition, and waits until it is
// armed.
func (r *levelRig) trigger(condition, selection string) {
	r.Helper()
	r.annotate(map[string]string{"trigger": condition, "trigger-log": selection, "trigger-for": "1s"})
	lab.Eventually(r, patience, "the trigger is armed", func() bool {
		l := r.levels()
		return l.Trigger != nil && (l.Trigger.Armed || l.Raise != nil)
	})
}

// fired waits for a raise that began after a moment, and requires that the JVM
// took it for the given reason.
func (r *levelRig) fired(reason, why string, since time.Time) admin.Raise {
	r.Helper()
	var raise admin.Raise
	lab.Eventually(r, patience, "a trigger raises", func() bool {
		l := r.levels()
		if l.Raise == nil || !l.Raise.Since.After(since) || len(l.JVMs) != 1 || l.JVMs[0].Applied == "" {
			return false
		}
		raise = *l.Raise
		return true
	})
	r.Logf("raised to %s: %s", raise.Selection, raise.Why)
	if raise.Cause != "trigger" || !strings.Contains(raise.Why, why) {
		r.Errorf("raised by %q: %q", raise.Cause, raise.Why)
	}
	if r.metric(`ullage_level_raises_total{reason="`+reason+`"}`) == 0 {
		r.Errorf("it is not counted as %s", reason)
	}
	return raise
}

// Each pause fires, but for those in a raise and in the cool-down behind it.
func TestLevelsRaiseByPause(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk, "--trigger-cooldown", "1s")
		jvm := r.listening(place{}, []string{r.gcLog()}, "Collect", "600000") // some 20 ms each
		before := jvm.configuration()
		r.trigger("pause>1ms", "gc*=debug")
		first := r.fired("pause", "took", time.Time{})
		r.shipped("gc.log", "[debug")
		r.configured(jvm, before)
		second := r.fired("pause", "took", first.Since)
		if between := second.Since.Sub(first.Since); between < 2*time.Second {
			t.Errorf("raised again after %s: there is no cool-down", between)
		}
		if missed := r.metric(`ullage_trigger_missed_total{reason="pause"}`); missed == 0 {
			t.Error("no pause is counted as missed")
		}
		r.annotate(nil)
		r.configured(jvm, before)
	})
}

// ZGC logs no CPU times of its pauses, and the status of an io-stall says so.
func TestLevelsTriggerThatIsNeverMet(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		r.trigger("io-stall,dropped", "gc*=debug")
		r.listening(place{}, []string{r.gcLog(), "-XX:-UseSerialGC", "-XX:+UseZGC"}, "Churn", "600000", "5")
		lab.Eventually(t, patience, "the status says that an io-stall is never met", func() bool {
			return strings.HasPrefix(r.levels().Trigger.Never, "io-stall is never met")
		})
	})
}

// A sidecar that leaves levels alone says so of a trigger.
func TestLevelsTriggerWithAttachOff(t *testing.T) {
	t.Parallel()
	r := newLevelRig(t, jdks[0], "--attach", "off")
	r.annotate(map[string]string{"trigger": "dropped"})
	r.up()
	lab.Eventually(t, patience, "the status has the trigger", func() bool {
		_, body, err := r.side.Get("/status")
		return err == nil && strings.Contains(body, `"never": "--attach is off: levels are not changed"`)
	})
}

// The other conditions, each with a JVM that fulfils it.
func TestLevelsRaiseByOtherTriggers(t *testing.T) {
	for condition, tc := range map[string]struct {
		why     string
		flags   []string
		program []string
	}{
		"dropped":  {"the JVM dropped", []string{"-Xlog:async", "-XX:AsyncLogBufferSize=102400"}, []string{"Throw", "20000000", "2000", "1e9"}},
		"warning":  {"a line at level warning: Failed to start", nil, []string{"Warn", "600000"}},
		"io-stall": {"of CPU time", nil, []string{"Collect", "600000"}},
	} {
		t.Run(condition, func(t *testing.T) {
			alongside(t, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk)
				log := Output{Selection: "all=warning,gc*=info,exceptions=info", File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}
				jvm := r.listening(place{}, append(tc.flags, log.Flag()), tc.program...)
				before := jvm.configuration()
				r.trigger(condition, "gc*=debug")
				if condition == "io-stall" {
					r.stall(jvm)
				}
				r.fired(condition, tc.why, time.Time{})
				r.annotate(nil)
				r.configured(jvm, before)
			})
		})
	}
}

// stall stops a JVM that does nothing but collect, each time for a quarter of a
// second, until a stop has hit a collection and the sidecar has seen its line.
func (r *levelRig) stall(jvm *listened) {
	r.Helper()
	var changed time.Time
	stops, stopped := 0, false
	lab.Eventually(r, time.Minute, "a collection is stopped", func() bool {
		if time.Since(changed) < 250*time.Millisecond {
			return r.levels().Raise != nil
		}
		if changed, stopped = time.Now(), !stopped; stopped {
			stops++
			jvm.signal(syscall.SIGSTOP)
		} else {
			jvm.signal(syscall.SIGCONT)
		}
		return false
	})
	if stopped {
		jvm.signal(syscall.SIGCONT)
	}
	r.Logf("stopped %d times", stops)
}
