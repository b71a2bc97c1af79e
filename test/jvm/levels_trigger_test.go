package jvm

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ullage/ullage/internal/base/admin"
	"github.com/ullage/ullage/test/lab"
)

// trigger requests raises by a condition, and waits until the trigger is armed.
func (r *levelRig) trigger(condition, selection, lasts string) {
	r.Helper()
	r.annotate(map[string]string{"trigger": condition, "trigger-log": selection, "trigger-for": lasts})
	lab.Eventually(r, patience, "the trigger is armed", func() bool {
		l := r.levels()
		return l.Trigger != nil && (l.Trigger.Armed || l.Raise != nil)
	})
}

// once is so long that a trigger raises only once, however busy the machine is: the test ends the raise, and a
// second raise would come only after the cool-down.
const once = "1h"

// fired waits until a JVM took a raise, and requires that a trigger caused it for the given reason.
func (r *levelRig) fired(reason, why string) {
	r.Helper()
	var raise admin.Raise
	lab.Eventually(r, patience, "a trigger raises", func() bool {
		l := r.levels()
		if l.Raise == nil || len(l.JVMs) != 1 || l.JVMs[0].Applied == "" {
			return false
		}
		raise = *l.Raise
		return true
	})
	r.Logf("raised to %s: %s", raise.Selection, raise.Why)
	if raise.Cause != "trigger" || !strings.Contains(raise.Why, why) {
		r.Errorf("raised by %q: %q; want the cause trigger and the expected reason", raise.Cause, raise.Why)
	}
	if r.metric(`ullage_level_raises_total{reason="`+reason+`"}`) == 0 {
		r.Errorf("the raise is not counted as %s, want it counted", reason)
	}
}

// A pause triggers a raise, except during a raise and in the cool-down after it.
func TestLevelsRaiseByPause(t *testing.T) {
	alongside(t, func(t *testing.T, jdk lab.JDK) {
		r := raising(t, jdk)
		jvm := r.listening(place{}, []string{r.gcLog()}, "Collect", "600000") // pauses of about 20 ms
		before := jvm.configuration()
		r.trigger("pause>1ms", "gc*=debug", "1s")
		r.fired("pause", "took")
		r.shipped("gc.log", "[debug")
		r.configured(jvm, before)
		lab.Eventually(t, patience, "the trigger cools down", func() bool {
			return r.levels().Trigger.Disarmed == "it cools down after a raise"
		})
		if missed := r.metric(`ullage_trigger_missed_total{reason="pause"}`); missed == 0 {
			t.Error("got 0 missed pauses, want at least 1")
		}
		r.annotate(nil)
		r.configured(jvm, before)
	})
}

// ZGC does not log the CPU times of its pauses. If its log has no safepoints either, or if they are not joined to the
// pauses, the status reports that the condition io-stall is never met.
func TestLevelsTriggerThatIsNeverMet(t *testing.T) {
	for why, tc := range map[string]struct{ selection, flag string }{
		"no safepoints":       {"gc*=info", "--jvm-metrics=true"},
		"--jvm-metrics=false": {"gc*=info,safepoint=info", "--jvm-metrics=false"},
	} {
		t.Run(why, func(t *testing.T) {
			alongsideFrom(t, zgc, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk, tc.flag)
				r.trigger("io-stall,dropped", "gc*=debug", once)
				log := Output{Selection: tc.selection, File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}
				r.listening(place{}, []string{log.Flag(), "-XX:-UseSerialGC", "-XX:+UseZGC"}, "Collect", "600000")
				lab.Eventually(t, patience, "the status says that io-stall can never be met", func() bool {
					never := r.levels().Trigger.Never
					return strings.HasPrefix(never, "io-stall can never be met") && strings.Contains(never, why)
				})
			})
		})
	}
}

// A pipe that is not read is like a disk that stalls: the JVM waits while it writes the line of a pause, after the
// pause but inside the safepoint. The log has no CPU times. The pipe gets no lines of phases, because the waits for
// them would be part of the pause.
func TestLevelsRaiseByAWaitBesideAPause(t *testing.T) {
	for name, flags := range map[string][]string{"serial": nil, "g1": {"-XX:-UseSerialGC", "-XX:+UseG1GC"}} {
		t.Run(name, func(t *testing.T) {
			alongside(t, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk)
				log := Output{Selection: "gc=info,safepoint=info", File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}
				pipe := newSlowPipe(t)
				slow := Output{Selection: "gc=info", File: pipe.Name()}
				jvm := r.listening(place{}, append(flags, log.Flag(), slow.Flag()), "Collect", "600000")
				before := jvm.configuration()
				r.trigger("io-stall", "gc*=debug", once)
				var stalled time.Time
				lab.Eventually(t, patience, "a write has waited", func() bool {
					if time.Since(stalled) > 2*time.Second {
						pipe.stall(time.Second)
						stalled = time.Now()
					}
					return r.levels().Raise != nil
				})
				r.fired("io-stall", "outside its pauses")
				if l := r.levels(); l.Trigger == nil || l.Trigger.Never != "" {
					t.Errorf("the trigger is %+v, want one with an empty Never", l.Trigger)
				}
				r.annotate(nil)
				r.configured(jvm, before)
			})
		})
	}
}

// slowPipe is a FIFO that holds one page and is always read, except in a stall.
type slowPipe struct {
	*os.File
	reading sync.Mutex
}

func newSlowPipe(t *testing.T) *slowPipe {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // opened for writing too, so that reads never return EOF
	if err != nil {
		t.Fatal(err)
	}
	p := &slowPipe{File: f}
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 4096) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for block := make([]byte, 4096); ; {
			p.reading.Lock()
			_, err := f.Read(block)
			p.reading.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		f.Close()
		<-read
	})
	return p
}

// stall stops reading for d and keeps the pipe full meanwhile.
func (p *slowPipe) stall(d time.Duration) {
	p.reading.Lock()
	defer p.reading.Unlock()
	err := p.SetWriteDeadline(time.Now().Add(d))
	for err == nil {
		_, err = p.Write([]byte("."))
	}
}

// A sidecar that does not change levels reports that a trigger is never met.
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

// The other conditions raise too, each with a JVM that meets the condition.
func TestLevelsRaiseByOtherTriggers(t *testing.T) {
	for condition, tc := range map[string]struct {
		why     string
		from    int // the first Java release
		flags   []string
		program []string
	}{
		"dropped":  {"the JVM dropped", asyncLogging, []string{"-Xlog:async", "-XX:AsyncLogBufferSize=102400"}, []string{"Throw", "20000000", "2000", "1e9"}},
		"warning":  {"a line at level warning: Failed to start", 0, nil, []string{"Warn", "600000"}},
		"io-stall": {"of CPU time", 0, nil, []string{"Collect", "600000"}},
	} {
		t.Run(condition, func(t *testing.T) {
			alongsideFrom(t, tc.from, func(t *testing.T, jdk lab.JDK) {
				r := raising(t, jdk)
				log := Output{Selection: "all=warning,gc*=info,exceptions=info", File: filepath.Join(r.source, "gc.log"), Decorations: "uptime,level,tags"}
				jvm := r.listening(place{}, append(tc.flags, log.Flag()), tc.program...)
				before := jvm.configuration()
				r.trigger(condition, "gc*=debug", once)
				if condition == "io-stall" {
					r.stall(jvm)
				}
				r.fired(condition, tc.why)
				r.annotate(nil)
				r.configured(jvm, before)
			})
		})
	}
}

// stall stops a JVM that only collects, for a quarter of a second at a time, until a stop has hit a collection and
// the sidecar has read the line of that collection.
func (r *levelRig) stall(jvm *listened) {
	r.Helper()
	var changed time.Time
	stops, stopped := 0, false
	lab.Eventually(r, patience, "a collection is stopped", func() bool {
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
