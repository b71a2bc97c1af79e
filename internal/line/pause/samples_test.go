package pause

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample returns the lines of an excerpt of a real JVM's log.
func sample(t testing.TB, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// samples has the number of events of each kind in each excerpt.
var samples = []struct {
	name                    string
	pauses, safepoints, cpu int
}{
	{"all-decorators-jdk17.log", 3, 2, 3},
	{"all-decorators-jdk25.log", 3, 2, 3},
	{"debug-g1-jdk17.log", 1, 1, 1},
	{"debug-g1-jdk25.log", 1, 1, 1},
	{"epsilon-jdk17.log", 0, 0, 0},
	{"epsilon-jdk25.log", 0, 0, 0},
	{"g1-jdk17.log", 12, 13, 12},
	{"g1-jdk25.log", 11, 11, 11},
	{"no-decorators-jdk17.log", 3, 2, 3},
	{"no-decorators-jdk25.log", 3, 2, 3},
	{"parallel-jdk17.log", 5, 5, 5},
	{"parallel-jdk25.log", 3, 4, 3},
	{"serial-jdk17.log", 3, 4, 3},
	{"serial-jdk25.log", 3, 4, 3},
	{"shenandoah-generational-jdk25.log", 17, 17, 0},
	{"shenandoah-iu-jdk17.log", 14, 15, 0},
	{"shenandoah-jdk17.log", 12, 13, 0},
	{"shenandoah-jdk25.log", 10, 10, 0},
	{"shenandoah-passive-jdk17.log", 2, 3, 0},
	{"shenandoah-passive-jdk25.log", 2, 3, 0},
	{"z-jdk17.log", 3, 4, 0},
	{"z-jdk25.log", 16, 18, 0},
}

// Regular expressions for HotSpot's lines: a second reader to compare with.
const prefixForm = `^(?:(?:\[[^\]]*\])+ )?`

var (
	pauseForm     = regexp.MustCompile(prefixForm + `GC\((\d+)\) (?:([yYO]): )?Pause (.+?)(?: (\d+)M->(\d+)M\((\d+)M\))? (\d+\.\d{3}ms)$`)
	cpuForm       = regexp.MustCompile(prefixForm + `GC\((\d+)\) User=(\S+) Sys=(\S+) Real=(\S+)$`)
	safepointForm = regexp.MustCompile(prefixForm + `Safepoint "(\w+)", Time since last: \d+ ns, Reaching safepoint: (\d+ ns), ` +
		`(?:Cleanup: (\d+ ns), )?At safepoint: (\d+ ns), (?:Leaving safepoint: (\d+ ns), )?Total: (\d+ ns)(?:, Threads: \d+ runnable, \d+ total)?$`)
	furtherForm = regexp.MustCompile(prefixForm + `(?:GC\(\d+\) (?:[yYO]: )?(?:` +
		`Concurrent [A-Za-z -]+(?: \([A-Za-z ]+\))?(?: \d+M->\d+M\(\d+M\))? \d+\.\d{3}ms` +
		`|(?:Garbage|Major|Minor) Collection \([^()]+\)(?: \d+M\(\d+%\)->\d+M\(\d+%\)(?: \d+\.\d{3}s)?)?` +
		`|(?:Young|Old) Generation \d+M\(\d+%\)->\d+M\(\d+%\) \d+\.\d{3}s` +
		`|(?:Eden|Survivor|Old|Archive|Humongous) regions: \d+->\d+(?:\(\d+\))?` +
		`|Metaspace: \d+K\(\d+K\)->\d+K\(\d+K\) .*` +
		`|Using \d+ workers of \d+ for .*` +
		`)|Allocation Stall \(.*\) \d+\.\d{3}ms)$|\[gc,init *\] [^:]+: .+$`)
	phaseForm = regexp.MustCompile(`^(?:\[.*\[gc,phases *\] )?GC\(\d+\) (?:  [A-Z][A-Za-z ]+: |Phase \d: [A-Za-z ]+ |` +
		`(?:Marking Phase|Summary Phase|Compaction Phase|Adjust Roots|Adjust Pointers|Forward|Post Compact) )\d+\.\d+ms$`)
	startForm = regexp.MustCompile(prefixForm + `GC\((\d+)\) (?:[yYO]: )?Pause .*$`) // also matches the end of a pause, with a duration
)

func reread(line []byte) (e Event, ok bool) {
	if m := pauseForm.FindSubmatch(line); m != nil {
		e = Event{Kind: Pause, GC: number(m[1]), Young: len(m[2]) > 0 && m[2][0] != 'O', Old: string(m[2]) == "O", Name: m[3], Duration: duration(m[7])}
		if m[4] != nil {
			e.Heap = mib(number(m[4]), number(m[5]), number(m[6]))
		}
		return e, true
	}
	if m := cpuForm.FindSubmatch(line); m != nil {
		e = Event{Kind: CPU, Timed: true, GC: number(m[1]), User: duration(m[2]), Sys: duration(m[3]), Real: duration(m[4])}
		e.Duration = e.Real
		return e, true
	}
	if m := safepointForm.FindSubmatch(line); m != nil {
		return Event{Kind: Safepoint, GC: -1, Name: m[1], Reaching: duration(m[2]), Cleanup: duration(m[3]), At: duration(m[4]),
			Leaving: duration(m[5]), Duration: duration(m[6])}, true
	}
	return e, false
}

func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// duration parses a matched duration, or returns 0 if the JDK does not print it.
func duration(text []byte) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(string(bytes.ReplaceAll(text, []byte(" "), nil)))
	if err != nil {
		panic(err)
	}
	return d
}

func TestEveryEventOfRealLogsIsReadAndNothingElse(t *testing.T) {
	for _, s := range samples {
		var kinds [CPU + 1]int
		for _, line := range sample(t, s.name) {
			e, ok := Parse(line)
			if phaseForm.Match(line) != (e.Kind == Phase) || e.Kind != Phase && furtherForm.Match(line) != (e.Kind > CPU) {
				t.Errorf("%s: %s: Parse reports %v, the event is %+v; want a Phase: %v; otherwise, a kind above CPU: %v",
					s.name, line, ok, e, phaseForm.Match(line), furtherForm.Match(line))
			}
			if e.Kind > CPU {
				continue
			}
			want, wanted := reread(line)
			if diff := cmp.Diff(want, e); ok != wanted || diff != "" {
				t.Errorf("%s: %s: Parse reports %v, want %v; event (-want +got):\n%s", s.name, line, ok, wanted, diff)
			}
			kinds[e.Kind]++
			if e.Kind == Safepoint && e.Reaching+e.Cleanup+e.At+e.Leaving != e.Duration {
				t.Errorf("%s: the parts do not add up to the total: %s", s.name, line)
			}
		}
		if kinds[Pause] != s.pauses || kinds[Safepoint] != s.safepoints || kinds[CPU] != s.cpu {
			t.Errorf("%s: %d pauses, %d safepoints, %d cpu; want %d, %d, %d", s.name,
				kinds[Pause], kinds[Safepoint], kinds[CPU], s.pauses, s.safepoints, s.cpu)
		}
	}
}

// One line announces each pause, and one line of gc,cpu follows it if the collector logs
// CPU times. So a collection has as many lines of each kind as it has pauses.
func TestEachPauseOfACollectionCountsOnce(t *testing.T) {
	for _, s := range samples {
		started, paused, measured := map[int64]int{}, map[int64]int{}, map[int64]int{}
		for _, line := range sample(t, s.name) {
			if m := startForm.FindSubmatch(line); m != nil && !pauseForm.Match(line) {
				started[number(m[1])]++
			}
			switch e, _ := Parse(line); e.Kind {
			case Pause:
				paused[e.GC]++
			case CPU:
				measured[e.GC]++
			}
		}
		if diff := cmp.Diff(started, paused); diff != "" {
			t.Errorf("%s: pauses by collection (-started +ended):\n%s", s.name, diff)
		}
		if diff := cmp.Diff(paused, measured); len(measured) > 0 && diff != "" {
			t.Errorf("%s: pauses and CPU times by collection (-pauses +CPU times):\n%s", s.name, diff)
		}
	}
}

// The two excerpts have the same records, which one JVM wrote to two outputs.
func TestDecorationsChangeNothing(t *testing.T) {
	for _, jdk := range []string{"jdk17.log", "jdk25.log"} {
		bare := sample(t, "no-decorators-"+jdk)
		for i, line := range sample(t, "all-decorators-"+jdk) {
			e, _ := Parse(line)
			want, _ := Parse(bare[i])
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("%s: the event (-without decorations +with them):\n%s", line, diff)
			}
		}
	}
}
