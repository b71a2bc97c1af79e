package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ullage/ullage/internal/line/pause"
	"github.com/ullage/ullage/internal/read/report/view"
)

// stall is a pause of the given length in ms, with CPU times that show hardly any work.
func stall(gc int, second, ms float64) string {
	return decorated(second, "gc", fmt.Sprintf("GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) %.3fms", gc, ms)) +
		decorated(second, "gc,cpu", fmt.Sprintf("GC(%d) User=0.01s Sys=0.00s Real=%.2fs", gc, ms/1e3))
}

func note(second float64, text string) string { return decorated(second, "gc,task", text) }

func TestASuspectedStopHasTheLinesAroundIt(t *testing.T) {
	reach := decorated(20, "safepoint", `Safepoint "Cleanup", Time since last: 5 ns, Reaching safepoint: 200000000 ns, At safepoint: 7 ns, Total: 200000007 ns`)
	for _, c := range []struct {
		name, log, suspicion string
		before, after        []string
		own                  int
	}{
		{"a pause without a safepoint", note(1, "a") + note(2, "b") + note(3, "c") + stall(0, 4, 300) + note(5, "d") + note(6, "e") + note(7, "f"), "idle", []string{"b", "c"}, []string{"d", "e"}, 2},
		{"a safepoint", note(1, "a") + note(2, "b") + reach + note(21, "c") + note(22, "d") + note(23, "e"), "reaching", []string{"a", "b"}, []string{"c", "d"}, 1},
		{"at both ends", stall(0, 4, 300), "idle", nil, nil, 2},
		{"one line before the end", note(1, "a") + reach + note(21, "c"), "reaching", []string{"a"}, []string{"c"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reportOn(t, Config{}, write(t, "gc.log", c.log))
			if len(r.Suspected) != 1 {
				t.Fatalf("%d stops are suspected, want 1", len(r.Suspected))
			}
			s := r.Suspected[0]
			if s.Suspicion != c.suspicion || len(s.Lines) != c.own || !slices.Equal(messages(s.Before), c.before) || !slices.Equal(messages(s.After), c.after) {
				t.Errorf("the suspect is %+v, want the suspicion %s, %d lines of its own, %q before and %q after", s, c.suspicion, c.own, c.before, c.after)
			}
		})
	}
}

// messages returns the last word of each line.
func messages(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, line[strings.LastIndexByte(line, ' ')+1:])
	}
	return all
}

// The log in TestOnlyTheLongestSuspectedStopsAreListed has only stalls. The list stays short.
func TestOnlyTheLongestSuspectedStopsAreListed(t *testing.T) {
	var log strings.Builder
	for i := range 100 {
		log.WriteString(stall(i, float64(2*i+1), float64(101+i*37%100)))
	}
	r := reportOn(t, Config{}, write(t, "gc.log", log.String()))
	if len(r.Suspected) != 20 || r.Suspected[0].Duration != 0.2 || r.Suspected[19].Duration != 0.181 || r.Totals.Suspected != 100 {
		t.Errorf("%d stops are listed, the first is %v; want 20 of 100, from 0.2 s down to 0.181 s", len(r.Suspected), r.Suspected[0])
	}
	for _, s := range r.Suspected {
		if len(s.Before)+len(s.After) > 2*around || len(s.Lines) != 2 {
			t.Errorf("the suspect is %+v, want 2 lines of its own and at most %d around it", s, 2*around)
		}
	}
	var out bytes.Buffer
	if err := r.Pauses(&out, view.Style{}); err != nil || !strings.Contains(out.String(), "and 80 shorter ones") {
		t.Errorf(`error %v, the pauses are %s, want "and 80 shorter ones" in it`, err, out.String())
	}
}

// The tile, the list, the comparison and the text count the same stops, whatever the suspicion.
// The advice is only about stops in which no thread ran.
func TestOneNumberOfSuspectedStallsIsEverywhere(t *testing.T) {
	var log strings.Builder
	for i := range 25 {
		log.WriteString(stall(i, float64(2*i+1), float64(200+i)))
	}
	log.WriteString(decorated(60, "safepoint", `Safepoint "Cleanup", Time since last: 5 ns, Reaching safepoint: 900000000 ns, At safepoint: 7 ns, Total: 900000007 ns`))
	r := reportOn(t, Config{}, write(t, "gc.log", log.String()))
	var text, page, object, both bytes.Buffer
	if err := errors.Join(view.Text(&text, view.Style{}, r), view.HTML(&page, r), view.JSON(&object, r), view.HTML(&both, r, r)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		form, in, want string
	}{
		{"text", text.String(), "; 26 suspected stalls\n"},
		{"list of the text", text.String(), "and 6 shorter ones"},
		{"tile", page.String(), `<dt>suspected stalls</dt><dd class="warn">26</dd>`},
		{"list of the page", page.String(), "The longest 20 of 26,"},
		{"advice", page.String(), "In 25 of 26 suspected stalls, a pause of 100 ms or longer had no thread on a CPU"},
		{"JSON", object.String(), `"suspected_stalls": 26,`},
		{"comparison", both.String(), `<th scope="row">suspected stalls</th><td>26</td><td>26</td>`},
	} {
		if !strings.Contains(c.in, c.want) {
			t.Errorf("%s: no %q in\n%s", c.form, c.want, c.in)
		}
	}
	if strings.Contains(object.String(), "suspicions") {
		t.Error("the JSON has \"suspicions\", want suspected_stalls as the only count")
	}
}

func TestTheHeapAfterCollectionsIsAFigureOfOneStream(t *testing.T) {
	var log strings.Builder
	for i := range 30 {
		log.WriteString(decorated(float64(10*i+1), "gc", fmt.Sprintf("GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 900M->%dM(999M) 2.000ms", i, 100+i)))
	}
	one := write(t, "gc.log", log.String())
	if r := reportOn(t, Config{}, one); !strings.HasPrefix(r.HeapAfter(), "129") || !strings.HasSuffix(r.HeapAfter(), ", +360 MiB/h") {
		t.Errorf(`the heap after collections is %q, want "129" at its start and ", +360 MiB/h" at its end`, r.HeapAfter())
	}
	if r := reportOn(t, Config{}, write(t, "gc.log", young(0, 1, 2))); r.HeapAfter() != view.Size(5<<20) {
		t.Errorf("without a trend: %q, want %q", r.HeapAfter(), view.Size(5<<20))
	}
	if r := reportOn(t, Config{}, one, write(t, "other.log", young(0, 1, 2))); r.HeapAfter() != "–" {
		t.Errorf("of two streams: %q, want \"–\"", r.HeapAfter())
	}
}

// The text of a report shows the stall floor that it was made with.
func TestTheFloorOfAStallIsShown(t *testing.T) {
	path := write(t, "gc.log", stall(0, 1, 300)+stall(1, 3, 1500))
	for floor, want := range map[time.Duration]struct {
		suspected uint64
		text      string
	}{0: {2, "100 ms"}, 50 * time.Millisecond: {2, "50.0 ms"}, time.Second: {1, "1.00 s"}, 2 * time.Second: {0, ""}} {
		r := reportOn(t, Config{Floor: pause.Floor(floor)}, path)
		if r.Totals.Suspected != want.suspected || uint64(len(r.Suspected)) != want.suspected {
			t.Errorf("%s: %d suspected, %d listed; want %d of each", floor, r.Totals.Suspected, len(r.Suspected), want.suspected)
		}
		var text, page bytes.Buffer
		if err := errors.Join(view.Text(&text, view.Style{}, r), view.HTML(&page, r)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want.text) || !strings.Contains(page.String(), want.text) {
			t.Errorf("%s: %q is missing in\n%s", floor, want.text, text.String())
		}
		for _, a := range r.Advice {
			if strings.Contains(a.Evidence, "on a CPU") && !strings.Contains(a.Evidence, "a pause of "+want.text+" or longer") {
				t.Errorf("with floor %s, the evidence is %s, want \"a pause of %s or longer\" in it", floor, a.Evidence, want.text)
			}
		}
	}
}

// A pause is logged after the time that it measures, and writing its line may take long. That delay
// is part of the safepoint but not of the collector's pause.
func TestATimeOutsideOfAPauseIsNotTheCollectors(t *testing.T) {
	log := decorated(1, "gc", "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(64M) 2.748ms") +
		decorated(3.5, "safepoint", `Safepoint "G1CollectForAllocation", Time since last: 5 ns, Reaching safepoint: 9000 ns, At safepoint: 2547112539 ns, Leaving safepoint: 9 ns, Total: 2547121548 ns`)
	r := reportOn(t, Config{}, write(t, "gc.log", log))
	if r.Totals.Suspected != 1 || len(r.Suspected) != 1 || r.Suspected[0].Suspicion != "outside" || r.Suspected[0].Cause != "G1CollectForAllocation · outside its pauses" {
		t.Errorf("%d suspected, want Suspected 1, 1 in Suspected, Suspicion \"outside\" and Cause \"G1CollectForAllocation · outside its pauses\": %+v", r.Totals.Suspected, r.Suspected)
	}
}

// If a sidecar ships a log, the JVM already writes it to a tmpfs, so the report does not advise a
// tmpfs. It begins with the remaining advice.
func TestAdviceLeadsAndDoesNotMoveAShippedLogToATmpfs(t *testing.T) {
	dest := t.TempDir()
	persist(t, dest, "gc.log", stall(0, 1, 300))
	file := write(t, "other.log", stall(0, 1, 200))
	for _, c := range []struct {
		name  string
		of    []string
		moves bool
	}{{"a destination", []string{dest}, false}, {"a file", []string{file}, true}, {"both", []string{dest, file}, true}} {
		var text, page bytes.Buffer
		r := reportOn(t, Config{}, c.of...)
		if err := errors.Join(view.Text(&text, view.Style{}, r), view.HTML(&page, r)); err != nil {
			t.Fatal(err)
		}
		for form, out := range map[string]struct{ text, advice, tables string }{
			"text": {text.String(), "\nAdvice\n", "\nStops by cause\n"}, "page": {page.String(), "<h3>Advice</h3>", "<h3>By cause</h3>"},
		} {
			advice, tables := strings.Index(out.text, out.advice), strings.Index(out.text, out.tables)
			if advice < 0 || tables < advice || !strings.Contains(out.text[:tables], "Look at what the machine did") {
				t.Errorf("%s of %s: the advice is at %d and the tables are at %d, want the advice first in\n%s", form, c.name, advice, tables, out.text)
			}
			if moves := strings.Contains(out.text, "move the log to a tmpfs"); moves != c.moves {
				t.Errorf("%s of %s: moves the log to a tmpfs: %v, want %v", form, c.name, moves, c.moves)
			}
		}
	}
}
