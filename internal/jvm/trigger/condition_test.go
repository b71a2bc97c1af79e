package trigger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage/ullage/internal/jvm/ask"
	"github.com/ullage/ullage/internal/line/format"
	"github.com/ullage/ullage/internal/line/pause"
)

// Lines of JDK 25 with gc*=info or gc=info, and safepoint=info. Only the durations are changed, as
// if a disk had been frozen for 2.5 s when the JVM wrote the line of the pause.
const (
	shortTimes  = "[1.003s][info][gc,cpu] GC(3) User=0.00s Sys=0.00s Real=0.00s"
	idleTimes   = "[3.500s][info][gc,cpu] GC(3) User=0.00s Sys=0.01s Real=2.53s"
	shortG1     = "[1.000s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.748ms"
	longSafe    = `[3.500s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 2547112539 ns, Leaving safepoint: 9 ns, Total: 2547121548 ns`
	shortSafe   = `[1.004s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 3112539 ns, Leaving safepoint: 9 ns, Total: 3121548 ns`
	lateSafe    = `[3.500s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 2147112539 ns, At safepoint: 400252354 ns, Leaving safepoint: 9 ns, Total: 2547364902 ns`
	reachedSafe = `[3.500s][info][safepoint] Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 2547112539 ns, At safepoint: 3112539 ns, Leaving safepoint: 9 ns, Total: 2550225087 ns`
	dumpSafe    = `[3.500s][info][safepoint] Safepoint "HeapDumper", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 2547112539 ns, Leaving safepoint: 9 ns, Total: 2547121548 ns`
	threadSafe  = `[3.500s][info][safepoint] Safepoint "ThreadDump", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 2547112539 ns, Leaving safepoint: 9 ns, Total: 2547121548 ns`

	zUsing    = "[0.009s][info][gc,init] Using The Z Garbage Collector"
	zPause    = "[0.046s][info][gc,phases] GC(0) Y: Pause Mark Start (Major) 0.025ms"
	zSafe     = `[0.046s][info][safepoint] Safepoint "ZMarkStartYoungAndOld", Time since last: 18536832 ns, Reaching safepoint: 121008 ns, At safepoint: 33795 ns, Leaving safepoint: 21709 ns, Total: 176512 ns, Threads: 1 runnable, 10 total`
	zLongSafe = `[2.146s][info][safepoint] Safepoint "ZMarkStartYoungAndOld", Time since last: 18536832 ns, Reaching safepoint: 121008 ns, At safepoint: 2100033795 ns, Leaving safepoint: 21709 ns, Total: 2100176512 ns, Threads: 1 runnable, 10 total`
	sUsing    = "[0.009s][info][gc] Using Shenandoah"
	sPause    = "[0.077s][info][gc] GC(0) Pause Init Mark (Young) (unload classes) 0.092ms"
	sLongSafe = `[2.177s][info][safepoint] Safepoint "ShenandoahInitMark", Time since last: 27533811 ns, Reaching safepoint: 168416 ns, At safepoint: 2100127042 ns, Leaving safepoint: 8584 ns, Total: 2100304042 ns, Threads: 1 runnable, 13 total`
)

// observe passes lines of one stream to a Set, as the reader does when it reads lines for metrics:
// it passes each stop before the line that completes the stop.
func observe(s *Set, lines ...string) {
	var c format.Classifier
	j := pause.NewJoiner(pause.Handlers{Stop: s.Stop})
	for _, line := range lines {
		class := c.Classify([]byte(line), nil)
		e, _ := j.Line([]byte(line), class)
		s.Line([]byte(line), class, e)
	}
	j.Settle()
}

var stallTests = map[string]struct {
	floor pause.Floor
	lines []string
	why   string // empty: not a stall
}{
	"the line of the pause waits, without CPU times": {0, []string{shortG1, longSafe}, "a safepoint took 2.5444s outside its pauses"},
	"a line waits to be written after the CPU times": {0, []string{shortG1, shortTimes, longSafe}, "a safepoint took 2.5444s outside its pauses"},
	"the CPU times have the wait as well":            {0, []string{shortG1, idleTimes, longSafe}, "a pause of 2.53s took only 10ms of CPU time"},
	"the CPU times alone":                            {0, []string{shortG1, idleTimes}, "a pause of 2.53s took only 10ms of CPU time"},
	"ZGC":                                            {0, []string{zUsing, zPause, zSafe, zPause, zLongSafe}, "a safepoint took 2.1s outside its pauses"},
	"Shenandoah":                                     {0, []string{sUsing, sPause, sLongSafe}, "a safepoint took 2.1s outside its pauses"},
	"late and long":                                  {0, []string{shortG1, lateSafe}, "a safepoint took 397.5ms outside its pauses"},
	"a high floor":                                   {pause.Floor(3 * time.Second), []string{shortG1, idleTimes, longSafe}, ""},
	"a low floor":                                    {pause.Floor(300 * time.Microsecond), []string{shortG1, shortSafe}, "a safepoint took 400µs outside its pauses"},
	"nothing":                                        {0, []string{shortG1, shortTimes, shortSafe}, ""},
	"threads that are late":                          {0, []string{shortG1, reachedSafe}, ""},
	"a heap dump":                                    {0, []string{shortG1, dumpSafe}, ""},
	"a thread dump":                                  {0, []string{shortG1, shortSafe, threadSafe}, ""},
	"a collection whose pause is not in the log": {0, []string{longSafe, zLongSafe}, ""},
	"a long pause": {0, []string{strings.Replace(shortG1, "2.748ms", "2544.748ms", 1), longSafe}, ""},
}

// A stall fires once, whichever of its lines show it. Both triggers fire, no condition is counted as missed, and no
// further line of that stop fires again.
func TestEachTriggerFiresOnceForAStall(t *testing.T) {
	for name, c := range stallTests {
		t.Run(name, func(t *testing.T) {
			var saved, want []string
			if c.why != "" {
				want = []string{"io-stall: " + c.why}
			}
			s := armed(t, Config{SaveOn: "io-stall", Floor: c.floor, Stops: true}, "io-stall", &saved)
			observe(s, c.lines...)
			if d := cmp.Diff(want, saved); d != "" {
				t.Errorf("saved (-want +got)\n%s", d)
			}
			if d := cmp.Diff(want, alarms(s)); d != "" {
				t.Errorf("raised (-want +got)\n%s", d)
			}
			if n := missed(s, ask.IOStallCondition); n != 0 {
				t.Errorf("%v conditions were counted as missed, want 0", n)
			}
			if c.why == "" {
				return
			}
			if s.Armed() {
				t.Error("the trigger is armed after it has fired")
			}
			observe(s, shortG1, longSafe)
			if n := missed(s, ask.IOStallCondition); n != 1 || len(alarms(s)) != 0 {
				t.Errorf("%v conditions were counted as missed after the trigger had fired, want 1", n)
			}
		})
	}
	var saved []string
	observe(armed(t, Config{SaveOn: "pause>1h", Stops: true}, "pause>1h", &saved), shortG1, idleTimes, longSafe)
	if len(saved) > 0 {
		t.Errorf("saved %q, want nothing, because no trigger looks for a stall", saved)
	}
}

// The log shows whether an io-stall can be detected at all: detecting one needs the CPU times of
// pauses or, if stops are read, a safepoint with its pauses.
func TestWhenAnIOStallIsNeverMet(t *testing.T) {
	t.Parallel()
	const timed, paired = "--jvm-metrics=false", "no safepoints"
	for name, c := range map[string]struct {
		trigger       string
		lines         []string
		without, with string // part of the reason why the condition is never met: if stops are not read, and if they are read
	}{
		"nothing yet":              {"io-stall", []string{warningLine}, "", ""},
		"ZGC starts":               {"io-stall,dropped", []string{zUsing}, timed, ""},
		"ZGC":                      {"io-stall", []string{zUsing, zPause, zSafe, zPause, zSafe, zPause, zSafe}, timed, ""},
		"ZGC without safepoints":   {"io-stall", []string{zUsing, zPause, zPause, zPause}, timed, paired},
		"ZGC without pauses":       {"io-stall", []string{zUsing, zSafe, zSafe, zSafe}, timed, paired},
		"Shenandoah starts":        {"io-stall", []string{sUsing}, timed, ""},
		"Shenandoah":               {"io-stall", []string{sUsing, sPause, sLongSafe, sPause, sPause}, timed, ""},
		"G1":                       {"io-stall", []string{pauseLine, busyLine, pauseLine, pauseLine, pauseLine}, "", ""},
		"no gc+cpu":                {"io-stall", []string{shortLine, shortLine, shortLine}, timed, paired},
		"no gc+cpu, safepoints":    {"io-stall", []string{shortG1, shortSafe, shortG1, shortSafe, shortG1, shortSafe}, timed, ""},
		"safepoints later":         {"io-stall", []string{shortLine, shortLine, shortLine, shortG1, shortSafe}, timed, ""},
		"safepoints of other work": {"io-stall", []string{threadSafe, threadSafe, threadSafe}, "", ""},
		"two JVMs":                 {"io-stall", []string{zUsing, busyLine}, "", ""},
		"not looked for":           {"pause>1h", []string{zUsing, shortLine, shortLine, shortLine}, "", ""},
		"an application's":         {"io-stall", []string{"GC(0) Pause", "using Shenandoah, not"}, "", ""},
	} {
		for stops, want := range map[bool]string{false: c.without, true: c.with} {
			s := armed(t, Config{Stops: stops}, c.trigger, nil)
			if show(s, warningLine); stops {
				observe(s, c.lines...)
			} else {
				show(s, c.lines...)
			}
			if never := s.Never(conditions(t, c.trigger)); (never != "") != (want != "") || !strings.Contains(never, want) || never != "" && !strings.HasPrefix(never, "io-stall can never be met: ") {
				t.Errorf("%s, stops read: %v: the reason is %q, want %q", name, stops, never, want)
			}
		}
	}
}
