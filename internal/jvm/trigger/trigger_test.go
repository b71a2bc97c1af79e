package trigger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/line/ul"
)

// Lines of JDK 17, with changed pause times, and one line of the sidecar itself.
const (
	dropLine    = "[0.015s][warning][                  ]   3435 messages dropped due to async logging"
	pauseLine   = "[0.078s][info ][gc                   ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->6M(64M) 612.198ms"
	shortLine   = "[0.078s][info ][gc                   ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 6M->6M(64M) 5.198ms"
	stallLine   = "[0.078s][info ][gc,cpu               ] GC(0) User=0.00s Sys=0.01s Real=1.53s"
	busyLine    = "[0.706s][info ][gc,cpu               ] GC(156) User=1.51s Sys=0.01s Real=1.53s"
	warningLine = "[0.004s][warning][gc,init      ] Consider enabling -XX:+AlwaysPreTouch to avoid memory commit hiccups"
	ownLine     = "[2026-11-21T08:00:00.000+0000][warning][ullage] 12 lines were dropped"
	safeLine    = `[0.078s][info ][safepoint            ] Safepoint "G1CollectForAllocation", Time since last: 29293918 ns, Reaching safepoint: 33638 ns, Cleanup: 10003 ns, At safepoint: 700252354 ns, Total: 700295995 ns`
)

// conditions parses a trigger.
func conditions(t testing.TB, text string) ask.Trigger {
	t.Helper()
	trigger, err := ask.ParseTrigger(text)
	if err != nil {
		t.Fatal(err)
	}
	return trigger
}

// armed returns a Set whose raising trigger is armed. What the Set saves is appended to saved. If
// saved is nil, no lines are held.
func armed(t testing.TB, cfg Config, raises string, saved *[]string) *Set {
	t.Helper()
	var save func(cause, why string)
	if saved != nil {
		save = func(cause, why string) { *saved = append(*saved, cause+": "+why) }
	}
	s := New(cfg, save, prometheus.NewRegistry())
	s.Arm(conditions(t, raises), true)
	return s
}

// show passes lines to a Set without their events, as a reader that has not parsed the lines does.
func show(s *Set, lines ...string) {
	var c format.Classifier
	for _, line := range lines {
		s.Line([]byte(line), c.Classify([]byte(line), nil), nil)
	}
}

// alarms takes the pending alarm, if there is one.
func alarms(s *Set) []string {
	select {
	case a := <-s.Fired():
		return []string{a.Reason + ": " + a.Why}
	default:
		return nil
	}
}

func missed(s *Set, condition string) float64 {
	return testutil.ToFloat64(s.missed.WithLabelValues(condition))
}

func TestWhatFiresNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trigger, line string }{
		{"pause>500ms", shortLine},
		{"pause>500ms", stallLine},
		{"pause>500ms", warningLine},
		{"io-stall", busyLine},
		{"io-stall", pauseLine},
		{"dropped", warningLine},
		{"warning", pauseLine},
		{"warning", ownLine},
		{"warning", "java.lang.IllegalStateException: [warning] of an application"},
		{"pause>500ms,io-stall,dropped,warning", ""},
	} {
		var saved []string
		s := armed(t, Config{SaveOn: c.trigger}, c.trigger, &saved)
		show(s, pauseLine[:20], c.line)
		if len(s.Fired()) != 0 || !s.Armed() || len(saved) > 0 {
			t.Errorf("%s must not fire on %q", c.trigger, c.line)
		}
	}
}

func TestAContinuationFiresNothing(t *testing.T) {
	t.Parallel()
	var saved []string
	s := armed(t, Config{SaveOn: "warning"}, "warning", &saved)
	show(s, ownLine, "a second line of it")
	if len(s.Fired()) != 0 || len(saved) > 0 {
		t.Errorf("the trigger fired or saved %q, want neither for a continuation", saved)
	}
}

// The two triggers look for different conditions and do not affect each other.
func TestTheTriggersFireEachForItsOwnConditions(t *testing.T) {
	t.Parallel()
	var saved []string
	s := armed(t, Config{SaveOn: "pause>500ms,warning"}, "pause>1s,dropped", &saved)
	show(s,
		"[1.0s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 12.345ms",
		"[2.0s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 612.345ms",
		"[2.1s][warning][gc] something is wrong",
		"\tand its [error] further line",
		"[3.0s][info][gc] GC(3) Pause Full (System.gc()) 24M->4M(256M) 1612.345ms",
		dropLine,
	)
	const long = "pause: pause Full (System.gc()) took 1.6123s"
	want := []string{"pause: pause Young (Normal) (G1 Evacuation Pause) took 612.3ms", "warning: a line at level warning: something is wrong", long,
		"warning: a line at level warning:   3435 messages dropped due to async logging"}
	if d := cmp.Diff(want, saved); d != "" {
		t.Errorf("saved (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]string{long}, alarms(s)); d != "" {
		t.Errorf("raised (-want +got)\n%s", d)
	}
	if n := missed(s, ask.DroppedCondition); n != 1 {
		t.Errorf("%v lines were counted as missed, want 1: the line after the line that fired", n)
	}
}

// A record of JDK 8 has the CPU times of its pause in the same line or in a line that continues it.
// The reader joins the two lines and passes their event.
func TestPausesOfJDK8Fire(t *testing.T) {
	t.Parallel()
	const line = "2026-03-01T10:00:01.000+0100: 1.000: [Full GC (System.gc()) 20000K->12000K(31000K), 2.0000000 secs] [Times: user=0.02 sys=0.01, real=2.00 secs]"
	for condition, want := range map[string]string{
		"pause>1s": "pause: pause Full (System.gc()) took 2s", "io-stall": "io-stall: a pause of 2s took only 30ms of CPU time",
	} {
		s := armed(t, DefaultConfig(), condition, nil)
		show(s, line)
		if d := cmp.Diff([]string{want}, alarms(s)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", condition, d)
		}
		var c format.Classifier
		c.Classify([]byte(line), nil)
		s = armed(t, DefaultConfig(), condition, nil)
		e, _ := pause.Parse([]byte(line))
		rest := []byte(", 2.0000000 secs] [Times: user=0.02 sys=0.01, real=2.00 secs]")
		s.Line(rest, c.Classify(rest, nil), &e)
		if d := cmp.Diff([]string{want}, alarms(s)); d != "" {
			t.Errorf("%s, on a continuation line: (-want +got)\n%s", condition, d)
		}
	}
}

// If no lines are held, nothing is saved, whatever the value of --hindsight-on.
func TestNothingIsSavedWhereNothingIsHeld(t *testing.T) {
	t.Parallel()
	s := armed(t, DefaultConfig(), "dropped", nil)
	if show(s, pauseLine, warningLine); s.Saves() {
		t.Error("the Set saves, although no lines are held")
	}
}

// A trigger that is not armed still checks the lines of a raise.
func BenchmarkALineOfARaise(b *testing.B) {
	s := armed(b, DefaultConfig(), "pause>500ms,io-stall,dropped,warning", nil)
	s.Arm(conditions(b, "pause>500ms,io-stall,dropped,warning"), false)
	b.ReportAllocs()
	line := []byte("[2026-11-21T08:00:00.000+0000][12.345s][debug][gc,phases      ] GC(7)     Evacuate Collection Set (ms): Min:  0.1, Avg:  0.2, Max:  0.3, Diff:  0.2, Sum:  0.7, Workers: 4")
	var c ul.Classifier
	class := c.Classify(line)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		s.Line(line, class, nil)
	}
}
